"""What front ends show: frozen views, computed from the store when someone looks."""

from collections.abc import Mapping
from pathlib import Path

import attrs

from jobman_core.errors import Fault
from jobman_core.models.attempt import Attempt
from jobman_core.models.event import Event
from jobman_core.models.listing import JobView
from jobman_core.models.slice import Slice
from jobman_core.models.status import JobStatus
from jobman_core.models.task import Task


@attrs.frozen
class HostView:
    """One host of a job's slice."""

    index: int
    ip: str | None
    #: None: nobody has looked.
    reachable: bool | None = None


@attrs.frozen
class JobDetail:
    """All about one job."""

    job: JobView
    slice: Slice | None
    hosts: tuple[HostView, ...]
    #: Oldest first.
    attempts: tuple[Attempt, ...]
    #: Oldest first.
    events: tuple[Event, ...]
    #: Settings that are safe to show: label and value.
    settings: Mapping[str, str]
    folder: Path


@attrs.frozen
class Checked:
    """What a look at a job or tasks file showed."""

    path: Path
    faults: tuple[Fault, ...]
    #: What its owner should know, a line each; nothing is wrong.
    notes: tuple[str, ...]


@attrs.frozen
class QueueWorkers:
    """The queue workers of one accelerator, by what they do: job ids."""

    working: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    #: Waiting for a slice, or preparing it.
    waiting: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()


@attrs.frozen
class QueueView:
    """A queue, whole."""

    path: Path
    tasks: tuple[Task, ...]
    workers: Mapping[str, QueueWorkers]
    #: What is wrong with the tasks file while its last good version is in force; empty: nothing.
    problem: str = ""


@attrs.frozen
class TaskDetail:
    """One task, with its history and where its logs are."""

    task: Task
    attempts: tuple[Attempt, ...]
    logs: tuple[Path, ...]


@attrs.frozen
class Done:
    """What became of one job in a command on several."""

    id: str
    status: JobStatus | None
    #: What was done, for people, when it is not plain from the status.
    note: str = ""
    error: Exception | None = None
    #: What the user should know besides, a line each.
    notes: tuple[str, ...] = ()


@attrs.frozen
class Created:
    """A job that was created."""

    job: JobView
    #: What the file's author should know, a line each.
    notes: tuple[str, ...] = ()


@attrs.frozen
class Plan:
    """What ``create --dry-run`` shows."""

    name: str
    #: What would be asked of the cloud, a line each.
    cloud: tuple[str, ...]
    #: What would run on the hosts: title, hosts, script; without hosts nothing runs.
    steps: tuple[tuple[str, str, str], ...]
    notes: tuple[str, ...] = ()


@attrs.frozen
class Finding:
    """Something that is wrong on a host."""

    #: Its index.
    host: int
    #: The check's: ``disk``, ``mount``; ``host`` where the host itself cannot be asked.
    name: str
    #: What is wrong, in one line.
    problem: str
    #: What its remedy does; where it is not mendable, what people can do, if anything.
    remedy: str = ""
    #: It has a remedy that jobman can run.
    mendable: bool = False
    #: No program can do its work where it is so.
    fatal: bool = False
    #: It is not so any more.
    fixed: bool = False
    #: It was to be mended, and is not.
    why: str = ""


@attrs.frozen
class Solved:
    """What was asked on a job's hosts, and what was found."""

    hosts: int
    #: The names of the checks that were asked on at least one host.
    checks: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    #: What is done on the hosts just now, which may not have brought all yet; empty: nothing.
    preparing: str = ""

    @property
    def well(self) -> bool:
        """Tell whether nothing is wrong, or all of it was mended."""
        return all(finding.fixed for finding in self.findings)


@attrs.frozen
class LogChunk:
    """Some output of one host in one attempt."""

    #: The task's id; None for a job's command or the controller's own log.
    task: str | None
    #: The attempt's number; 0 for the controller's own log.
    number: int
    worker: int
    data: bytes = attrs.field(repr=False)
    #: The first chunk of this host in this attempt.
    first: bool = False
    #: Something to know beside the output; such a chunk has no data and belongs to no host.
    notice: str = ""
    #: The notice is about something to mend.
    urgent: bool = False
    #: How many hosts may speak here; of one alone, which was asked for, 1.
    hosts: int = 1
