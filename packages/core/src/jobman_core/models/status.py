"""The status of a job, computed from facts when someone looks."""

from datetime import datetime
from enum import StrEnum
from typing import Final

import attrs

from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Desired, EndingKind, Job, Step
from jobman_core.models.lease import Liveness
from jobman_core.models.slice import Slice, SlicePhase


class JobStatus(StrEnum):
    """What ``list`` shows."""

    QUEUEING = "QUEUEING"
    PREPARING = "PREPARING"
    RUNNING = "RUNNING"
    PREEMPTED = "PREEMPTED"
    IDLE = "IDLE"
    PREFIX_FAIL = "PREFIX_FAIL"
    DONE = "DONE"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    DEAD = "DEAD"
    DELETED = "DELETED"


@attrs.frozen
class JobFacts:
    """All that the status of a job depends on."""

    job: Job
    #: The newest generation, held or gone; None before the first request.
    slice: Slice | None = None
    #: Older or withdrawn generations that are not yet confirmed absent.
    withdrawing: tuple[Slice, ...] = ()
    #: Attempts that have not ended.
    attempts: tuple[Attempt, ...] = ()
    controller: Liveness = Liveness.NONE


_ENDINGS: Final = {
    EndingKind.DONE: JobStatus.DONE,
    EndingKind.FAILED: JobStatus.FAILED,
    EndingKind.PREEMPTED: JobStatus.PREEMPTED,
    EndingKind.PREFIX_FAIL: JobStatus.PREFIX_FAIL,
}

#: The steps that a controller is at while a job is in a status.
_STEPS: Final = {
    JobStatus.QUEUEING: (Step.ACQUIRE,),
    JobStatus.PREPARING: (Step.PREPARE, Step.EXECUTE),
    JobStatus.IDLE: (Step.IDLE, Step.BACK_OFF),
}


def status_of(facts: JobFacts) -> tuple[JobStatus, str]:
    """Give a job's status and the reason for it, one line for people."""
    status, *reasons = _status(facts)
    job, slice_ = facts.job, facts.slice
    if facts.withdrawing:
        names = ", ".join(s.identity.name for s in facts.withdrawing)
        why = next((f" ({s.detail})" for s in facts.withdrawing if s.detail), "")
        reasons.append(f"withdrawing {names}: not yet confirmed absent{why}")
    elif slice_ and slice_.costs and _rests(facts, status):
        reasons.append(f"slice {slice_.identity.name} is READY and still costs")
    if slice_ and slice_.costs and slice_.detail:
        reasons.append(f"slice {slice_.identity.name}: {slice_.detail}")
    if status is not JobStatus.DELETED and job.desired is Desired.RUNNING and job.ending is None:
        match facts.controller:
            case Liveness.DEAD | Liveness.NONE if status is not JobStatus.DEAD:
                if job.step is Step.NONE and job.step_reason:
                    reasons.append(job.step_reason)
                reasons.append(f"no controller: `jobman resume {job.id}` starts one")
            case Liveness.HUNG:
                reasons.append(f"its controller hangs: `jobman resume {job.id}` replaces it")
    return status, "; ".join(reason for reason in reasons if reason)


def since_of(facts: JobFacts, status: JobStatus) -> datetime | None:
    """Give the moment since when a job is in its status; None: the facts do not tell."""
    job, slice_ = facts.job, facts.slice
    if job.desired in (Desired.DELETED, Desired.CANCELLED):
        return job.desired_at
    if job.ending is not None:
        return job.ended_at
    if status is JobStatus.PREEMPTED:
        return slice_.lost_at if slice_ else None
    if facts.attempts:
        return facts.attempts[0].claimed_at
    if job.step in _STEPS.get(status, ()):
        return job.step_at
    if status is JobStatus.PREPARING:
        return slice_.ready_at if slice_ else None
    if job.desired is Desired.STOPPED or not job.epoch or status is JobStatus.QUEUEING:
        return job.desired_at or job.created_at
    return None


def _status(facts: JobFacts) -> tuple[JobStatus, str]:
    """Give the status, and the part of the reason that belongs to it alone."""
    job, slice_ = facts.job, facts.slice
    if job.desired is Desired.DELETED:
        return JobStatus.DELETED, ""
    if job.desired is Desired.CANCELLED:
        return JobStatus.CANCELLED, ""
    if job.ending is not None:
        return _ENDINGS[job.ending.kind], job.ending.reason
    if facts.attempts:
        attempt = facts.attempts[0]
        if (
            slice_ is not None
            and slice_.phase is SlicePhase.LOST
            and slice_.generation == attempt.generation
        ):
            # Proof that nothing of it runs; whoever goes on with the job writes that down.
            return JobStatus.PREEMPTED, f"slice {slice_.identity.name} is {slice_.state}"
        what = "its command" if attempt.task is None else f"task {attempt.task}"
        if job.desired is Desired.STOPPED:
            return JobStatus.RUNNING, f"stopping {what}"
        if attempt.started_at is None and job.step_reason:
            return JobStatus.RUNNING, job.step_reason
        if facts.controller is Liveness.ALIVE and job.step is Step.EXECUTE and job.step_reason:
            return JobStatus.RUNNING, f"{what}; {job.step_reason}"
        return JobStatus.RUNNING, what
    return _without_attempt(facts, slice_ if slice_ and slice_.held else None)


def _without_attempt(facts: JobFacts, slice_: Slice | None) -> tuple[JobStatus, str]:
    job = facts.job
    driven = facts.controller in (Liveness.ALIVE, Liveness.HUNG, Liveness.ELSEWHERE)
    if slice_ is not None and slice_.phase in (SlicePhase.LOST, SlicePhase.LOSING):
        return JobStatus.PREEMPTED, f"slice {slice_.identity.name} is {slice_.state}"
    if slice_ is not None and slice_.phase is SlicePhase.READY and not slice_.withdrawn:
        if not driven or job.desired is Desired.STOPPED:
            return JobStatus.IDLE, "stopped" if job.desired is Desired.STOPPED else ""
        if job.step in (Step.IDLE, Step.BACK_OFF):
            return JobStatus.IDLE, job.step_reason
        return JobStatus.PREPARING, job.step_reason
    if driven and job.desired is Desired.RUNNING:
        last = facts.slice
        if last is not None and last.lost_at is not None and job.step is not Step.ACQUIRE:
            return JobStatus.PREEMPTED, f"slice {last.identity.name} was lost"
        return JobStatus.QUEUEING, job.step_reason
    if slice_ is not None and not slice_.withdrawn:
        return JobStatus.QUEUEING, f"slice {slice_.identity.name} is {slice_.state}"
    return JobStatus.DEAD, _why_dead(facts)


def _why_dead(facts: JobFacts) -> str:
    job = facts.job
    if job.desired is Desired.STOPPED:
        return "stopped; it has no slice" if facts.slice else job.step_reason or "never started"
    if job.step is Step.NONE and job.step_reason:
        return job.step_reason
    never = "" if job.epoch else "it never began; "
    return f"{never}no slice and no controller: `jobman resume {job.id}` starts it"


def _rests(facts: JobFacts, status: JobStatus) -> bool:
    """Tell whether the slice stands there with nothing to run on it and nobody about to use it."""
    resting = (*_ENDINGS.values(), JobStatus.IDLE)
    return status in resting and not facts.attempts
