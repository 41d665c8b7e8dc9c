"""Notices through the real bot, which is killed, cut off and told too late."""

import asyncio
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from tests.support.bots import BotLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def begin(bots: BotLab) -> None:
    """Start the bot, and wait until it hears of what happens from now on."""
    await bots.start()
    async with bots.app("root") as app:

        async def begun() -> bool:
            return bool(await app.recall("slack", prefix="cursor"))

        await bots.comes(begun, "the bot has a cursor")


def happen(bots: BotLab, kind: str, jobs: Sequence[str], text: str) -> None:
    """Let something happen to jobs, as a controller writes it down."""
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    with sqlite3.connect(bots.lab.root / "jobs/.jobman/jobman.db", timeout=30) as db:
        db.executemany(
            "INSERT INTO events (at, kind, text, job) VALUES (?, ?, ?, ?)",
            [(at, kind, text, int(job)) for job in jobs],
        )
    db.close()


async def made(bots: BotLab, count: int) -> list[str]:
    """Give so many jobs that do not run."""
    async with bots.app("ada") as app:
        found = await app.create(bots.lab.job("many"), count=count, start=False)
    return [one.job.id for one in found]


async def test_a_burst_of_200_preemptions_is_at_most_three_messages_and_recovers_in_place(
    bots: BotLab,
) -> None:
    jobs = await made(bots, 200)
    await begin(bots)
    for start in range(0, 200, 20):
        happen(bots, "slice.preempted", jobs[start : start + 20], "its slice was preempted")
        await asyncio.sleep(0.3)
    await bots.reads("200", limit=60)
    assert len(bots.told()) <= 3
    happen(bots, "slice.ready", jobs, "its slice is ready")
    await bots.until(
        lambda: (
            sum(m.edits != [] for m in bots.slack.read(bots.channel)) == len(bots.told())
            and all("recovered" in said for said in bots.told())
        ),
        "all have recovered",
        limit=60,
    )
    assert len(bots.told()) <= 3
    assert bots.slack.throttled == 0


async def test_a_loss_and_its_end_are_one_message_over_a_restart(bots: BotLab) -> None:
    (job,) = await made(bots, 1)
    await begin(bots)
    happen(bots, "slice.preempted", [job], "its slice was preempted")
    await bots.reads("preempted")
    await bots.kill()
    happen(bots, "slice.ready", [job], "its slice is ready")
    await bots.start()
    await bots.reads("recovered after")
    assert len(bots.told()) == 1


async def test_killed_between_the_post_and_its_record_it_repeats_and_loses_nothing(
    bots: BotLab,
) -> None:
    (job,) = await made(bots, 1)
    await begin(bots)
    for number in range(3):
        # The post is taken, and its answer is on its way when the bot is killed.
        trouble = bots.slack.trouble("chat.postMessage", answer_after=30.0)
        happen(bots, "job.failed", [job], f"failed for reason {number}")
        await bots.reads(f"reason {number}")
        await bots.kill()
        assert trouble.times == 0
        await bots.start()
    # The same without a kill: the post is taken, and the connection breaks.
    bots.slack.trouble("chat.postMessage", lost=True)
    happen(bots, "job.failed", [job], "failed for the last time")
    await bots.reads("the last time")
    happen(bots, "job.done", [job], "is done after all")
    await bots.reads("after all")
    said = "\n".join(bots.told())
    assert [said.count(f"reason {n}") for n in range(3)] == [1, 1, 1]
    assert said.count("the last time") == 1


async def test_killed_before_the_post_it_loses_nothing(bots: BotLab) -> None:
    (job,) = await made(bots, 1)
    await begin(bots)
    bots.slack.trouble("chat.postMessage", delay=30.0)
    happen(bots, "job.failed", [job], "failed while nobody listened")
    await bots.until(lambda: not bots.slack.troubles.waiting, "the bot asks")
    await bots.kill()
    happen(bots, "job.done", [job], "is done while no bot ran")
    await bots.start()
    await bots.reads("no bot ran")
    said = "\n".join(bots.told())
    assert (said.count("nobody listened"), said.count("no bot ran")) == (1, 1)


async def test_while_slack_is_away_jobs_go_on_and_all_is_told_when_it_is_back(
    bots: BotLab,
) -> None:
    (job, *others) = await made(bots, 30)
    await begin(bots)
    async with bots.slack.down():
        running = await bots.create("ada", "runs", cmd="true", start=True)
        for other in others:
            happen(bots, "slice.preempted", [other], "its slice was preempted")
        happen(bots, "job.failed", [job], "failed while Slack was away")
        await bots.until_status(running, "DONE")
    await bots.reads("was away", limit=90)
    await bots.reads(running)
    said = "\n".join(bots.told())
    assert said.count("was away") == 1
    assert len(bots.told()) <= 3


async def test_who_owns_a_job_is_told_in_person_where_its_file_says_so(bots: BotLab) -> None:
    job = await bots.create("bob", "private", extra="notify: owner")
    await begin(bots)
    happen(bots, "job.failed", [job], "failed for bob")
    direct = bots.slack.world.talk_with(bots.bob).id
    await bots.until(lambda: bots.told(direct), "bob is told")
    assert "failed for bob" in "\n".join(bots.told(direct))
    assert bots.told() == []
