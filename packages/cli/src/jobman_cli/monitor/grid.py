"""A part of the view on the terminal: only what has changed is drawn again."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from jobman_cli.monitor.fit import fit, line
from jobman_cli.monitor.parts import Part
from jobman_cli.output import Cell

_PLAIN: Final = Style()
_MONOCHROME: Final = frozenset({"bold", "dim"})


def style_of(colour: str, *, colours: bool = True) -> Style:
    """Give how one of our colours looks: the terminal's own one of that name."""
    if not colour or (not colours and colour not in _MONOCHROME):
        return _PLAIN
    return Style.parse(colour)


class Grid(Widget, can_focus=True):
    """A table whose rows are cells of the core's views, with a cursor."""

    DEFAULT_CSS = "Grid { height: 0; width: 100%; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)"),
        Binding("down,j", "move(1)"),
        Binding("pageup,ctrl+b", "page(-1)"),
        Binding("pagedown,ctrl+f", "page(1)"),
        Binding("home,g", "move(-1000000)"),
        Binding("end,G", "move(1000000)"),
    ]

    class Moved(Message):
        """The cursor is somewhere else."""

    def __init__(self, part: Part[Any], *, colours: bool) -> None:
        """Show a part, empty at first."""
        super().__init__(id=part.name)
        self.part = part
        self._colours = colours
        self._items: Sequence[Any] = ()
        self._now: datetime | None = None
        self._cursor = self._top = 0
        #: The row that the cursor stands on, wherever it goes.
        self._key: str | None = None
        self._order = ("", False)
        #: What every line showed when it was last drawn.
        self._drawn: list[list[Cell]] = []
        self._places = fit(part.columns, (), 80)

    @property
    def chosen(self) -> Any:  # noqa: ANN401 - of whatever the part has
        """The item that the cursor stands on; None: there is none."""
        return self._items[self._cursor] if self._cursor < len(self._items) else None

    @property
    def want(self) -> int:
        """How many lines it could fill; none where it has no rows."""
        return len(self._items) + 1 if self._items else 0

    def show(self, items: Sequence[Any], order: tuple[str, bool], now: datetime) -> None:
        """Show other rows."""
        self._items, self._order, self._now = items, order, now
        keys = [self.part.key(item) for item in items]
        # Nobody who has not moved it wants to miss what comes in above it.
        if self._key in keys and (self._cursor or self.has_focus):
            self._cursor = keys.index(self._key)
        self._cursor = max(0, min(self._cursor, len(items) - 1))
        self._key = keys[self._cursor] if keys else None
        self._lay_out()

    def tick(self, now: datetime) -> None:
        """Show the same rows at a later moment."""
        self._now = now
        self._draw()

    def on_resize(self) -> None:
        """Fit the columns into another width."""
        self._lay_out()

    def on_focus(self) -> None:
        """Show that the keys go here."""
        self._draw()

    def on_blur(self) -> None:
        """Show that they do not."""
        self._draw()

    def action_move(self, by: int) -> None:
        """Put the cursor so many rows further."""
        if self._items:
            self._cursor = max(0, min(self._cursor + by, len(self._items) - 1))
            self._key = self.part.key(self._items[self._cursor])
            self._draw()
            self.post_message(self.Moved())

    def action_page(self, by: int) -> None:
        """Put the cursor a page further."""
        self.action_move(by * max(self._room - 1, 1))

    @property
    def _room(self) -> int:
        """How many rows are seen."""
        return self.size.height - 1

    def _lay_out(self) -> None:
        now = self._now
        if now is not None and self.size.width:
            rows = [self.part.cells(item, now) for item in self._items]
            self._places = fit(self.part.columns, rows, self.size.width)
            self._draw()

    def _draw(self) -> None:
        """Have drawn what is not as it was."""
        before, self._drawn = self._drawn, self._lines()
        regions: dict[tuple[int, int], Region] = {}
        for y, cells in enumerate(self._drawn):
            for x, width in _changed(before[y] if y < len(before) else [], cells, self.size.width):
                # A column that ticks is one region: one a row would cost as much each.
                region, above = Region(x, y, width, 1), regions.get((x, width))
                regions[x, width] = region if above is None else above.union(region)
        if regions:
            self.refresh(*regions.values())

    def _lines(self) -> list[list[Cell]]:
        room = self._room
        if self._now is None or room < 0:
            return []
        self._top = max(min(self._top, self._cursor, len(self._items) - room), 0)
        self._top = max(self._top, self._cursor - room + 1) if room else self._top
        found = [self._head()]
        for y in range(room):
            index = self._top + y
            if index >= len(self._items):
                found.append([])
                continue
            cells = line(self.part.cells(self._items[index], self._now), self._places)
            if index == self._cursor and self.has_focus:
                text = "".join(cell.text for cell in cells)
                cells = [Cell(text.ljust(self.size.width), "reverse")]
            found.append(cells)
        return found

    def _head(self) -> list[Cell]:
        """Give the heads, with the order, and at the right which rows are seen."""
        order, turned = self._order
        mark = "↓" if turned else "↑"
        heads = [
            Cell(column.head + (mark if column.head == order else ""))
            for column in self.part.columns
        ]
        text = "".join(cell.text for cell in line(heads, self._places))
        last = min(self._top + self._room, len(self._items))
        seen = f" {self._top + 1}-{last} of {len(self._items)}" if self._room > 0 else ""
        if len(self._items) <= self._room:
            seen = ""
        width = self.size.width
        text = text[: width - len(seen)].ljust(width - len(seen)) + seen
        return [Cell(text, "bold reverse" if self.has_focus else "bold underline")]

    def render_line(self, y: int) -> Strip:
        """Give a line to Textual."""
        cells = self._drawn[y] if y < len(self._drawn) else []
        segments = [Segment(cell.text, self._style(cell.colour)) for cell in cells]
        return Strip(segments).adjust_cell_length(self.size.width)

    def _style(self, colour: str) -> Style:
        if "reverse" in colour or "underline" in colour:
            return Style.parse(colour)
        return style_of(colour, colours=self._colours)


def _changed(old: Sequence[Cell], new: Sequence[Cell], width: int) -> Iterator[tuple[int, int]]:
    """Give where a line is another: columns, and how many from there on."""
    if old == new:
        return
    if _widths(old) != _widths(new):
        yield 0, width
        return
    x = 0
    for before, after in zip(old, new, strict=True):
        size = cell_len(after.text)
        if before != after:
            yield x, size if after is not new[-1] else width - x
        x += size


def _widths(cells: Sequence[Cell]) -> list[int]:
    """Give where the cells of a line begin; only the last one may be of any width."""
    return [cell_len(cell.text) for cell in cells[:-1]] + [0] * bool(cells)
