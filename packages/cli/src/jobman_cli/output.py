"""How text looks on a terminal and in a pipe: colours, columns, times. Knows no command."""

import os
import shutil
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TextIO

#: What is printed where there is nothing to say.
NOTHING: Final = "-"
_GAP: Final = "  "
#: The last column is not squeezed beside the others into less than this.
_ROOM: Final = 24
#: A column that may be cut keeps so much.
_LEAST: Final = 8

_CODES: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}

#: The colour of every status of a job, a task or an attempt; the word itself is always there.
STATUS_COLOURS: Final[Mapping[str, str]] = {
    "QUEUEING": "yellow",
    "PREPARING": "cyan",
    "RUNNING": "green",
    "PREEMPTED": "magenta",
    "IDLE": "yellow",
    "PREFIX_FAIL": "red",
    "DONE": "blue",
    "FAILED": "red",
    "CANCELLED": "dim",
    "DEAD": "red",
    "DELETED": "dim",
    "PENDING": "yellow",
    "WAITING": "yellow",
    "BLOCKED": "red",
    "RETRY": "magenta",
    "succeeded": "blue",
    "failed": "red",
    "interrupted": "magenta",
}

#: Writes a text in a colour, or as it is.
Paint = Callable[[str, str], str]


class Cell(NamedTuple):
    """A text of a table with its colour; a plain text has none."""

    text: str
    colour: str = ""


def status_cell(status: str) -> Cell:
    """Give a status as a cell."""
    return Cell(status, STATUS_COLOURS.get(status, ""))


def may_colour(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Tell whether colours are welcome: a terminal that can, and nobody who objects."""
    return stream.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


def colourful(text: str, colour: str) -> str:
    """Write a text in a colour."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if colour and text else text


def plain(text: str, _colour: str) -> str:
    """Write a text as it is."""
    return text


def columns(env: Mapping[str, str] = os.environ) -> int:
    """Give the width of the terminal."""
    given = env.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    return shutil.get_terminal_size((80, 24)).columns


def clean(text: str) -> str:
    """Show what could steer a terminal (escapes, newlines, reversed writing) as harmless text."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def width(text: str) -> int:
    """Give how many columns a cleaned text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def cut(text: str, room: int) -> str:
    """Shorten a text to so many columns, with an ellipsis where something is missing.

    It is cut between words, unless a word is so long that little would be left.
    """
    if width(text) <= room:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > room - 1:
            break
        kept += char
    words = kept.rpartition(" ")[0]
    if text[len(kept)] != " " and width(words) * 2 >= room:
        kept = words
    return kept.rstrip(" ,;:") + "…"


def wrap(text: str, room: int, *, split: bool = True) -> list[str]:
    """Break a text into lines of so many columns, between words where that is possible.

    Args:
        text: what to break.
        room: so many columns.
        split: break a word that is too long as well, else it stays whole on a line of its own.
    """
    # Two columns hold any character there is.
    room = max(room, 2)
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if width(longer) <= room:
            line = longer
            continue
        if line:
            lines.append(line)
        line = word
        while split and width(line) > room:
            head = line[:room]
            while width(head) > room:
                head = head[:-1]
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line] if line or not lines else lines


class Table:
    """Aligned columns; the last one takes what is left of the line, or lines of its own below."""

    def __init__(self, *heads: str, shrink: Sequence[str] = ()) -> None:
        """Take the heads, and which of them head columns that may be cut where it is narrow."""
        self._heads = heads
        self._shrink = {heads.index(name) for name in shrink}
        self._rows: list[list[Cell]] = []

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return len(self._rows)

    def add(self, *cells: str | Cell) -> None:
        """Append a row, with a text for every head."""
        row = [cell if isinstance(cell, Cell) else Cell(cell) for cell in cells]
        self._rows.append([Cell(clean(cell.text), cell.colour) for cell in row])

    def lines(self, room: int | None, paint: Paint = plain, indent: str = "") -> list[str]:
        """Give the lines of the table.

        Args:
            room: columns of the terminal; None: as wide as it gets, each row on one line.
            paint: writes in a colour.
            indent: put before every line.
        """
        heads = [Cell(head, "bold") for head in self._heads]
        rows = [heads, *self._rows]
        widths = [max(width(row[i].text) for row in rows) for i in range(len(heads))]
        if room is None:
            return [indent + _row(row, widths, paint)[0] for row in rows]
        room -= len(indent)
        self._fit(widths, room)
        left = room - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1)
        if left >= min(widths[-1], _ROOM):
            lines = [line for row in rows for line in _row(row, widths, paint, left)]
        else:
            # Too narrow: what belongs into the last column stands below its row, without a head.
            lines = [_row([*heads[:-1], Cell("")], widths, paint)[0]]
            for row in self._rows:
                lines += [
                    *_row([*row[:-1], Cell("")], widths, paint),
                    *_below(row[-1], room, paint),
                ]
        return [indent + line for line in lines]

    def _fit(self, widths: list[int], room: int) -> None:
        """Make the columns before the last narrower until they fit."""
        while sum(widths[:-1]) + len(_GAP) * (len(widths) - 2) > room:
            widest = max(self._shrink, key=lambda i: widths[i], default=None)
            if widest is None or widths[widest] <= _LEAST:
                return
            widths[widest] -= 1


def _row(row: list[Cell], widths: list[int], paint: Paint, left: int | None = None) -> list[str]:
    """Give the lines of a row whose last cell may take so many columns."""
    line = ""
    for cell, size in zip(row[:-1], widths, strict=False):
        text = cut(cell.text, size)
        line += paint(text, cell.colour) + " " * (size - width(text)) + _GAP
    last = row[-1]
    if not last.text:
        return [line.rstrip()]
    first, *rest = [last.text] if left is None else wrap(last.text, left)
    used = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    return [
        line + paint(first, last.colour),
        *(" " * used + paint(text, last.colour) for text in rest),
    ]


def _below(cell: Cell, room: int, paint: Paint) -> list[str]:
    if not cell.text:
        return []
    indent = " " * _LEAST
    return [indent + paint(text, cell.colour or "dim") for text in wrap(cell.text, room - _LEAST)]


def hanging(start: str, text: str, room: int | None, shown: str | None = None) -> list[str]:
    """Give a text as lines that stand below one another, after a start; no word is broken.

    Args:
        start: stands before the first line.
        text: what is broken between words.
        room: columns of the terminal; None: it stays one line.
        shown: the start with its colours, which take no room.
    """
    size = width(start)
    first, *rest = wrap(text, max(room - size, _ROOM), split=False) if room else [text]
    line = (start if shown is None else shown) + first
    return [line.rstrip(), *(" " * size + more for more in rest)]


def facts(pairs: Iterable[tuple[str, str]], room: int | None, indent: str = "  ") -> list[str]:
    """Give label and value, a line each, values aligned and wrapped below themselves."""
    rows = [(clean(label), clean(value)) for label, value in pairs]
    size = max((width(label) for label, _ in rows), default=0)
    lines: list[str] = []
    for label, value in rows:
        start = indent + label + " " * (size - width(label)) + _GAP
        lines += hanging(start, value, room)
    return lines


def moment(at: datetime, now: datetime) -> str:
    """Give a time as a person reads it who reads ``now``: of other days the day as well."""
    here = at.astimezone(now.tzinfo)
    if here.date() == now.date():
        return here.strftime("%H:%M:%S")
    return here.strftime("%Y-%m-%d %H:%M")


def span(seconds: float) -> str:
    """Give a duration in the two units that matter."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes:02d}m"
    if minutes:
        return f"{minutes}m {rest:02d}s"
    return f"{rest}s"


def count(number: int, noun: str) -> str:
    """Give a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def joined(words: Sequence[str], limit: int = 8) -> str:
    """Give words with commas between, and how many more there are."""
    shown = [clean(word) for word in words[:limit]]
    more = len(words) - len(shown)
    return ", ".join([*shown, f"and {more} more"] if more else shown)
