"""What a first job file is to say."""

from typing import Final

import attrs

from jobman_core.models.accelerator import Accelerator

#: Zones where Google has chips of a family.
_ZONES: Final = {
    "v2": "us-central1-b",
    "v3": "europe-west4-a",
    "v4": "us-central2-b",
    "v5litepod": "us-central1-a",
    "v5p": "us-central1-a",
    "v6e": "us-central1-b",
}
#: The cloud whose hosts are folders of this machine.
LOCAL: Final = "local"
#: Programs that prove that a slice works, each on its hosts.
GREETING: Final = 'echo "hello from host $JOBMAN_WORKER_ID of $JOBMAN_NUM_WORKERS"'


def usual_accelerator(cloud: str) -> str:
    """Give a small slice to begin with."""
    return "v4-8" if cloud == LOCAL else "v6e-8"


def usual_zone(cloud: str, accelerator: str) -> str:
    """Give a zone to begin with.

    Raises:
        ValueError: there is no such accelerator.
    """
    return "local-a" if cloud == LOCAL else _ZONES[Accelerator.parse(accelerator).family]


@attrs.frozen
class Sample:
    """A job file, and the tasks file of one that takes its work from a queue."""

    name: str = "experiment"
    cloud: str = LOCAL
    accelerator: str = "v4-8"
    zone: str = "local-a"
    spot: bool = False
    #: What the job runs; None: tasks from a queue.
    command: str | None = GREETING
    #: ``venv``, ``conda`` or ``docker``.
    environment: str | None = None
    bucket: str | None = None
