"""What ``doctor`` says of jobs: lost controllers, long waits, and what costs for nothing."""

from datetime import UTC, datetime, timedelta

import attrs
import pytest

from jobman_core.doctor.jobs import (
    judge_controllers,
    judge_idle,
    judge_orphans,
    judge_quota,
    judge_waits,
)
from jobman_core.models.checkup import Health
from jobman_core.models.quota import Holding
from jobman_core.models.reap import Dead, Fate, Reaped
from jobman_core.models.usage import IdleSlice

NOW = datetime(2025, 3, 9, tzinfo=UTC)
DEAD = Dead(
    "gcp", "lab", "here", "train-g1", "PREEMPTED", "it is", ours=True, fate=Fate.NOTED, since=NOW
)


def test_jobs_without_a_controller_are_broken_and_resume_mends_them() -> None:
    assert [each.health for each in judge_controllers([], set())] == [Health.WELL]
    (one,) = judge_controllers(["000001"], set())
    assert (one.health, one.remedy) == (Health.BROKEN, "run `jobman resume 000001`")
    lost, hung = judge_controllers(["000001", "000002", "000003"], {"000003"})
    assert (lost.text, lost.remedy) == ("000001, 000002: lost", "run `jobman resume --all`")
    assert hung.text == "000003: hung"


def test_a_job_that_has_waited_long_is_a_doubt() -> None:
    waits = {"000001": timedelta(hours=7), "000002": timedelta(hours=1)}
    found = judge_waits(waits, timedelta(hours=6))
    assert (found.health, found.text) == (Health.DOUBT, "000001: no slice for 7 h")
    assert judge_waits(waits, timedelta(hours=8)).health is Health.WELL


def test_a_slice_that_costs_for_nothing_is_a_doubt() -> None:
    since = NOW - timedelta(hours=2)
    idle = [IdleSlice(f"{n:06d}", "ada", "job", "v4-8", "here", since) for n in range(1, 11)]
    found = judge_idle(idle, NOW)
    assert found.health is Health.DOUBT
    assert "000008, and 2 more: nothing has run there for up to 2.0 h" in found.text
    assert judge_idle([], NOW).health is Health.WELL


def test_a_limit_that_is_reached_is_a_doubt_and_what_is_dead_is_named_as_the_cause() -> None:
    held = Holding("gcp", "lab", "here", "v4", "spot", ready=16, limit=32, used=32)
    assert judge_quota([]) is None
    full, roomy = judge_quota([held]), judge_quota([attrs.evolve(held, used=16)])
    assert full
    assert roomy
    assert (full.health, roomy.health) == (Health.DOUBT, Health.WELL)
    dead = judge_quota([attrs.evolve(held, dead=16)])
    assert dead
    assert dead.remedy == "run `jobman reap`"


@pytest.mark.parametrize(
    ("found", "healths"),
    [
        (Reaped((DEAD,)), [Health.BROKEN]),
        (Reaped((attrs.evolve(DEAD, ours=False),)), [Health.DOUBT]),
        (Reaped((attrs.evolve(DEAD, fate=Fate.KEPT),), looked=("here",)), [Health.WELL]),
        (Reaped((), unseen=(("here", "no rights"),)), [Health.UNKNOWN]),
        (Reaped(()), []),
    ],
)
def test_what_no_job_owns_is_broken_if_it_is_ours(found: Reaped, healths: list[Health]) -> None:
    assert [each.health for each in judge_orphans(found)] == healths
