"""Tasks: the entries of a tasks file, and what became of them."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

import attrs

from jobman_core.models.notice import NotifyRule


@attrs.frozen
class Workers:
    """Which hosts of a slice something runs on: indices, or all of them."""

    indices: tuple[int, ...] | Literal["all"] = "all"

    def pick(self, hosts: int) -> tuple[int, ...]:
        """Give the indices on a slice with so many hosts; those that it has not are left out."""
        if self.indices == "all":
            return tuple(range(hosts))
        return tuple(i for i in self.indices if i < hosts)

    def missing(self, hosts: int) -> tuple[int, ...]:
        """Give the indices that a slice with so many hosts does not have."""
        return () if self.indices == "all" else tuple(i for i in self.indices if i >= hosts)


@attrs.frozen
class Repo:
    """Where a task's code comes from."""

    url: str
    #: A branch, a tag or a commit.
    branch: str


@attrs.frozen
class Code:
    """A local folder that is shipped to the hosts."""

    #: Absolute.
    path: str
    #: Where it is put, below the home folder of a host.
    workdir: str
    #: Patterns as in a ``.gitignore``, on top of those that are there.
    exclude: tuple[str, ...] = ()
    #: What was packed of it (the archive's SHA-256, hex); None: that is still to be done.
    snapshot: str | None = None


@attrs.frozen
class TaskSpec:
    """One entry of a tasks file, with what it inherits filled in."""

    id: str
    #: Run by bash as the content of a file.
    run: str
    accelerator: str
    #: None: any zone.
    zone: str | None = None
    repo: Repo | None = None
    #: Below the home folder of the host; None where the task has no code of its own.
    workdir: str | None = None
    #: The name of an environment; None is the job's own.
    env: str | None = None
    max_jobs: int = 1
    #: Attempts in all; 0 and 1 both mean once.
    max_retries: int = 3
    depends_on: tuple[str, ...] = ()
    workers: Workers = Workers((0,))
    hide: bool = False
    #: Beside a ``repo`` there is none.
    code: Code | None = None


@attrs.frozen
class QueueDefinition:
    """A tasks file, read: what the queue should hold, in this order."""

    tasks: tuple[TaskSpec, ...]
    #: Of the file's bytes (SHA-256, hex).
    content_hash: str
    #: Who is told of its tasks; None: as their jobs say.
    notify: NotifyRule | None = None


class TaskStatus(StrEnum):
    """What a task is; of several that fit, the first in this order holds."""

    DONE = "DONE"
    FAILED = "FAILED"
    RUNNING = "RUNNING"
    BLOCKED = "BLOCKED"
    WAITING = "WAITING"
    RETRY = "RETRY"
    PENDING = "PENDING"


@attrs.frozen
class Counters:
    """What has become of a task: facts, from which its status is computed."""

    #: It succeeded, or someone said that it is done.
    done: bool = False
    #: It used up its attempts.
    failed: bool = False
    #: Failures since the last success or reset; interruptions do not count.
    fail_count: int = 0
    #: Attempts ever, of all kinds; numbers the logs.
    run_count: int = 0
    #: Attempts that have not ended.
    running: int = 0
    #: Picked before all others, until it is claimed.
    priority: bool = False


@attrs.frozen
class Running:
    """An attempt of a task that has not ended."""

    job: str
    started: datetime
    token: str


@attrs.frozen
class Task:
    """A task as the store has it."""

    queue: str
    spec: TaskSpec
    counters: Counters
    status: TaskStatus
    #: Why it waits, or what it is; for people.
    reason: str
    #: Who runs it.
    running: tuple[Running, ...] = ()
    #: Its entry was taken out of the file while it ran.
    removed: bool = False
    #: The same over all attempts, new after a reset: ``JOBMAN_RUN_ID``.
    run_id: str = ""
    #: When what it waits for is tried again; None: it does not wait for a moment.
    next_try: datetime | None = None

    @property
    def id(self) -> str:
        """Its name in the tasks file."""
        return self.spec.id
