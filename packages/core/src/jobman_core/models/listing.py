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
