"""From facts to what front ends show."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

import attrs

from jobman_core.interfaces.store import JobRecord
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.job import Desired, Job
from jobman_core.models.lease import Liveness
from jobman_core.models.listing import JobView
from jobman_core.models.status import JobFacts, JobStatus, since_of, status_of
from jobman_core.models.task import Task, TaskStatus

if TYPE_CHECKING:
    from jobman_core.models.view import QueueWorkers

_WAITING = (JobStatus.QUEUEING, JobStatus.PREPARING, JobStatus.PREEMPTED)


def status_of_record(record: JobRecord, controller: Liveness) -> tuple[JobStatus, str]:
    """Compute a job's status and the reason for it."""
    return status_of(_facts(record, controller))


def job_view(record: JobRecord, controller: Liveness) -> JobView:
    """Give one line of ``list``."""
    job, slice_ = record.job, record.slice
    facts = _facts(record, controller)
    status, reason = status_of(facts)
    ready = slice_ is not None and slice_.costs
    # What the slice *is*: the file may have been edited since.
    what = slice_.request if slice_ is not None and slice_.held else None
    live = record.attempts[0] if record.attempts else None
    return JobView(
        id=job.id,
        user=job.user,
        name=job.name,
        accelerator=what.accelerator if what else job.accelerator,
        zone=what.zone if what else job.zone,
        ip=slice_.hosts[0].ip if ready and slice_ and slice_.hosts else None,
        status=status,
        reason=reason,
        running=(live.task or "command") if live else None,
        submitted=job.created_at,
        recoveries=job.recoveries,
        cores=Accelerator.parse(what.accelerator).cores if what and ready else 0,
        desired=job.desired,
        controller=controller,
        began=live.started_at if live else None,
        since=since_of(facts, status),
        ended=_ended(job),
        ran=job.ran,
        progress=record.progress,
        next_try=job.next_try if _waits(facts) else None,
    )


def _facts(record: JobRecord, controller: Liveness) -> JobFacts:
    return JobFacts(record.job, record.slice, record.withdrawing, record.attempts, controller)


def _ended(job: Job) -> datetime | None:
    if job.ending is not None:
        return job.ended_at
    return job.desired_at if job.desired in (Desired.CANCELLED, Desired.DELETED) else None


def _waits(facts: JobFacts) -> bool:
    """Tell whether somebody is there who will try again what the job waits for."""
    job = facts.job
    wanted = job.desired is Desired.RUNNING and job.ending is None
    return wanted and facts.controller in (Liveness.ALIVE, Liveness.ELSEWHERE)


def workers_of(views: Iterable[JobView]) -> "Mapping[str, QueueWorkers]":
    """Sort a queue's workers by what they do."""
    from jobman_core.models.view import QueueWorkers

    sorted_: dict[str, dict[str, list[str]]] = {}
    for view in views:
        kind = _kind(view)
        sorted_.setdefault(view.accelerator, {}).setdefault(kind, []).append(view.id)
    return {
        accelerator: QueueWorkers(**{kind: tuple(ids) for kind, ids in kinds.items()})
        for accelerator, kinds in sorted(sorted_.items())
    }


def _kind(view: JobView) -> str:
    driven = view.controller in (Liveness.ALIVE, Liveness.ELSEWHERE)
    if view.status is JobStatus.RUNNING:
        return "working"
    if not driven or view.desired is not Desired.RUNNING:
        return "stopped"
    return "waiting" if view.status in _WAITING else "idle"


#: What is to be known of a task that runs on a job whose controller is not well.
_UNDRIVEN: Final = {
    Liveness.NONE: "has no controller",
    Liveness.DEAD: "has no controller",
    Liveness.HUNG: "has a controller that hangs",
}


def explained(task: Task, views: Iterable[JobView]) -> Task:
    """Let a task say why it is as it is, by what can be seen of its queue's workers."""
    if task.running:
        return attrs.evolve(task, reason=_why_running(task, {view.id: view for view in views}))
    if task.status not in (TaskStatus.PENDING, TaskStatus.RETRY):
        return task
    accelerator = Accelerator.parse(task.spec.accelerator).name
    fits = [
        view
        for view in views
        if view.accelerator == accelerator and task.spec.zone in (None, view.zone)
    ]
    live = [view for view in fits if _kind(view) != "stopped"]
    where = f" in {task.spec.zone}" if task.spec.zone else ""
    next_try = None
    if not fits:
        reason = f"no worker has {accelerator}{where}"
    elif not live:
        reason = f"the workers with {accelerator}{where} are stopped"
    elif all(_kind(view) == "waiting" for view in live):
        first = min(live, key=_by_next_try)
        next_try = first.next_try
        how = f"; job {first.id}: {first.reason}" if first.reason else ""
        reason = f"the workers with {accelerator}{where} wait for their slices{how}"
    else:
        reason = f"waits for a free worker with {accelerator}{where}"
    # A pending task's own reason says no more than the best of these.
    if task.status is TaskStatus.RETRY:
        reason = f"{task.reason}; {reason}"
    return attrs.evolve(task, reason=reason, next_try=next_try)


def _by_next_try(view: JobView) -> tuple[bool, float]:
    """Order workers that wait: who tries again first comes first."""
    return view.next_try is None, view.next_try.timestamp() if view.next_try else 0.0


def _why_running(task: Task, views: Mapping[str, JobView]) -> str:
    """Say where a task runs, and what is odd about that."""
    reasons = [task.reason]
    if task.removed:
        reasons.append("removed from the file: it ends, and does not start again")
    for run in task.running:
        view = views.get(run.job)
        trouble = _UNDRIVEN.get(view.controller) if view is not None else None
        if trouble:
            ways = f"`jobman resume {run.job}` takes it up, `jobman queue --cleanup` releases it"
            reasons.append(f"job {run.job} {trouble}: {ways}")
    return "; ".join(reason for reason in reasons if reason)
