"""What changes something: asked first, for a while, by one person, and done once."""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.slackbot.commands.conftest import Room
from tests.support.slack import Message

from jobman_core.home import Home
from jobman_core.models.slice import SlicePhase
from jobman_core.models.task import TaskStatus

DELETED = "deleted"


def _forged(message: Message, **changes: Any) -> Message:
    """The same message with something else in what its button carries."""
    found = message.copy()
    found.blocks = json.loads(json.dumps(found.blocks))
    button = found.blocks[-1]["elements"][0]
    value = dict(
        zip(
            ("word", "where", "things", "person", "at", "nonce"),
            json.loads(button["value"]),
            strict=True,
        )
    )
    button["value"] = json.dumps(list((value | changes).values()))
    return found


async def test_a_question_says_what_will_happen_and_does_nothing_yet(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {int(job)}")
    assert question.only_to == room.ada
    assert f"{job} train_{job}" in question.plain
    assert "gives the slice back" in question.plain
    sure = question.buttons[0]["confirm"]
    assert sure["style"] == "danger"
    assert await room.wanted(job) == "stopped"
    assert room.public() == []


async def test_what_was_confirmed_is_done_and_told_to_all(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    await room.press(room.ada, question, "Delete job")
    await room.reads(question, f"deleted `{job}` train_{job}: DELETED")
    assert await room.told(f"ada deleted `{job}` train_{job}")
    assert await room.wanted(job) == DELETED
    assert (await room.app.show(job)).events[-1].text == "ada deletes it"


async def test_what_is_not_confirmed_is_not_done(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    await room.press(room.ada, question, "Delete job", confirmed=False)
    await room.press(room.ada, question, "Not now")
    await room.reads(question, "nothing was done")
    assert question.buttons == []
    assert await room.wanted(job) != DELETED


async def test_a_button_pressed_twice_does_it_once(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"stop {job}")
    old = question.copy()
    await room.press(room.ada, question, "Stop job")
    await room.told("ada stopped")
    assert "pressed already" in (await room.answer(room.ada, old, "Stop job")).plain
    assert len(room.public()) == 1


async def test_two_presses_at_once_do_it_once(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    old = question.copy()
    await asyncio.gather(*(room.press(room.ada, old, "Delete job") for _ in range(3)))
    await room.told("ada deleted")
    kinds = [event.kind for event in (await room.app.show(job)).events]
    assert kinds.count("job.deleted") == 1


async def test_a_button_that_slack_delivers_twice_does_it_once(room: Room) -> None:
    room.slack.sockets.twice = True
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    await room.press(room.ada, question, "Delete job")
    await room.told("ada deleted")
    assert len(room.public()) == 1
    kinds = [event.kind for event in (await room.app.show(job)).events]
    assert kinds.count("job.deleted") == 1


async def test_a_button_is_good_for_ten_minutes(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    room.later(minutes=10, seconds=1)
    await room.press(room.ada, question, "Delete job")
    await room.reads(question, "good for 10 minutes")
    assert await room.wanted(job) != DELETED


async def test_a_button_is_only_for_who_asked(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    answer = await room.answer(room.root_, question, "Delete job")
    assert answer.only_to == room.root_
    assert "somebody else's" in answer.plain
    assert "to add your id" in (await room.answer(room.eve, question, "Delete job")).plain
    assert await room.wanted(job) != DELETED


async def test_rights_are_asked_again_when_a_button_is_pressed(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    forged = _forged(question, person=room.bob)
    await room.press(room.bob, forged, "Delete job")
    await room.reads(question, "you may not delete what is ada's")
    assert await room.wanted(job) != DELETED


@pytest.mark.parametrize(
    "forged",
    [
        {"at": math.inf},
        {"at": -math.inf},
        {"at": math.nan},
        {"at": 10**400},
        {"things": []},
        {"things": {"a": "b"}},
        {"things": [[str(number), ""] for number in range(41)]},
        {"word": "xyzzy"},
    ],
    ids=str,
)
async def test_what_nobody_can_have_been_asked_is_not_done(
    room: Room, forged: dict[str, Any]
) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    answer = await room.answer(room.ada, _forged(question, **forged), "Delete job")
    assert "means nothing now" in answer.plain
    assert await room.wanted(job) != DELETED


async def test_what_a_button_names_twice_is_done_once(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"stop {job}")
    things = json.loads(question.buttons[0]["value"])[2]
    await room.press(room.ada, _forged(question, things=things * 20), "Stop job")
    await room.told(f"ada stopped `{job}` train_{job}")
    assert [m.plain.count(job) for m in room.public()] == [2]


async def test_a_job_that_has_another_slice_since_is_left_alone(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"delete {job}")
    await room.slice(job, 1)
    await room.press(room.ada, question, "Delete job")
    await room.reads(question, "has changed since: ask again")
    assert await room.wanted(job) != DELETED


async def test_a_job_that_somebody_steered_since_is_left_alone(room: Room) -> None:
    job, other = await room.job(), await room.job()
    question = await room.ask(room.ada, f"delete {job} {other}")
    await room.app.acting_for("ada").cancel(job)
    await room.press(room.ada, question, "Delete 2 jobs")
    await room.reads(question, "has changed since: ask again")
    assert await room.wanted(job) == "cancelled"
    assert await room.wanted(other) == DELETED


async def test_a_button_works_after_the_bot_was_started_again(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"stop {job}")
    old = question.copy()
    await room.restart()
    await room.press(room.ada, question, "Stop job")
    await room.told("ada stopped")
    await room.restart()
    assert "pressed already" in (await room.answer(room.ada, old, "Stop job")).plain


async def test_what_was_pressed_is_forgotten_once_it_is_old(room: Room) -> None:
    for _ in range(3):
        job = await room.job()
        question = await room.ask(room.ada, f"stop {job}")
        await room.press(room.ada, question, "Stop job")
        await room.told(f"ada stopped `{job}`")
        room.later(minutes=30)
    assert len(await room.app.recall("slack-actions")) == 1


@pytest.mark.parametrize(
    ("who", "verb", "owner", "allowed"),
    [
        ("ada", "stop", "ada", True),
        ("ada", "stop", "bob", False),
        ("ada", "delete", "bob", False),
        ("vera", "stop", "ada", False),
        ("olga", "stop", "ada", True),
        ("olga", "delete", "ada", False),
        ("olga", "delete", "olga", True),
        ("root_", "delete", "ada", True),
    ],
)
async def test_each_role_may_do_what_it_may(
    room: Room, who: str, verb: str, owner: str, *, allowed: bool
) -> None:
    job = await room.job(owner)
    person = getattr(room, who)
    answer = await room.ask(person, f"{verb} {job}")
    assert answer.only_to == person
    if not allowed:
        assert "you may not" in answer.plain
        assert answer.buttons == []
        return
    await room.press(person, answer, f"{verb.capitalize()} job")
    await room.told(f"{who.rstrip('_')} ")
    assert await room.wanted(job) == {"stop": "stopped", "delete": DELETED}[verb]


async def test_of_several_jobs_all_that_can_be_done_is_asked(room: Room) -> None:
    hers, his = await room.job("ada"), await room.job("bob")
    question = await room.ask(room.ada, f"stop {hers} {his} 77 {int(hers)}")
    assert "you may not change what is bob's" in question.plain
    assert "no job '77'" in question.plain
    await room.press(room.ada, question, "Stop job")
    await room.told(f"ada stopped `{hers}`")
    assert his not in room.public()[0].plain


async def test_what_the_core_refuses_is_told_to_who_pressed_alone(room: Room) -> None:
    job = await room.job()
    question = await room.ask(room.ada, f"requeue {job}")
    await room.press(room.ada, question, "Requeue job")
    await room.reads(question, "takes no tasks from a queue")
    assert room.public() == []


async def test_what_a_job_loses_by_its_edited_file_is_asked_with_it(room: Room) -> None:
    job = await room.job()
    await room.slice(job, 1, phase=SlicePhase.READY, ready_at=room.now)
    with Home(room.root).config("ada", job).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    question = await room.ask(room.ada, f"resume {job}")
    assert "gives its slice back" in question.plain
    with Home(room.root).config("ada", job).open("a", encoding="utf-8") as file:
        file.write("no: yaml: at all\n")
    await room.press(room.ada, question, "Resume job")
    await room.reads(question, "config.yaml:")
    assert await room.wanted(job) == "stopped"


async def test_forty_jobs_are_asked_at_once_and_more_are_not(room: Room) -> None:
    jobs = [await room.job() for _ in range(3)]
    answer = await room.ask(room.ada, "stop " + " ".join(map(str, range(1, 42))))
    assert "40 are the most" in answer.plain
    question = await room.ask(room.ada, "stop " + " ".join(map(str, range(1, 41))))
    await room.press(room.ada, question, "Stop 3 jobs")
    assert "3 jobs" not in await room.told(jobs[2])


async def _task_status(room: Room, path: Path, task: str) -> TaskStatus:
    return (await room.app.queue_task(path, task)).task.status


async def test_a_task_is_put_first_called_done_and_reset(room: Room) -> None:
    path = await room.queue("one", "two")
    await room.press(room.ada, await room.ask(room.ada, "prioritize two"), "Put task first")
    await room.told("ada put task `two` first")
    assert (await room.app.queue_task(path, "two")).task.counters.priority
    await room.press(room.ada, await room.ask(room.ada, "done two tasks.yaml"), "Call task done")
    await room.told("ada called task `two` done")
    assert await _task_status(room, path, "two") is TaskStatus.DONE
    question = await room.ask(room.ada, "reset two")
    assert "two (DONE)" in question.plain
    await room.press(room.ada, question, "Reset task")
    await room.told("ada reset task `two`")
    assert await _task_status(room, path, "two") is TaskStatus.PENDING


async def test_a_task_that_changed_since_is_left_alone(room: Room) -> None:
    path = await room.queue("one")
    question = await room.ask(room.ada, "done one")
    await room.app.mark_done(path, "one")
    await room.app.reset(path, ["one"])
    await room.press(room.ada, question, "Call task done")
    await room.reads(question, "has changed since: ask again")
    assert await _task_status(room, path, "one") is TaskStatus.PENDING


async def test_a_task_of_several_queues_needs_the_name_of_its_queue(room: Room) -> None:
    await room.queue("one", name="a/tasks.yaml")
    other = await room.queue("one", name="b/tasks.yaml")
    assert "write the queue's name behind it" in (await room.ask(room.ada, "done one")).plain
    question = await room.ask(room.ada, "done one b/tasks.yaml")
    await room.press(room.ada, question, "Call task done")
    await room.told("ada called task `one` done")
    assert await _task_status(room, other, "one") is TaskStatus.DONE
    assert "no task" in (await room.ask(room.ada, "done three")).plain


async def test_a_viewer_changes_no_task(room: Room) -> None:
    await room.queue("one")
    assert "you may not change" in (await room.ask(room.vera, "reset one")).plain


async def test_what_is_done_in_direct_messages_is_told_in_the_channel(room: Room) -> None:
    job = await room.job()
    direct = room.slack.world.talk_with(room.ada).id
    question = await room.ask(room.ada, f"stop {job}", direct)
    await room.press(room.ada, question, "Stop job")
    await room.told(f"ada stopped `{job}`")


async def test_who_answers_late_is_whispered_to(room: Room) -> None:
    room.slack.hooks.uses = 0
    job = await room.job()
    assert job in (await room.ask(room.ada, "list")).plain
    room.slack.violations.clear()
