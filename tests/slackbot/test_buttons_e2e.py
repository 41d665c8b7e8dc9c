"""Buttons of the real bot: pressed twice, late, by others, after restarts and changes."""

import pytest
from tests.support.bots import BotLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def test_a_job_is_resumed_and_stopped_once_however_often_the_button_is_pressed(
    bots: BotLab,
) -> None:
    job = await bots.create("ada", "sleeper", cmd="sleep 600")
    await bots.start()
    question = await bots.ask(bots.ada, f"resume {job}")
    assert not question.seen_by(bots.bob)
    old = question.copy()
    # A wish that is not confirmed is none.
    await bots.slack.press(bots.ada, question, "do", confirmed=False)
    for _ in range(3):
        await bots.slack.press(bots.ada, old, "do")
    await bots.hears(1)
    await bots.reads("pressed already", bots.ada)
    bots.slack.sockets.twice = True
    question = await bots.ask(bots.ada, f"stop {job}")
    await bots.slack.press(bots.ada, question, "do")
    await bots.hears(2)
    assert [line.split()[1] for line in bots.told()] == ["resumed", "stopped"]
    assert bots.slack.violations == []


async def test_a_button_is_for_who_asked_and_for_what_was_asked(bots: BotLab) -> None:
    job = await bots.create("ada", "mine")
    await bots.start()
    question = await bots.ask(bots.ada, f"delete {job}")
    await bots.slack.press(bots.root, question.copy(), "do")
    await bots.reads("somebody else's", bots.root)
    await bots.slack.press(bots.eve, question.copy(), "do")
    await bots.reads(bots.eve, bots.eve)
    await bots.kill()
    await bots.start()
    async with bots.app("ada") as app:
        await app.resume(job)
    await bots.until_status(job, "DONE")
    await bots.slack.press(bots.ada, question, "do")
    await bots.reads("ask again", bots.ada)
    question = await bots.ask(bots.ada, f"delete {job}")
    await bots.slack.press(bots.ada, question, "Not now")
    await bots.reads("nothing was done", bots.ada)
    assert await bots.status(job) == "DONE"
    question = await bots.ask(bots.ada, f"delete {job}")
    await bots.slack.press(bots.ada, question, "do")
    await bots.reads("ada deleted")
    assert await bots.status(job) == "DELETED"
