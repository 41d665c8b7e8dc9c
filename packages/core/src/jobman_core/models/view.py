"""What front ends show: frozen views, computed from the store when someone looks."""

from collections.abc import Mapping
from pathlib import Path

import attrs

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
    #: What would run on the hosts: title, hosts, script.
    steps: tuple[tuple[str, str, str], ...]
    notes: tuple[str, ...] = ()


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
