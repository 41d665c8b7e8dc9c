"""The jobs of the live view."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jobman_cli import output
from jobman_cli.monitor.fit import Column
from jobman_cli.monitor.parts import Part, Scope, elapsed, lasted, urgency, when_and_why
from jobman_cli.output import Cell
from jobman_core.models.listing import JobView

if TYPE_CHECKING:
    from jobman_core.models.overview import Overview

_ORDERS: Final[Mapping[str, Callable[[JobView], Any]]] = {
    "JOB": lambda view: view.id,
    "STATUS": lambda view: (urgency(view.status), view.id),
    "FOR": lambda view: (view.since or view.submitted, view.id),
    "TYPE": lambda view: (view.accelerator, view.id),
    "NAME": lambda view: (view.name, view.id),
    "USER": lambda view: (view.user, view.id),
    "ZONE": lambda view: (view.zone, view.id),
    "LOST": lambda view: (-view.recoveries, view.id),
}


class Jobs(Part[JobView]):
    """Every job, what it does, and since when."""

    name = "jobs"
    weight = 4
    columns = (
        Column("JOB"),
        Column("STATUS"),
        Column("FOR", least=7),
        Column("TYPE", drop=2),
        Column("NAME", most=24, drop=1),
        Column("USER", most=12, drop=3),
        Column("ZONE", most=20, drop=5),
        Column("LOST", drop=4),
        Column("TASKS", most=11, drop=6),
        Column("RAN", least=7, drop=7),
        Column("WHAT"),
    )

    @property
    def orders(self) -> Mapping[str, Callable[[JobView], Any]]:
        """The ways to sort it."""
        return _ORDERS

    def items(self, look: "Overview", scope: Scope) -> Sequence[JobView]:
        """Give the jobs that are meant."""
        meant = scope.has(look)
        return [view for view in look.jobs if meant is None or view.id in meant]

    def key(self, item: JobView) -> str:
        """Give its id."""
        return item.id

    def cells(self, item: JobView, now: datetime) -> tuple[Cell, ...]:
        """Give what is to be known of a job."""
        return (
            Cell(item.id),
            output.status_cell(str(item.status)),
            Cell(elapsed(item.since or item.submitted, now)),
            Cell(item.accelerator),
            Cell(item.name),
            Cell(item.user),
            Cell(item.zone),
            Cell(str(item.recoveries) if item.recoveries else ""),
            Cell("{}/{}".format(*item.progress) if item.progress else ""),
            Cell(_ran(item, now)),
            Cell(what(item, now)),
        )


def _ran(view: JobView, now: datetime) -> str:
    """Give how long its attempts have run, all together."""
    seconds = view.ran + ((now - view.began).total_seconds() if view.began else 0.0)
    return lasted(seconds) if seconds else ""


def what(view: JobView, now: datetime) -> str:
    """Say what a job runs, or why it does not and when that is tried again."""
    running = {None: "", "command": "its command"}.get(view.running, f"task {view.running}")
    return when_and_why(view.reason or running, view.next_try, now)
