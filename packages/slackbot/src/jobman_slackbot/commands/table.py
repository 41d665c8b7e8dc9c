"""The table of commands: what there is, who may, and what does it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import attrs

from jobman_slackbot import blocks, grammar
from jobman_slackbot.actions import Change
from jobman_slackbot.blocks import View
from jobman_slackbot.commands import acting, reporting, seeing
from jobman_slackbot.commands.call import Call
from jobman_slackbot.grammar import Arguments, Kind, Slot
from jobman_slackbot.people import Deed
from jobman_slackbot.views.paging import Place


@attrs.frozen
class Row:
    """A command."""

    word: str
    slots: tuple[Slot, ...]
    deed: Deed
    #: What it does, in a line of help.
    help: str
    #: What people write behind ``/jobman``.
    example: str
    run: Callable[[Call, Arguments], Awaitable[None]]


_ID: Final = Slot("ID", Kind.JOB)
_IDS: Final = Slot("ID", Kind.JOB, many=True)
_TASK: Final = (Slot("TASK", Kind.NAME), Slot("queue", Kind.NAME, optional=True))


async def _help(call: Call, given: Arguments) -> None:
    word = given.one("command")
    if word is not None:
        row = TABLE[grammar.find(word, TABLE)]
        lines = [f"`{grammar.usage(row)}`", row.help, f"like `/jobman {row.example}`"]
    else:
        lines = [
            f"`{grammar.usage(row)}`  {row.help}"
            for row in TABLE.values()
            if call.person.may(row.deed)
        ]
        lines.append("A job's last digits are enough; what changes something asks first.")
    await call.answer(View(lines[0], tuple(blocks.sections(lines))))


_ROWS: Final = (
    Row(
        "help",
        (Slot("command", Kind.NAME, optional=True),),
        Deed.SEE,
        "what there is, or more about one command",
        "help logs",
        _help,
    ),
    Row(
        "list",
        (Slot("which", Kind.CHOICE, ("mine", "all"), optional=True),),
        Deed.SEE,
        "jobs, newest first: everybody's, yours, or deleted ones as well",
        "list mine",
        seeing.list_jobs,
    ),
    Row(
        "queue",
        (Slot("name", Kind.NAME, optional=True),),
        Deed.SEE,
        "the tasks of a queue: those that run or went wrong first",
        "queue tasks.yaml",
        seeing.queue,
    ),
    Row("show", (_ID,), Deed.SEE, "all about a job", "show 12", seeing.show),
    Row(
        "logs",
        (Slot("ID|TASK", Kind.NAME), Slot("lines", Kind.NUMBER, optional=True)),
        Deed.SEE,
        "the end of the log of a job or a task; a long one comes as a file",
        "logs 12 100",
        seeing.logs,
    ),
    Row(
        "stop",
        (_IDS,),
        Deed.STEER,
        "end what jobs run, and keep their slices",
        "stop 12 13",
        acting.of_jobs(acting.STOP),
    ),
    Row(
        "resume",
        (_IDS,),
        Deed.STEER,
        "start jobs again, or take up what still runs",
        "resume 12",
        acting.of_jobs(acting.RESUME),
    ),
    Row(
        "reboot",
        (_IDS,),
        Deed.STEER,
        "stop jobs and start them afresh, on the slices that they have",
        "reboot 12",
        acting.of_jobs(acting.REBOOT),
    ),
    Row(
        "requeue",
        (_IDS,),
        Deed.STEER,
        "let queue workers give their tasks back and take others",
        "requeue 12",
        acting.of_jobs(acting.REQUEUE),
    ),
    Row(
        "delete",
        (_IDS,),
        Deed.DELETE,
        "stop jobs, give their slices back, take them off the list",
        "delete 12",
        acting.of_jobs(acting.DELETE),
    ),
    Row(
        "prioritize",
        _TASK,
        Deed.STEER,
        "let a task be taken before all others, once",
        "prioritize sweep-7",
        acting.of_task(acting.PRIORITIZE),
    ),
    Row(
        "reset",
        _TASK,
        Deed.STEER,
        "let a task run from the start again",
        "reset sweep-7",
        acting.of_task(acting.RESET),
    ),
    Row(
        "done",
        _TASK,
        Deed.STEER,
        "call a task done",
        "done sweep-7",
        acting.of_task(acting.DONE),
    ),
    Row(
        "usage",
        (
            Slot("span", Kind.CHOICE, ("day", "week"), optional=True),
            Slot("whose", Kind.CHOICE, ("me",), optional=True),
        ),
        Deed.SEE,
        "chip-hours and what they cost, with a chart",
        "usage week me",
        reporting.usage,
    ),
    Row(
        "quota",
        (),
        Deed.SEE,
        "what the lab's accounts hold, dead things too",
        "quota",
        reporting.quota,
    ),
    Row(
        "reap",
        (),
        Deed.REAP,
        "what is dead at the cloud, and delete it",
        "reap",
        reporting.reap,
    ),
)
#: By the word.
TABLE: Final[Mapping[str, Row]] = {row.word: row for row in _ROWS}

#: What the buttons of long tables show, by the word of the command.
PAGES: Final[Mapping[str, Callable[[Call, Place], Awaitable[View]]]] = {
    "list": seeing.list_page,
    "queue": seeing.queue_page,
}

#: What the buttons of questions do, by the word of the command.
CHANGES: Final[Mapping[str, Change]] = {
    change.word: change
    for change in (
        acting.STOP,
        acting.RESUME,
        acting.REBOOT,
        acting.REQUEUE,
        acting.DELETE,
        acting.PRIORITIZE,
        acting.RESET,
        acting.DONE,
        reporting.REAP,
    )
}
