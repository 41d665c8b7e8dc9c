"""Reports in Slack, and the reaper by hand."""

from datetime import timedelta

import attrs
import pytest
from tests.slackbot.commands.conftest import Room
from tests.support.slack import Message

from jobman_core.models.slice import SlicePhase
from jobman_slackbot.config import ReapMode


async def _used(room: Room) -> None:
    """Let ada and bob have used a slice for some hours."""
    for user in ("ada", "bob"):
        began = room.now - timedelta(hours=5)
        times = {"requested_at": began, "ready_at": began, "phase": SlicePhase.READY}
        await room.slice(await room.job(user), 1, **times)


async def _file(room: Room, who: str) -> Message:
    direct = room.slack.world.talk_with(who).id
    return await room.slack.wait_for(
        lambda: next((m for m in room.slack.read(direct, who) if m.files), None), what="a file"
    )


async def test_usage_is_a_table_for_who_asked_and_a_chart_in_their_messages(room: Room) -> None:
    assert "nothing was used" in (await room.ask(room.ada, "usage")).plain
    await _used(room)
    answer = await room.ask(room.ada, "usage week")
    assert answer.only_to == room.ada
    assert "the last 7 days" in answer.plain
    assert "bob" in answer.plain
    (chart,) = (await _file(room, room.ada)).files
    assert chart.content.startswith(b"\x89PNG")
    assert room.public() == []


async def test_ones_own_usage_is_told_by_accelerator(room: Room) -> None:
    await _used(room)
    answer = await room.ask(room.bob, "usage me")
    assert "Usage of bob" in answer.plain
    assert "v4-16" in answer.plain
    assert "ada" not in answer.plain
    assert "you have no jobs" in (await room.ask(room.vera, "usage me")).plain


async def test_what_is_dead_is_shown_and_deleted_once_that_is_confirmed(room: Room) -> None:
    assert "nothing is dead in here" in (await room.ask(room.root_, "reap")).plain
    await room.orphan("lost-1")
    assert "1 noted" in (await room.ask(room.root_, "reap")).plain
    question = await room.ask(room.root_, "reap")
    assert "1 would be deleted" in question.plain
    assert room.slices() == {"lost-1"}
    await room.press(room.root_, question, "Delete what is dead")
    await room.told("root deleted what was dead: lost-1")
    await room.slack.wait_for(lambda: not room.slices(), what="it is gone")


async def test_what_died_since_is_not_deleted_by_an_older_button(room: Room) -> None:
    await room.orphan("lost-1")
    await room.ask(room.root_, "reap")
    question = await room.ask(room.root_, "reap")
    await room.orphan("lost-2")
    await room.ask(room.root_, "reap")
    await room.press(room.root_, question, "Delete what is dead")
    await room.reads(question, "has changed since: ask again")
    assert room.slices() == {"lost-1", "lost-2"}


@pytest.mark.parametrize(("mode", "left"), [(ReapMode.DELETE, {"theirs"}), (ReapMode.ALL, set())])
async def test_what_others_made_is_deleted_only_where_bot_yaml_says_so(
    room: Room, mode: ReapMode, left: set[str]
) -> None:
    room.config = attrs.evolve(room.config, reap=mode)
    await room.restart()
    await room.orphan("theirs", home="another")
    await room.orphan("ours")
    for _ in range(2):
        question = await room.ask(room.root_, "reap")
    await room.press(room.root_, question, "Delete what is dead")
    await room.told("root deleted")
    await room.slack.wait_for(lambda: room.slices() == left, what="what is left")


@pytest.mark.parametrize("who", ["ada", "vera", "olga"])
async def test_only_admins_reap(room: Room, who: str) -> None:
    await room.orphan("lost-1")
    assert "you may not reap" in (await room.ask(getattr(room, who), "reap")).plain


async def test_who_is_no_admin_any_more_reaps_nothing_by_an_older_button(room: Room) -> None:
    await room.orphan("lost-1")
    for _ in range(2):
        question = await room.ask(room.root_, "reap")
    room.config = attrs.evolve(room.config, admins=())
    await room.restart()
    answer = await room.answer(room.root_, question, "Delete what is dead")
    assert "you may not reap" in answer.plain
    assert room.slices() == {"lost-1"}


async def test_a_button_of_other_rules_reaps_nothing(room: Room) -> None:
    room.config = attrs.evolve(room.config, reap=ReapMode.ALL)
    await room.restart()
    await room.orphan("lost-1")
    for _ in range(2):
        question = await room.ask(room.root_, "reap")
    room.config = attrs.evolve(room.config, reap=ReapMode.DELETE)
    await room.restart()
    await room.press(room.root_, question, "Delete what is dead")
    await room.reads(question, "means nothing now")
    assert room.slices() == {"lost-1"}


async def test_quota_tells_what_dead_things_hold(room: Room) -> None:
    assert "nothing is held" in (await room.ask(room.vera, "quota")).plain
    await room.orphan("lost-1")
    answer = await room.ask(room.vera, "quota")
    assert answer.only_to == room.vera
    assert "v4" in answer.plain
    assert "what is dead counts as well" in answer.plain
