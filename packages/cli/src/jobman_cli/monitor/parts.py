"""The parts of the live view: which rows an overview has, and which cells a row: pure."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import attrs

from jobman_cli import durations, output
from jobman_cli.monitor.fit import Column
from jobman_cli.output import Cell

if TYPE_CHECKING:
    from jobman_core.models.overview import Overview

_T = TypeVar("_T")
#: Seconds after which a duration is not counted by the second any more.
_CALM: Final = 600.0
_HOUR: Final = 3600.0


@attrs.frozen
class Scope:
    """Which rows of an overview are meant."""

    #: Whose; empty: everybody's.
    user: str = ""
    #: Full ids of jobs; empty: all.
    jobs: Collection[str] = ()
    #: Words that a row must have, all of them, in any case.
    words: tuple[str, ...] = ()
    #: The queues whose tasks are shown below them, by path.
    open: Collection[str] = ()

    def has(self, look: "Overview") -> "Collection[str] | None":
        """Give the ids of the jobs that are meant; None: all that there are."""
        if not self.user and not self.jobs:
            return None
        return {
            view.id
            for view in look.jobs
            if self.user in ("", view.user) and (not self.jobs or view.id in self.jobs)
        }


class Part(ABC, Generic[_T]):
    """One part of the view: a table."""

    name: ClassVar[str]
    columns: ClassVar[Sequence[Column]]
    #: How much of the terminal it gets beside others.
    weight: ClassVar[int] = 1
    #: So many rows are enough where others want the lines.
    enough: ClassVar[int] = 1_000

    @property
    def orders(self) -> Mapping[str, Callable[[_T], Any]]:
        """The ways to sort it, by the heads of columns; the first is the usual one."""
        return {}

    @abstractmethod
    def items(self, look: "Overview", scope: Scope) -> Sequence[_T]:
        """Give what has a row each."""

    @abstractmethod
    def key(self, item: _T) -> str:
        """Give what names a row for as long as it is there."""

    @abstractmethod
    def cells(self, item: _T, now: datetime) -> tuple[Cell, ...]:
        """Give what a row shows at a moment, a cell for each column."""

    def arrange(
        self,
        look: "Overview",
        scope: Scope,
        order: str,
        now: datetime,
        *,
        turned: bool = False,
    ) -> list[_T]:
        """Give the rows that are meant, sorted."""
        items = [item for item in self.items(look, scope) if self._fits(item, scope.words, now)]
        by = self.orders.get(order)
        return sorted(items, key=by, reverse=turned) if by else [*items][:: -1 if turned else 1]

    def _fits(self, item: _T, words: Sequence[str], now: datetime) -> bool:
        if not words:
            return True
        text = " ".join(cell.text for cell in self.cells(item, now)).casefold()
        return all(word in text for word in words)


def elapsed(since: datetime | None, now: datetime) -> str:
    """Give how long ago something was; what is older than some minutes goes on by the minute."""
    return lasted((now - since).total_seconds()) if since else ""


def lasted(seconds: float) -> str:
    """Give a duration, calmly: a long one without its seconds."""
    if _CALM <= seconds < _HOUR:
        return f"{int(seconds // 60)}m"
    return output.span(seconds)


def when_and_why(reason: str, next_try: datetime | None, now: datetime) -> str:
    """Give how long it is until the next try, then why: where it is narrow the end is cut off."""
    return ": ".join(word for word in (durations.countdown(next_try, now), reason) if word)


#: The statuses that people look for first.
_URGENT: Final = (
    "FAILED", "PREFIX_FAIL", "DEAD", "PREEMPTED", "QUEUEING", "PREPARING",
    "IDLE", "RUNNING", "DONE", "CANCELLED",
)  # fmt: skip


def urgency(status: str) -> int:
    """Give a rank by which what needs somebody comes first."""
    return _URGENT.index(status) if status in _URGENT else len(_URGENT)


def summary(look: "Overview", scope: Scope) -> list[Cell]:
    """Say in one line how many jobs there are by status, and the cores that they hold by zone."""
    meant = scope.has(look)
    views = [view for view in look.jobs if meant is None or view.id in meant]
    counts = Counter(str(view.status) for view in views)
    cores: Counter[str] = Counter()
    for view in views:
        cores[view.zone] += view.cores
    cells = [
        Cell(output.count(len(views), "job"), "bold"),
        *(
            Cell(f"{counts[status]} {status}", output.STATUS_COLOURS.get(status, ""))
            for status in sorted(counts, key=urgency)
        ),
    ]
    held = [f"{output.clean(zone)} {number}" for zone, number in sorted(cores.items()) if number]
    return [*cells, Cell(f"cores: {', '.join(held)}")] if held else cells
