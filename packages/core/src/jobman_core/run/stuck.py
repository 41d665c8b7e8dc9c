"""A job that waits long for a slice: people are told, once a wait."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from jobman_core.errors import StoreError
from jobman_core.interfaces.store import Note
from jobman_core.models.event import Event
from jobman_core.run.context import JobContext

#: With each of these a job begins to wait for a slice, if it has none.
_BEGIN: Final = ("job.started", "slice.preempted", "slice.vanished", "slice.withdrawn")
_TOLD: Final = "job.stuck"
_HOUR: Final = 3600


def waiting_since(events: Sequence[Event]) -> datetime | None:
    """Tell from a job's story since when it waits; None: people were told of this wait."""
    for event in reversed(events):
        if event.kind == _TOLD:
            return None
        if event.kind in _BEGIN:
            return event.at
    return events[0].at if events else None


class Wait:
    """One job's wait for a slice."""

    def __init__(self, ctx: JobContext) -> None:
        """Keep whose it is; it begins with :meth:`begin`."""
        self._ctx = ctx
        self._begun = False
        #: Since when, while people are not told of it.
        self._since: datetime | None = None

    def begin(self) -> None:
        """Begin, or go on with a wait that another controller began."""
        self._begun = False

    async def tell(self) -> None:
        """Let people know if it takes long."""
        ctx = self._ctx
        try:
            if not self._begun:
                events = await ctx.store.events(job=ctx.job.id, limit=1_000_000)
                self._since, self._begun = waiting_since(events), True
            if self._since is None:
                return
            hours = (ctx.clock.now() - self._since).total_seconds() / _HOUR
            if hours * _HOUR >= ctx.stuck_after:
                why = (await ctx.record()).job.step_reason
                text = f"has waited {hours:.1f} h for a slice: {why}"
                await ctx.store.add_event(Note(_TOLD, text), job=ctx.job.id)
                self._since = None
        except StoreError as error:
            # It is told later: whoever waits needs no database for that.
            ctx.journal.retrying(f"nobody can be told that it waits: {error}")
