"""The status that people see, and the reason beside it."""

from datetime import UTC, datetime, timedelta

import attrs
import pytest

from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Desired, Ending, EndingKind, Job, Step
from jobman_core.models.lease import Liveness
from jobman_core.models.slice import Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.status import JobFacts, JobStatus, since_of, status_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)
EARLIER = NOW - timedelta(hours=1)
JOB = Job(
    id="000007",
    user="ada",
    name="demo_000007",
    base_name="demo",
    accelerator="v4-8",
    zone="here",
    cloud="local",
    session="process",
    queue=None,
    spec_hash="",
    desired=Desired.RUNNING,
    created_at=NOW,
)
SLICE = Slice(
    "000007",
    1,
    SliceRequest("local", "v4-8", "here"),
    SliceIdentity("demo-000007-g1", "here", "h", "ada", "000007", 1),
    NOW,
)
READY = attrs.evolve(SLICE, phase=SlicePhase.READY, state="READY", ready_at=NOW)
LOST = attrs.evolve(READY, phase=SlicePhase.LOST, state="PREEMPTED", lost_at=NOW)
GONE = attrs.evolve(LOST, state="ABSENT", gone_at=NOW)
ATTEMPT = Attempt("t", "000007", 1, 1, "r", NOW, started_at=NOW)


def facts(controller: Liveness = Liveness.ALIVE, **changes: object) -> JobFacts:
    own = {f.name for f in attrs.fields(JobFacts)}
    job = attrs.evolve(JOB, **{k: v for k, v in changes.items() if k not in own})  # type: ignore[arg-type]
    rest = {k: v for k, v in changes.items() if k in own}
    return JobFacts(job, controller=controller, **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "status", "reason"),
    [
        (facts(slice=SLICE, step=Step.ACQUIRE, step_reason="asks"), JobStatus.QUEUEING, "asks"),
        (
            facts(slice=READY, step=Step.PREPARE, step_reason="host 2"),
            JobStatus.PREPARING,
            "host 2",
        ),
        (facts(slice=READY, attempts=(ATTEMPT,)), JobStatus.RUNNING, "its command"),
        (
            facts(slice=READY, attempts=(ATTEMPT,), step=Step.EXECUTE, step_reason="host 2"),
            JobStatus.RUNNING,
            "its command; host 2",
        ),
        (facts(slice=READY, step=Step.IDLE, step_reason="waits"), JobStatus.IDLE, "waits"),
        (facts(slice=LOST, step=Step.EXECUTE), JobStatus.PREEMPTED, "PREEMPTED"),
        (facts(slice=GONE, step=Step.EXECUTE), JobStatus.PREEMPTED, "was lost"),
        (facts(slice=GONE, step=Step.ACQUIRE), JobStatus.QUEUEING, ""),
        (facts(Liveness.NONE, slice=None), JobStatus.DEAD, "jobman resume 000007"),
        (facts(Liveness.NONE, desired=Desired.STOPPED), JobStatus.DEAD, "never started"),
        (facts(desired=Desired.CANCELLED), JobStatus.CANCELLED, ""),
        (facts(desired=Desired.DELETED), JobStatus.DELETED, ""),
    ],
)
def test_facts_add_up_to_one_status_with_its_reason(
    given: JobFacts, status: JobStatus, reason: str
) -> None:
    got, why = status_of(given)
    assert got is status
    assert reason in why


@pytest.mark.parametrize(
    "changes",
    [
        {"desired": Desired.STOPPED},
        *({"ending": Ending(kind, "it is over")} for kind in EndingKind),
        {"step": Step.IDLE},
    ],
)
def test_a_slice_that_stands_there_with_nothing_to_do_is_said_to_cost(
    changes: dict[str, object],
) -> None:
    assert "still costs" in status_of(facts(Liveness.ALIVE, slice=READY, **changes))[1]


def test_a_live_program_without_a_controller_is_running_and_says_what_to_do() -> None:
    status, reason = status_of(facts(Liveness.DEAD, slice=READY, attempts=(ATTEMPT,)))
    assert status is JobStatus.RUNNING
    assert "`jobman resume 000007`" in reason


def test_what_ran_on_a_slice_that_is_lost_is_not_said_to_run() -> None:
    status, reason = status_of(facts(Liveness.DEAD, slice=LOST, attempts=(ATTEMPT,)))
    assert status is JobStatus.PREEMPTED
    assert "demo-000007-g1 is PREEMPTED" in reason
    assert "`jobman resume 000007`" in reason


def test_what_runs_on_a_slice_that_is_about_to_go_is_said_to_run() -> None:
    losing = attrs.evolve(LOST, phase=SlicePhase.LOSING, state="SUSPENDING")
    assert status_of(facts(slice=losing, attempts=(ATTEMPT,)))[0] is JobStatus.RUNNING


def test_a_controller_that_hangs_is_said_to_hang() -> None:
    status, reason = status_of(facts(Liveness.HUNG, slice=READY, attempts=(ATTEMPT,)))
    assert status is JobStatus.RUNNING
    assert "hangs" in reason


def test_a_slice_that_is_not_confirmed_absent_is_not_forgotten() -> None:
    reason = status_of(facts(desired=Desired.DELETED, withdrawing=(READY,)))[1]
    assert "withdrawing demo-000007-g1" in reason


def test_what_ails_a_slice_hides_nothing_else() -> None:
    ill = attrs.evolve(READY, detail="UNHEALTHY_MAINTENANCE")
    reason = status_of(facts(slice=ill, step=Step.IDLE, step_reason="waits"))[1]
    assert reason == (
        "waits; slice demo-000007-g1 is READY and still costs; "
        "slice demo-000007-g1: UNHEALTHY_MAINTENANCE"
    )


@pytest.mark.parametrize(
    "given",
    [
        facts(slice=SLICE, step=Step.ACQUIRE, step_at=EARLIER),
        facts(slice=READY, step=Step.PREPARE, step_at=EARLIER),
        facts(slice=READY, step=Step.IDLE, step_at=EARLIER),
        facts(slice=READY, step=Step.BACK_OFF, step_at=EARLIER),
        facts(slice=attrs.evolve(READY, ready_at=EARLIER), step=Step.ACQUIRE, step_at=NOW),
        facts(slice=attrs.evolve(LOST, lost_at=EARLIER), step=Step.EXECUTE, step_at=NOW),
        facts(attempts=(attrs.evolve(ATTEMPT, claimed_at=EARLIER),), step_at=NOW),
        facts(desired=Desired.CANCELLED, desired_at=EARLIER, step_at=NOW),
        facts(Liveness.NONE, desired=Desired.STOPPED, slice=READY, desired_at=EARLIER),
        facts(Liveness.NONE, desired=Desired.STOPPED, created_at=EARLIER),
        facts(ending=Ending(EndingKind.DONE, ""), ended_at=EARLIER, step_at=NOW),
    ],
)
def test_a_status_lasts_since_the_fact_that_brought_it_about(given: JobFacts) -> None:
    assert since_of(given, status_of(given)[0]) == EARLIER


def test_nobody_knows_since_when_a_job_without_controller_and_slice_is_dead() -> None:
    dead = facts(Liveness.DEAD, epoch=3, step=Step.ACQUIRE, step_at=EARLIER, desired_at=EARLIER)
    assert since_of(dead, status_of(dead)[0]) is None
