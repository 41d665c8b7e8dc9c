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
#: A column that may be cut keeps so much, and so much while others may be left out instead.
_LEAST: Final = 8
_COMFORTABLE: Final = 16

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
    if given.isdecimal() and int(given):
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

    def __init__(
        self,
        *heads: str,
        shrink: Sequence[str] = (),
        drop: Sequence[str] = (),
        right: Sequence[str] = (),
    ) -> None:
        """Take the heads, and how their columns behave.

        Args:
            heads: of all columns.
            shrink: of those that may be cut where it is narrow.
            drop: of those that a terminal need not have: not where they say nothing, and where it
                is narrow they are left out in this order.
            right: of those that hold numbers, which stand below one another by their ends.
        """
        self._heads = heads
        self._shrink = {heads.index(name) for name in shrink}
        self._drop = [heads.index(name) for name in drop]
        self._right = {heads.index(name) for name in right}
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
        rows = [[Cell(head, "bold") for head in self._heads], *self._rows]
        widths = [max(width(row[i].text) for row in rows) for i in range(len(self._heads))]
        shown = list(range(len(self._heads)))
        if room is None:
            return [indent + self._row(row, shown, widths, paint)[0] for row in rows]
        room -= len(indent)
        shown = self._fit(widths, room)
        left = room - _taken(widths, shown) - len(_GAP)
        if left >= min(widths[-1], _ROOM):
            lines = [line for row in rows for line in self._row(row, shown, widths, paint, left)]
        else:
            # Too narrow: what belongs into the last column stands below its row, without a head.
            lines = [self._row([*rows[0][:-1], Cell("")], shown, widths, paint)[0]]
            for row in self._rows:
                lines += self._row([*row[:-1], Cell("")], shown, widths, paint)
                lines += _below(row[-1], room, paint)
        return [indent + line for line in lines]

    def _fit(self, widths: list[int], room: int) -> list[int]:
        """Leave columns out and make others narrower until they fit; give those that stay."""
        silent = [i for i in self._drop if all(row[i].text in ("", NOTHING) for row in self._rows)]
        shown = [i for i in range(len(widths)) if i not in silent]
        self._narrow(widths, shown, room, _COMFORTABLE)
        for gone in self._drop:
            if _taken(widths, shown) <= room:
                break
            shown = [i for i in shown if i != gone]
        self._narrow(widths, shown, room, _LEAST)
        return shown

    def _narrow(self, widths: list[int], shown: list[int], room: int, least: int) -> None:
        """Make columns narrower, the widest first, as far as that is needed."""
        while _taken(widths, shown) > room:
            widest = max(self._shrink & {*shown}, key=lambda i: widths[i], default=None)
            if widest is None or widths[widest] <= least:
                return
            widths[widest] -= 1

    def _row(
        self,
        row: list[Cell],
        shown: list[int],
        widths: list[int],
        paint: Paint,
        left: int | None = None,
    ) -> list[str]:
        """Give the lines of a row whose last cell may take so many columns."""
        line = ""
        for i in shown[:-1]:
            text = cut(row[i].text, widths[i])
            space = " " * (widths[i] - width(text))
            painted = paint(text, row[i].colour)
            line += (space + painted if i in self._right else painted + space) + _GAP
        last = row[-1]
        if not last.text:
            return [line.rstrip()]
        first, *rest = [last.text] if left is None else wrap(last.text, left)
        if len(self._heads) - 1 in self._right:
            first = " " * (widths[-1] - width(first)) + first
        used = _taken(widths, shown) + len(_GAP)
        return [
            line + paint(first, last.colour),
            *(" " * used + paint(text, last.colour) for text in rest),
        ]


def _taken(widths: list[int], shown: list[int]) -> int:
    """Give how many columns of the terminal all that is shown before the last one takes."""
    return sum(widths[i] for i in shown[:-1]) + len(_GAP) * (len(shown) - 2)


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
    try:
        here = at.astimezone(now.tzinfo)
    except OverflowError:
        # Of the year 1 or 9999: its zone is no matter.
        here = at
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


def size(count: float) -> str:
    """Give a number of bytes in the unit that matters, as clouds charge for them (powers of 2)."""
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    for unit in units[:-1]:
        # What would be rounded to the next unit is written in that.
        if abs(count) < 999.5:  # noqa: PLR2004 - three digits
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:,.3g} {units[-1]}" if count < 1000 else f"{count:,.0f} {units[-1]}"  # noqa: PLR2004


def count(number: int, noun: str) -> str:
    """Give a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def joined(words: Sequence[str], limit: int = 8) -> str:
    """Give words with commas between, and how many more there are."""
    shown = [clean(word) for word in words[:limit]]
    more = len(words) - len(shown)
    return ", ".join([*shown, f"and {more} more"] if more else shown)
