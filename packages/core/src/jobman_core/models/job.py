"""Jobs: what one file asks for, and what the store remembers of it."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

import attrs

from jobman_core.models.notice import NotifyRule
from jobman_core.models.slice import SliceRequest
from jobman_core.models.task import Code, Workers


class Loop(StrEnum):
    """What a job does when its work ends or is cut short."""

    #: An interruption ends it.
    NEVER = "false"
    #: Interruptions are recovered without limit, failures up to ``max_restarts``; success ends it.
    RECOVER = "true"
    #: As v3 did: started again after success too.
    ALWAYS = "always"


class OnEnd(StrEnum):
    """What becomes of the slice of a fixed command that is done, or failed for good."""

    KEEP = "keep"
    DELETE = "delete"


@attrs.frozen
class PrefixScript:
    """A script that runs once on each new slice, before anything else."""

    name: str
    run: str
    workers: Workers = Workers((0,))
    required: bool = False


@attrs.frozen
class QueueMode:
    """The job takes tasks from a queue."""

    #: The tasks file, absolute.
    config: str
    #: Seconds without a task after which the slice is given back; None: never.
    idle_timeout: float | None = None


@attrs.frozen
class CommandMode:
    """The job runs one script."""

    script: str
    workers: Workers = Workers("all")


@attrs.frozen
class HoldMode:
    """The job prepares its slice and holds it."""


WorkMode = QueueMode | CommandMode | HoldMode


@attrs.frozen
class JobSpec:
    """What a job file asks for, with every value final. May hold secrets in ``environment``."""

    #: With the suffix that makes it unique.
    name: str
    #: What the cloud's names are made of; with its suffix.
    tpu_name: str
    work: WorkMode
    #: Places to get a slice, the first wanted first.
    candidates: tuple[SliceRequest, ...]
    loop: Loop = Loop.NEVER
    max_restarts: int = 3
    on_end: OnEnd = OnEnd.KEEP
    #: The session backend; None: the default of the settings, else of the machine.
    session: str | None = None
    remote_user: str | None = None
    #: ``venv``, ``conda``, ``docker`` or a plugin's name.
    env_type: str | None = None
    environment: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    pipefail: bool = True
    #: Seconds for which hosts may be silent under a READY node.
    unreachable_timeout: float = 600.0
    prefix: tuple[PrefixScript, ...] = ()
    #: Of its command, and of tasks that say nothing of code.
    code: Code | None = None
    #: Sections that belong to plugins (``gcsfuse``, ``ssh``, ``venv``, …), as plain data.
    sections: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict, repr=False)


class Desired(StrEnum):
    """What its owner wants of a job."""

    RUNNING = "running"
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    DELETED = "deleted"


class Step(StrEnum):
    """Where a controller is; a fact that it writes, of which the status is one part."""

    NONE = "none"
    ACQUIRE = "acquire"
    PREPARE = "prepare"
    EXECUTE = "execute"
    #: The slice is ready and there is nothing to run.
    IDLE = "idle"
    #: Between a failure and the next start.
    BACK_OFF = "back-off"


class EndingKind(StrEnum):
    """How a job's own story ended; a resume or reboot begins another."""

    DONE = "DONE"
    FAILED = "FAILED"
    #: An interruption under ``loop: false``.
    PREEMPTED = "PREEMPTED"
    PREFIX_FAIL = "PREFIX_FAIL"


@attrs.frozen
class Ending:
    """The end of a job, and why."""

    kind: EndingKind
    reason: str


@attrs.frozen
class Job:
    """A job as the store has it: facts only."""

    #: Six digits.
    id: str
    user: str
    name: str
    #: The name in the file, before the suffix.
    base_name: str
    accelerator: str
    zone: str
    cloud: str
    session: str
    #: The tasks file of a queue worker.
    queue: str | None
    #: Of ``config.yaml`` as last read (SHA-256, hex).
    spec_hash: str
    desired: Desired
    created_at: datetime
    step: Step = Step.NONE
    #: Why the step takes time, for people.
    step_reason: str = ""
    #: Since when it is at that step, for whatever reason.
    step_at: datetime | None = None
    #: When what it waits for is tried again; None: it does not wait for a moment.
    next_try: datetime | None = None
    #: Since when that is desired of it.
    desired_at: datetime | None = None
    ending: Ending | None = None
    #: When it came to that ending.
    ended_at: datetime | None = None
    #: Of the newest lease that anybody took.
    epoch: int = 0
    #: Failures of the fixed command since the job was last started by hand.
    restarts: int = 0
    #: Slices lost and replaced, ever.
    recoveries: int = 0
    #: Seconds that its attempts ran which have ended, each from its start to its end.
    ran: float = 0.0
    #: The task that ``requeue`` wants this worker to leave to others.
    avoid_task: str | None = None
    #: Who is told of it; None: as the home's settings say.
    notify: NotifyRule | None = None
    #: The worker number or word that the suffix came from; None where it is the id.
    worker_num: str | None = None
