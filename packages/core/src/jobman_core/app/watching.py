"""What a facade gives to those who keep looking."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from jobman_core.app.opening import Opening
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.job import Desired
from jobman_core.models.listing import JobView
from jobman_core.models.slice import Slice
from jobman_core.views import job_view, workers_of

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.models.overview import Overview, QueueLook
    from jobman_core.models.queue import Tally

#: So many of the newest events are part of an overview, and so many tasks of each queue.
_EVENTS: Final = 100
_TASKS: Final = 50


class WatchingPart(Opening):
    """The whole home at a glance, again and again."""

    async def changes(self) -> int:
        """Give a number that differs whenever anybody has changed anything; cheap to ask.

        That a controller has died, or hangs, changes nothing that is written down.
        """
        hub = await self._if_there()
        return await hub.store.version() if hub else 0

    async def overview(self, known: "Overview | None" = None) -> "Overview":
        """Give all jobs, slices and queues, and what happened last.

        Args:
            known: an earlier one: what has not changed since is not read again.
        """
        from jobman_core.models.overview import Overview

        hub = await self._if_there()
        if hub is None:
            return Overview()
        known = known or Overview()
        records = await hub.store.records()
        await hub.look_around(records)
        views = tuple(job_view(record, hub.liveness(record)) for record in records)
        tallies = await hub.store.tallies((one.tally for one in known.queues), tasks=_TASKS)
        if known.events:
            events = await hub.store.events(after=known.events[-1].id)
        else:
            events = await hub.store.newest_events(None, _EVENTS)
        return Overview(
            jobs=views,
            slices=tuple(slice_ for record in records for slice_ in _held(record)),
            queues=_queues(tallies, records, views),
            events=(*known.events, *events)[-_EVENTS:],
        )


def _held(record: JobRecord) -> Sequence[Slice]:
    """Give the generations of a job's slice that may still exist, oldest first."""
    newest = record.slice
    held = {slice_.generation: slice_ for slice_ in record.withdrawing}
    if newest is not None and newest.held:
        held[newest.generation] = newest
    return [held[generation] for generation in sorted(held)]


def _queues(
    tallies: "Sequence[Tally]", records: Sequence[JobRecord], views: Sequence[JobView]
) -> "tuple[QueueLook, ...]":
    """Add the workers to how queues stand."""
    from jobman_core.models.overview import QueueLook

    workers: dict[str, list[JobView]] = {}
    for record, view in zip(records, views, strict=True):
        if record.job.queue and record.job.desired is not Desired.CANCELLED:
            workers.setdefault(record.job.queue, []).append(view)
    return tuple(
        QueueLook(tally, workers_of(workers.get(tally.queue.path, ()))) for tally in tallies
    )
