"""Queues: a tasks file and what the store knows of it."""

from collections.abc import Mapping

import attrs

from jobman_core.models.attempt import Attempt
from jobman_core.models.notice import NotifyRule
from jobman_core.models.task import Task, TaskStatus


@attrs.frozen
class Queue:
    """A queue as the store has it."""

    #: The tasks file, absolute: the queue's name everywhere.
    path: str
    #: Of its logs below ``jobs/tasks``; empty for the first queue of a home.
    folder: str
    #: Of the definitions in force (SHA-256 of the file, hex); empty before the first reading.
    content_hash: str = ""
    #: What is wrong with the file as it stands, while the last good version is in force.
    problem: str = ""
    #: Rises with every change of a task; tells how old the state file is.
    changes: int = 0
    #: Who is told of its tasks; None: as their jobs say.
    notify: NotifyRule | None = None


@attrs.frozen
class Claim:
    """A task taken for one attempt."""

    task: Task
    attempt: Attempt


@attrs.frozen
class Demand:
    """How much a queue has for one kind of slice."""

    accelerator: str
    #: None: any zone.
    zone: str | None
    #: Tasks that a worker could start now.
    ready: int
    #: Tasks that are neither done nor failed, startable or not.
    open: int


@attrs.frozen
class Tally:
    """How a queue stands, at a glance."""

    queue: Queue
    #: Tasks by status; one that no task has is left out.
    counts: Mapping[TaskStatus, int]
    #: Those that people look for first: what runs, what failed for good, what comes next.
    tasks: tuple[Task, ...] = ()
