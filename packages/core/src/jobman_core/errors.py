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

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import ClassVar, Final

import attrs

#: Characters of a fault that are shown; files can hold words of any length.
_LONGEST: Final = 1000
#: So many names are looked through for the one that was meant: comparing takes long.
_MOST_NAMES: Final = 5000


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


# -- how front ends tell of them -----------------------------------------------------------------


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Give the known word that was probably meant; None: it looks like none.

    Where there are very many, only the first of them are looked at.
    """
    from difflib import get_close_matches

    names = [*islice(known, _MOST_NAMES)]
    # Half a word is a beginning far more often than a typing error.
    starts = [name for name in names if len(word) > 1 and name.startswith(word)]
    return next(iter([*starts, *get_close_matches(word, names, 1, 0.5)]), None)


def instead(word: str, known: Sequence[str]) -> str:
    """Give the remedy for a word that nobody knows: the nearest known one, else all of them."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near else f"use one of {', '.join(known)}"


def leaves(error: BaseException) -> list[BaseException]:
    """Give an error, or those that a group of them is made of."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]


def exit_code_of(error: BaseException) -> int:
    """Give what a command that meets this ends with."""
    if isinstance(error, JobmanError) or _is_usage(error):
        return int(getattr(error, "exit_code", 1))
    return 1


def is_bug(error: BaseException) -> bool:
    """Tell whether it is an error that jobman did not expect."""
    return not (isinstance(error, JobmanError | OSError) or _is_usage(error))


def lines_of(error: BaseException) -> list[str]:
    """Give what is printed: what is wrong, and after a colon what to do, a line each."""
    if isinstance(error, ConfigError):
        return [str(fault) for fault in error.faults]
    if isinstance(error, JobmanError):
        return [f"error: {error}"]
    if _is_usage(error):
        return [f"error: {_usage(error)}"]
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        return [f"error: {what}: make sure that it is there, that it is yours, and has room"]
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return [f"error: internal: {text}: please report it; run with -v for the traceback"]


def _is_usage(error: BaseException) -> bool:
    """Tell whether the parser of a command line refused something."""
    # By its form: this module imports nothing, and Typer does not export what it raises.
    return hasattr(error, "format_message") and hasattr(error, "ctx")


def _usage(error: BaseException) -> str:
    """Say what the parser did not like in the way of all other errors."""
    context = getattr(error, "ctx", None)
    see = f"see `{context.command_path if context else 'jobman'} --help`"
    possible = getattr(error, "possibilities", ())
    if possible != ():
        option = getattr(error, "option_name", "")
        hint = f"did you mean {possible[0]}?" if possible else see
        return f"there is no option {option}: {hint}"
    say = getattr(error, "format_message", error.__str__)
    message = " ".join(str(say()).split()).rstrip(".")
    return f"{message[:1].lower()}{message[1:]}: {see}"
