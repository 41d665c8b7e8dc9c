"""What front ends show of jobs and tasks, from the facts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from jobman_core.interfaces.store import JobRecord
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Desired, Ending, EndingKind, Job, Step
from jobman_core.models.lease import Liveness
from jobman_core.models.listing import JobView
from jobman_core.models.task import Counters, Task, TaskSpec, TaskStatus
from jobman_core.views import explained, job_view

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LATER = NOON + timedelta(seconds=40)
JOB = Job(
    id="000007",
    user="ada",
    name="demo_000007",
    base_name="demo",
    accelerator="v4-8",
    zone="here",
    cloud="local",
    session="process",
    queue="/tasks.yaml",
    spec_hash="",
    desired=Desired.RUNNING,
    created_at=NOON,
    step=Step.ACQUIRE,
    step_reason="waits for capacity: none in here",
    next_try=LATER,
)
TASK = Task("/tasks.yaml", TaskSpec("one", "true", "v4-8"), Counters(), TaskStatus.PENDING, "waits")


def view(controller: Liveness = Liveness.ALIVE, **changes: object) -> JobView:
    return job_view(JobRecord(attrs.evolve(JOB, **changes)), controller)  # type: ignore[arg-type]


def test_a_job_that_waits_says_when_it_tries_again() -> None:
    assert view().next_try == LATER


@pytest.mark.parametrize(
    "given",
    [
        view(Liveness.DEAD),
        view(Liveness.HUNG),
        view(desired=Desired.STOPPED),
        view(ending=Ending(EndingKind.FAILED, "")),
    ],
)
def test_where_nobody_tries_again_no_moment_is_promised(given: JobView) -> None:
    assert given.next_try is None


def test_what_runs_has_begun_once_it_was_started_on_its_hosts() -> None:
    claimed = Attempt("t", "000007", 1, 1, "r", NOON)
    for started in (None, LATER):
        record = JobRecord(JOB, attempts=(attrs.evolve(claimed, started_at=started),))
        assert job_view(record, Liveness.ALIVE).began == started


@pytest.mark.parametrize(
    ("changes", "ended"),
    [
        ({}, None),
        ({"desired": Desired.STOPPED, "desired_at": LATER}, None),
        ({"desired": Desired.CANCELLED, "desired_at": LATER}, LATER),
        ({"ending": Ending(EndingKind.DONE, ""), "ended_at": LATER}, LATER),
    ],
)
def test_a_story_has_an_end_or_goes_on(changes: dict[str, Any], ended: datetime | None) -> None:
    assert view(**changes).ended == ended


def test_a_task_whose_workers_wait_says_what_the_first_to_try_again_waits_for() -> None:
    soon, later = view(id="000008"), view(next_try=LATER + timedelta(seconds=1))
    found = explained(TASK, [later, soon])
    assert found.reason == (
        "the workers with v4-8 wait for their slices; job 000008: waits for capacity: none in here"
    )
    assert found.next_try == LATER
