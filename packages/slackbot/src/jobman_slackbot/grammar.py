"""What somebody wrote behind ``/jobman``: a word of the table, and what it is to be done with.

Pure. A word of a message is an id, a name, a number or one of some words, and is only ever compared
with what there is: none is run, and none is read as a path.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, Protocol

import attrs

from jobman_core.errors import InvalidInputError, nearest

#: Slack sends these of its escapes with what people type.
_ESCAPES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
#: Words, and names with spaces between quotes, which some keyboards make round; within a word a
#: single one is an apostrophe.
_WORDS: Final = re.compile(
    r'["“”„]([^"“”„]*)["“”„]'
    r"|(?<!\S)['‘’‚]([^'‘’‚]*)['‘’](?!\S)"  # noqa: RUF001 - keyboards write them
    r"|(\S+)"
)
#: Around a word: marks of code, and what nobody sees that comes along when people copy (zero width
#: spaces and joiners, marks of direction, a byte order mark).
_AROUND: Final = "`\u200b\u200c\u200d\u200e\u200f\u2060\u2066\u2067\u2068\u2069\ufeff"
#: More things at once are no command that somebody meant.
MOST: Final = 40
_LONGEST: Final = 4000
#: The highest number of lines, which is that of a file that people can still read.
_HIGHEST: Final = 100_000


class Kind(StrEnum):
    """What a word of a command may be."""

    #: One of some words.
    CHOICE = "choice"
    #: A number, at least 1.
    NUMBER = "number"
    #: The id of a job, or its last digits.
    JOB = "job"
    #: A name: whatever is written.
    NAME = "name"


@attrs.frozen
class Slot:
    """A place for a word in a command."""

    name: str
    kind: Kind
    choices: tuple[str, ...] = ()
    optional: bool = False
    #: It takes all words that fit.
    many: bool = False

    @property
    def shown(self) -> str:
        """As help shows it."""
        word = "|".join(self.choices) if self.choices else self.name
        return f"[{word}]" if self.optional else f"{word}…" if self.many else word

    def fits(self, word: str) -> bool:
        """Tell whether a word can be meant for it."""
        match self.kind:
            case Kind.CHOICE:
                return word.lower() in self.choices
            case Kind.NUMBER:
                return word.isascii() and word.isdigit() and 0 < int(word[:9]) <= _HIGHEST
            case Kind.JOB:
                return word.isascii() and word.isdigit()
            case Kind.NAME:
                return True


class Row(Protocol):
    """A row of the table of commands, as far as reading goes."""

    @property
    def word(self) -> str:
        """What people write."""

    @property
    def slots(self) -> Sequence[Slot]:
        """What may follow it."""


@attrs.frozen
class Arguments:
    """The words of a command, by the names of their places."""

    given: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str | None:
        """Give the word at a place; None: nothing was written there."""
        return next(iter(self.given.get(name, ())), None)

    def all(self, name: str) -> Sequence[str]:
        """Give the words at a place, each once."""
        return tuple(dict.fromkeys(self.given.get(name, ())))


def words_of(text: str) -> list[str]:
    """Give the words of a message.

    Raises:
        InvalidInputError: it is longer than any command.
    """
    if len(text) > _LONGEST:
        msg = f"that is {len(text)} characters: a command has {_LONGEST} at the most"
        raise InvalidInputError(msg)
    for escape, char in _ESCAPES:
        text = text.replace(escape, char)
    found = ["".join(quoted) or plain.strip(_AROUND) for *quoted, plain in _WORDS.findall(text)]
    return [word for word in found if word]


def usage(row: Row) -> str:
    """Give a command as help shows it."""
    return " ".join(["/jobman", row.word, *(slot.shown for slot in row.slots)])


def find(word: str, rows: Mapping[str, Row]) -> str:
    """Give the word of the row that is meant.

    Raises:
        InvalidInputError: there is none.
    """
    lowered = word.lower()
    if lowered in rows:
        return lowered
    near = nearest(lowered, list(rows))
    hint = f"did you mean `{near}`?" if near else "`/jobman help` lists those there are"
    msg = f"there is no command {_quoted(word)}: {hint}"
    raise InvalidInputError(msg)


def arguments(row: Row, words: Sequence[str]) -> Arguments:
    """Put the words behind a command into its places, each into the first that it fits.

    Raises:
        InvalidInputError: one fits nowhere, one is missing, or there are too many.
    """
    given: dict[str, list[str]] = {}
    for word in words:
        place = next(
            (s for s in row.slots if s.fits(word) and (s.many or s.name not in given)), None
        )
        if place is None:
            raise InvalidInputError(_misfit(row, word))
        written = word.lower() if place.kind is Kind.CHOICE else word
        given.setdefault(place.name, []).append(written)
    for slot in row.slots:
        if not slot.optional and slot.name not in given:
            msg = f"{row.word} needs {slot.shown}: write `{usage(row)}`"
            raise InvalidInputError(msg)
        if len(given.get(slot.name, ())) > MOST:
            msg = f"{len(given[slot.name])} at once: {MOST} are the most"
            raise InvalidInputError(msg)
    return Arguments({name: tuple(found) for name, found in given.items()})


def _misfit(row: Row, word: str) -> str:
    choices = [choice for slot in row.slots for choice in slot.choices]
    near = nearest(word.lower(), choices)
    if near:
        return f"{row.word} does not know {_quoted(word)}: did you mean `{near}`?"
    if any(slot.kind is Kind.JOB for slot in row.slots):
        told = "jobs are known by their digits, which `/jobman list` shows"
        return f"{_quoted(word)} is no id of a job: {told}"
    return f"{row.word} does not take {_quoted(word)}: write `{usage(row)}`"


def _quoted(word: str) -> str:
    return repr(word if len(word) <= 40 else f"{word[:40]}…")  # noqa: PLR2004 - enough to know it
