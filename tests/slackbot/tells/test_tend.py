"""What the bot does by itself for slices, and when people hear of it."""

import re
from datetime import timedelta
from typing import Any

import attrs
import pytest
from tests.slackbot.tells.conftest import START, Desk, Fate, Killed

from jobman_core.errors import JobmanError
from jobman_core.models.reap import Dead, Reaped
from jobman_core.models.reap import Fate as DeadFate
from jobman_slackbot.config import ReapMode


def dead(name: str, fate: DeadFate = DeadFate.DUE, **more: Any) -> Dead:
    return Dead(
        "gcp",
        "lab",
        "us-central2-b",
        name,
        "PREEMPTED",
        "preempted",
        ours=True,
        fate=fate,
        since=START,
        **more,
    )


async def rounds(desk: Desk, count: int) -> None:
    for _ in range(count):
        desk.later(minutes=10)
        await desk.tender.round()


async def test_a_dry_run_says_once_what_it_would_have_done_and_how_to_have_it_done(
    desk: Desk,
) -> None:
    desk.reports.found = Reaped((dead("a"), dead("b")))
    await rounds(desk, 3)
    desk.restart()
    await rounds(desk, 2)
    (text,) = desk.texts()
    assert "2 dead things would have been deleted" in text
    assert "`a` in us-central2-b: preempted, for " in text
    assert "reap: delete" in text
    assert set(desk.reports.dry) == {True}
    desk.reports.found = Reaped((dead("a"), dead("b"), dead("c")))
    await rounds(desk, 2)
    assert "1 dead thing " in desk.texts()[1]
    assert "c" in desk.texts()[1]


async def test_what_is_gone_is_forgotten_after_a_week_and_what_is_still_dead_is_not(
    desk: Desk,
) -> None:
    desk.reports.found = Reaped((dead("a"), dead("b")))
    await rounds(desk, 1)
    desk.reports.found = Reaped((dead("a"),))
    for _ in range(4):
        desk.later(days=4)
        await rounds(desk, 1)
    assert len(await desk.app.recall("slack", prefix="reap/told/")) == 1
    assert len(desk.texts()) == 1


async def test_a_namesake_that_died_later_is_told_of_too(desk: Desk) -> None:
    desk.reports.found = Reaped((dead("a"),))
    await rounds(desk, 1)
    desk.reports.found = Reaped((attrs.evolve(dead("a"), since=START + timedelta(hours=1)),))
    await rounds(desk, 2)
    assert len(desk.texts()) == 2


async def test_what_was_deleted_or_only_seen_or_is_kept_is_no_news_here(desk: Desk) -> None:
    fates = (DeadFate.DELETED, DeadFate.NOTED, DeadFate.KEPT)
    desk.reports.found = Reaped(tuple(dead(fate, fate) for fate in fates))
    await rounds(desk, 2)
    assert desk.texts() == []


async def test_what_others_made_and_what_was_refused_is_told_once_each(desk: Desk) -> None:
    desk.reports.found = Reaped(
        (dead("x", DeadFate.REPORTED), dead("y", DeadFate.REFUSED, trouble="permission denied"))
    )
    await rounds(desk, 3)
    (text,) = desk.texts()
    assert "not made by this home" in text
    assert "permission denied" in text


async def test_many_dead_things_are_one_message(desk: Desk) -> None:
    desk.reports.found = Reaped(tuple(dead(f"n{n}") for n in range(300)))
    await rounds(desk, 2)
    (text,) = desk.texts()
    assert "300 dead things" in text
    assert "and 290 more" in text


async def test_a_cloud_that_fails_is_one_message_and_one_when_it_is_well(desk: Desk) -> None:
    desk.reports.found = Reaped((), (("us-central2-b", "HTTP 503"),))
    await rounds(desk, 6)
    desk.reports.found = Reaped(())
    await rounds(desk, 3)
    failing, well = desk.texts()
    assert "us-central2-b" in failing
    assert "HTTP 503" in failing
    assert "can be looked at again, after 1h 0m" in well


async def test_a_cloud_that_fails_now_and_then_is_no_news(desk: Desk) -> None:
    for _ in range(4):
        desk.reports.found = JobmanError("the cloud is not well")
        await rounds(desk, 1)
        desk.reports.found = Reaped(())
        await rounds(desk, 1)
    assert desk.texts() == []


async def test_a_cloud_that_cannot_be_asked_at_all_is_told_once(desk: Desk) -> None:
    desk.reports.found = JobmanError("no credentials: log in")
    desk.reports.kept = JobmanError("no credentials: log in")
    await rounds(desk, 5)
    (text,) = desk.texts()
    assert text.count("no credentials: log in") == 2


async def test_what_was_done_to_keep_slices_alive_is_told(desk: Desk) -> None:
    desk.reports.kept = ["asked again for demo", "other: <!channel>"]
    await rounds(desk, 1)
    desk.reports.kept = []
    await rounds(desk, 2)
    assert desk.texts() == [":recycle: asked again for demo\n:recycle: other: <!channel>"]
    assert desk.messages()[0].pings == set()


async def test_a_bot_that_may_delete_does_and_one_that_is_off_does_not_look(desk: Desk) -> None:
    for mode, dry in ((ReapMode.DELETE, [False]), (ReapMode.OFF, [])):
        desk.reports.dry.clear()
        desk.config = attrs.evolve(desk.config, reap=mode)
        desk.restart()
        await rounds(desk, 1)
        assert desk.reports.dry == dry


async def test_what_was_found_while_slack_was_away_is_told_when_it_is_back(desk: Desk) -> None:
    desk.reports.found = Reaped((dead("a"),))
    async with desk.slack.down():
        await rounds(desk, 2)
    await rounds(desk, 1)
    assert len(desk.texts()) == 1


@pytest.mark.parametrize("after", [False, True])
async def test_wherever_it_is_killed_each_dead_thing_is_told_once(desk: Desk, after: bool) -> None:
    step = 0
    while True:
        step += 1
        fate = Fate(step, after)
        desk.restart(fate)
        desk.reports.found = Reaped(tuple(dead(f"n{n:03d}") for n in range(step)))
        for _ in range(2):
            desk.later(minutes=10)
            try:
                await desk.tender.round()
            except Killed:
                desk.restart()
        told = re.findall(r"n\d{3}", "\n".join(desk.texts()))
        assert sorted(told) == [f"n{n:03d}" for n in range(step)], f"killed at step {step}"
        if fate.taken < step:
            assert step > 3
            return
