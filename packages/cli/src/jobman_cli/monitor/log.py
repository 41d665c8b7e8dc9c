"""What happened last, in the live view."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from jobman_cli import output
from jobman_cli.monitor.fit import Column
from jobman_cli.monitor.parts import Part, Scope
from jobman_cli.output import Cell
from jobman_core.models.event import Event

if TYPE_CHECKING:
    from jobman_core.models.overview import Overview


class Log(Part[Event]):
    """What happened in the home, the newest first."""

    name = "log"
    enough = 6
    columns = (
        Column("TIME", most=16),
        Column("JOB", least=6),
        Column("EVENT", most=20, drop=1),
        Column("TEXT"),
    )

    def items(self, look: "Overview", scope: Scope) -> Sequence[Event]:
        """Give what happened to the jobs that are meant."""
        meant = scope.has(look)
        return [event for event in reversed(look.events) if meant is None or event.job in meant]

    def key(self, item: Event) -> str:
        """Give its number."""
        return str(item.id)

    def cells(self, item: Event, now: datetime) -> tuple[Cell, ...]:
        """Give what is to be known of an event."""
        return (
            Cell(output.moment(item.at, now)),
            Cell(item.job or ""),
            Cell(item.kind),
            Cell(item.text),
        )
