"""All that a home does, at a glance."""

from collections.abc import Mapping

import attrs

from jobman_core.models.event import Event
from jobman_core.models.listing import JobView
from jobman_core.models.queue import Tally
from jobman_core.models.slice import Slice
from jobman_core.models.view import QueueWorkers


@attrs.frozen
class QueueLook:
    """A queue at a glance, with its workers by accelerator."""

    tally: Tally
    workers: Mapping[str, QueueWorkers] = attrs.field(factory=dict)


@attrs.frozen
class Overview:
    """All that a home does, at a glance."""

    #: Oldest first; none that were deleted.
    jobs: tuple[JobView, ...] = ()
    #: Those that may still exist at their clouds, in the order of their jobs.
    slices: tuple[Slice, ...] = ()
    queues: tuple[QueueLook, ...] = ()
    #: The newest, oldest first.
    events: tuple[Event, ...] = ()
