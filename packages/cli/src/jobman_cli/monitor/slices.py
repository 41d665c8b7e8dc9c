"""The slices of the live view."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jobman_cli.monitor.fit import Column
from jobman_cli.monitor.parts import Part, Scope, elapsed
from jobman_cli.output import Cell
from jobman_core.models.slice import Slice, SlicePhase

if TYPE_CHECKING:
    from jobman_core.models.overview import Overview

_COLOURS: Final[Mapping[SlicePhase, str]] = {
    SlicePhase.PENDING: "yellow",
    SlicePhase.READY: "green",
    SlicePhase.LOSING: "magenta",
    SlicePhase.LOST: "magenta",
    SlicePhase.DELETING: "dim",
}

_ORDERS: Final[Mapping[str, Callable[[Slice], Any]]] = {
    "JOB": lambda found: (found.job, found.generation),
    "SLICE": lambda found: found.identity.name,
    "STATE": lambda found: (found.state, found.job),
    "FOR": lambda found: (_since(found), found.job),
    "TYPE": lambda found: (found.request.accelerator, found.job),
    "ZONE": lambda found: (found.request.zone, found.job),
}


class Slices(Part[Slice]):
    """Every slice that may still exist at its cloud."""

    name = "slices"
    weight = 2
    columns = (
        Column("SLICE", most=28),
        Column("STATE", most=21),
        Column("FOR", least=7),
        Column("TYPE", drop=1),
        Column("ZONE", most=20, drop=3),
        Column("PRICING", drop=4),
        Column("HOSTS", drop=5),
        Column("JOB", drop=2),
        Column("GEN", drop=6),
        Column("NOTE"),
    )

    @property
    def orders(self) -> Mapping[str, Callable[[Slice], Any]]:
        """The ways to sort it."""
        return _ORDERS

    def items(self, look: "Overview", scope: Scope) -> Sequence[Slice]:
        """Give the slices of the jobs that are meant."""
        meant = scope.has(look)
        return [found for found in look.slices if meant is None or found.job in meant]

    def key(self, item: Slice) -> str:
        """Give its job and generation."""
        return f"{item.job} {item.generation}"

    def cells(self, item: Slice, now: datetime) -> tuple[Cell, ...]:
        """Give what is to be known of a slice."""
        return (
            Cell(item.identity.name),
            Cell(item.state, _COLOURS[item.phase]),
            Cell(elapsed(_since(item), now)),
            Cell(item.request.accelerator),
            Cell(item.request.zone),
            Cell(item.request.pricing),
            Cell(str(len(item.hosts)) if item.hosts else ""),
            Cell(item.job),
            Cell(str(item.generation)),
            Cell("; ".join(_notes(item))),
        )


def _since(found: Slice) -> datetime:
    return found.lost_at or found.ready_at or found.requested_at


def _notes(found: Slice) -> list[str]:
    notes = ["costs"] if found.costs else []
    if found.withdrawn:
        notes.append("is being given back")
    return [*notes, found.detail] if found.detail else notes
