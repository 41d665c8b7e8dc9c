"""One line of ``list``: apart from the other views, since it is what people ask for most."""

from datetime import datetime

import attrs

from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.status import JobStatus


@attrs.frozen
class JobView:
    """One line of ``list``."""

    id: str
    user: str
    name: str
    accelerator: str
    zone: str
    ip: str | None
    status: JobStatus
    reason: str
    #: A task's id, ``command`` or None.
    running: str | None
    submitted: datetime
    recoveries: int
    #: TensorCores that it holds now; 0 without a slice that is ready.
    cores: int
    desired: Desired
    controller: Liveness
    #: When what runs now was started on its hosts; None: nothing runs, or it is about to start.
    began: datetime | None = None
    #: Since when it is in this status, as well as the facts tell; None: they do not.
    since: datetime | None = None
    #: When its story ended: it is done, failed, cancelled or deleted; None: it goes on.
    ended: datetime | None = None
    #: Seconds that its attempts ran which have ended, each from its start on the hosts to its end;
    #: what runs now has run since ``began`` besides.
    ran: float = 0.0
    #: Of a queue worker: how many tasks of its queue are done, and how many there are.
    progress: tuple[int, int] | None = None
    #: When what it waits for is tried again; None: it does not wait for a moment.
    next_try: datetime | None = None
