"""How rows are laid out in so many columns: pure."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from jobman_cli import output
from jobman_cli.output import Cell

_GAP: Final = 2
#: The last column is not squeezed into less than this while others can go.
_ROOM: Final = 22
#: A column that may be cut keeps so much.
_LEAST: Final = 8


class Column(NamedTuple):
    """A column of a part."""

    head: str
    #: So wide at most.
    most: int = 16
    #: Where it is narrow those with higher numbers go first; 0: it stays.
    drop: int = 0
    #: So wide at least: what changes with every second must not make others move.
    least: int = 0


class Place(NamedTuple):
    """A column that is shown."""

    #: Its number among the part's columns.
    column: int
    width: int


def fit(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], room: int | None) -> list[Place]:
    """Choose the columns that fit, and their widths; the last one takes what is left.

    A column in which no row has anything is left out.

    Args:
        columns: all there are.
        rows: what is to be shown, a cell for each column.
        room: so many columns has the terminal; None: nothing is cut.
    """
    wants = {
        i: max(len(column.head), column.least, *(_width(row[i]) for row in rows))
        for i, column in enumerate(columns)
        if any(row[i].text for row in rows) or not rows
    }
    if room is None:
        return [Place(i, width) for i, width in wants.items()]
    last = len(columns) - 1
    widths = {
        i: min(width, max(columns[i].most, columns[i].least))
        for i, width in wants.items()
        if i != last
    }
    _drop(columns, widths, room)
    _shrink(widths, room)
    left = room - _taken(widths)
    places = [Place(i, width) for i, width in widths.items()]
    return [*places, Place(last, left)] if left > 0 else places


def _width(cell: Cell) -> int:
    return output.width(output.clean(cell.text))


def _taken(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + _GAP * len(widths)


def _drop(columns: Sequence[Column], widths: dict[int, int], room: int) -> None:
    """Leave out what can be done without, until the last column has its room."""
    while _taken(widths) + _ROOM > room:
        index = max(widths, key=lambda i: columns[i].drop, default=None)
        if index is None or not columns[index].drop:
            return
        del widths[index]


def _shrink(widths: dict[int, int], room: int) -> None:
    """Make the widest columns narrower until the last one has its room."""
    while _taken(widths) + _ROOM > room:
        index = max(widths, key=lambda i: widths[i], default=None)
        if index is None or widths[index] <= _LEAST:
            return
        widths[index] -= 1


def line(cells: Sequence[Cell], places: Sequence[Place]) -> list[Cell]:
    """Give one row as cells that fill their columns, gaps included; the last one is not padded."""
    shown = []
    for column, width in places:
        text = output.cut(output.clean(cells[column].text), width)
        pad = " " * (width - output.width(text) + _GAP)
        shown.append(Cell(text + pad, cells[column].colour))
    if shown:
        shown[-1] = Cell(shown[-1].text.rstrip(), shown[-1].colour)
    return shown


def joined(cells: Sequence[Cell], room: int) -> list[Cell]:
    """Give cells one after the other, cut to so many columns."""
    shown: list[Cell] = []
    for text, colour in cells:
        last = output.cut(output.clean(text), max(room, 1))
        if room <= 0:
            break
        shown.append(Cell(last + " " * _GAP, colour))
        room -= output.width(last) + _GAP
    return shown


def heights(room: int, wants: Sequence[tuple[int, int]]) -> list[int]:
    """Share the lines of a terminal among parts, none of which gets more than it wants.

    Args:
        room: lines there are.
        wants: of each part: the lines that it could fill, and its weight.
    """
    given = [0] * len(wants)
    for _ in range(max(room, 0)):
        hungry = [i for i, (want, _) in enumerate(wants) if given[i] < want]
        if not hungry:
            break
        # Whoever has least for its weight gets the next line.
        given[min(hungry, key=lambda i: (given[i] / wants[i][1], i))] += 1
    return given
