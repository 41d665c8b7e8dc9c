"""Every hook of the core. Plugins implement them with ``from jobman_core import hookimpl``.

Registration hooks take nothing and return classes; judgements are asked plugin by plugin and the
first result wins, the core's own answer comes last; events come after the commit, in their order.

Judgements and events are called in threads, each with a limit of ten seconds. What fails, takes
longer, or gives what it may not is logged and passed over; a call that is late is not repeated,
and its plugin is left out of that hook until it is back.
"""

from collections.abc import Sequence

import pluggy

from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.notifier import Notifier
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.session import Session
from jobman_core.interfaces.storage import Storage
from jobman_core.interfaces.store import Store
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Job
from jobman_core.models.outcome import HostExit, Outcome
from jobman_core.models.place import GiveUp, Place, PlaceContext, Wait
from jobman_core.models.status import JobStatus
from jobman_core.models.task import Task, TaskStatus

hookspec = pluggy.HookspecMarker("jobman")


@hookspec
def jobman_clouds() -> Sequence[type[Cloud]]:
    """Give the clouds that this plugin brings."""
    raise NotImplementedError


@hookspec
def jobman_sessions() -> Sequence[type[Session]]:
    """Give the sessions that this plugin brings."""
    raise NotImplementedError


@hookspec
def jobman_environments() -> Sequence[type[Environment]]:
    """Give the environments that this plugin brings."""
    raise NotImplementedError


@hookspec
def jobman_storages() -> Sequence[type[Storage]]:
    """Give the storages that this plugin brings.

    Used now: a section of a job file with its name is checked by its ``Config``, ``create`` asks
    it what is wrong, and it is mounted on every host before anything runs there.
    """
    raise NotImplementedError


@hookspec
def jobman_stores() -> Sequence[type[Store]]:
    """Give the stores that this plugin brings.

    Used now: they are listed. A home is always kept in the core's own store, ``sqlite``.
    """
    raise NotImplementedError


@hookspec
def jobman_notifiers() -> Sequence[type[Notifier]]:
    """Give the notifiers that this plugin brings.

    One that has a section below ``notifiers`` in ``jobman.yaml`` is given what people want to hear
    of; a plugin that wants to hear of every change implements ``jobman_job_changed``.
    """
    raise NotImplementedError


@hookspec
def jobman_problems() -> Sequence[HostProblem]:
    """Give the checks on hosts that this plugin brings, each with its remedy.

    ``jobman solve`` asks all of them, on every host of a job at once; the cheap ones are asked
    before every attempt as well.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def jobman_classify_exit(attempt: Attempt, exits: Sequence[HostExit]) -> Outcome | None:
    """Judge an attempt that ended by itself; exits carry the output's tail.

    A verdict has the plugin as its cause, and cannot turn a non-zero exit into success.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def jobman_classify_running(attempt: Attempt, host: int, tail: str) -> Outcome | None:
    """Judge an attempt that runs, by what it said last: an outcome ends it.

    It has the plugin as its cause, and cannot be success: what runs has not succeeded yet.
    """
    raise NotImplementedError


@hookspec(firstresult=True)
def jobman_place(context: PlaceContext) -> Place | Wait | GiveUp | None:
    """Choose where to ask for a slice next: one of the context's candidates, with its index."""
    raise NotImplementedError


@hookspec
def jobman_job_changed(job: Job, old: JobStatus | None, new: JobStatus) -> None:
    """Hear that a job's status changed."""
    raise NotImplementedError


@hookspec
def jobman_task_changed(task: Task, old: TaskStatus | None, new: TaskStatus) -> None:
    """Hear that a task's status changed."""
    raise NotImplementedError
