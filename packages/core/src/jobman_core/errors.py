"""The errors that jobman expects, as one tree, each with the exit code that front ends use.

JobmanError                 1  it failed
├── InvalidInputError       2  bad usage or a bad input file
│   └── ConfigError         2  a file with faults, all of them
├── NotFoundError           3  no such job, task, queue or plugin
├── NotYoursError           4  someone else's
├── HeldError               4  held by a live controller, or by another machine
│   └── StaleLeaseError     4  this controller was replaced: it must stop acting
├── CloudError              1  the cloud answered with an error
│   ├── PermanentCloudError 1  asking again cannot help
│   ├── StockoutError       1  no capacity there now: wait, or another place
│   └── TransientCloudError 1  back off and ask again
├── HostUnreachableError    1  nothing is known of what runs there
├── UnfinishedError         1  an end could not be proved yet: the wish stays on the books
├── CommandFailedError      1  a command of ours on a host ended with an error
└── StoreError              1  the database cannot be used now

A message says what is wrong and, after a colon, what to do about it. Front ends print it as one
line; a traceback is a bug.
"""

from collections.abc import Iterable
from typing import ClassVar, Final

import attrs

#: Characters of a fault that are shown; files can hold words of any length.
_LONGEST: Final = 1000


class JobmanError(Exception):
    """Something that jobman expects to go wrong; the message says what to do."""

    #: What a command that meets this ends with.
    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        """Give the message, on one line whatever was put into it."""
        return " ".join(super().__str__().split("\n"))


class InvalidInputError(JobmanError):
    """Bad usage, or a bad input file."""

    exit_code = 2


@attrs.frozen(order=True)
class Fault:
    """One thing that is wrong with a file: where, and what to write instead."""

    path: str
    #: Counted from 1; 0 where a fault belongs to the file as a whole.
    line: int
    column: int
    #: Dotted, like ``tpu.accelerator`` or ``accelerators.v4-8.tasks[2].id``; may be empty.
    key: str
    message: str

    def __str__(self) -> str:
        """Give the line that editors and people can follow."""
        place = f"{self.path}:{self.line}:{self.column}: "
        return _one_line(place + (f"{self.key}: " if self.key else "") + self.message)


def _one_line(text: str) -> str:
    """Show what would begin a line, or not be seen at all, for what it is."""
    text = " ".join(text.split("\n"))
    if len(text) > _LONGEST:
        # What is wrong stands in front, what to do at the end.
        text = f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"
    return printable(text)


def printable(text: str) -> str:
    """Show what could steer a terminal, or begin a line, as harmless text."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


class ConfigError(InvalidInputError):
    """A file has faults; all of them are told at once, and nothing was created."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Keep the faults in the order of the file."""
        self.faults: tuple[Fault, ...] = tuple(sorted(set(faults)))
        super().__init__("; ".join(map(str, self.faults)))


class NotFoundError(JobmanError):
    """No such job, task, queue or plugin."""

    exit_code = 3


class NotYoursError(JobmanError):
    """It belongs to someone else."""

    exit_code = 4


class HeldError(JobmanError):
    """A live controller, or another machine, holds it."""

    exit_code = 4


class StaleLeaseError(HeldError):
    """This controller was replaced, or its claim resolved by others: it must stop acting."""


class CloudError(JobmanError):
    """The cloud answered with an error."""


class PermanentCloudError(CloudError):
    """Asking again cannot help."""


class StockoutError(CloudError):
    """The place has no capacity now: wait, or take another."""


class TransientCloudError(CloudError):
    """An error that passes: back off and ask again."""


class HostUnreachableError(JobmanError):
    """A host did not answer: nothing is known of what runs there."""


class UnfinishedError(JobmanError):
    """An end could not be proved now; the wish stays on the books, and others go on with it."""


class CommandFailedError(JobmanError):
    """A command of ours on a host ended with an error; the message has its last lines."""


class StoreError(JobmanError):
    """The database cannot be read or written now."""
