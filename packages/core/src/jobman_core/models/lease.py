"""Controllers and their leases: who may act for a job."""

from enum import StrEnum

import attrs


@attrs.frozen
class Controller:
    """A process that drives jobs."""

    #: Unique for ever.
    id: str
    machine: str
    boot_id: str
    pid: int
    #: Field 22 of ``/proc/<pid>/stat``: with pid and boot id it names one process for ever.
    pid_start: int
    #: When it last said that it lives: this machine's monotonic clock, in seconds.
    beat: float


@attrs.frozen
class Lease:
    """The right to act for one job, until someone takes it with a higher epoch."""

    job: str
    controller: str
    #: Rises with every taking, per job, and never falls.
    epoch: int


class Liveness(StrEnum):
    """What can be said of a lease's controller."""

    #: Nobody has the lease.
    NONE = "none"
    ALIVE = "alive"
    #: Its process is stopped, or has not beaten for a whole lease.
    HUNG = "hung"
    #: Its process is gone, or the machine was started again.
    DEAD = "dead"
    #: It is another machine's: only its beat can tell.
    ELSEWHERE = "elsewhere"
