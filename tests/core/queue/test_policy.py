import attrs
import pytest

from jobman_core.models.outcome import Cause, Outcome, OutcomeKind, interrupted
from jobman_core.models.slice import Offer
from jobman_core.models.task import Counters, TaskStatus, Workers
from jobman_core.queue import policy
from jobman_core.queue.policy import Candidate, Dependency, Standing
from jobman_core.testing.store_contract.scene import ACCELERATOR, FAILED, SUCCEEDED, ZONE, entry

OFFER = Offer(ACCELERATOR, ZONE, 2)

WAITING = Standing(waits_for=("x",))
BLOCKED = Standing(waits_for=("x",), root="x")
RUNNING = Standing(jobs=("000001",))


@pytest.mark.parametrize(
    ("counters", "standing", "expected"),
    [
        (Counters(done=True, failed=True, running=1, fail_count=3), BLOCKED, TaskStatus.DONE),
        (Counters(failed=True, running=1, fail_count=3), BLOCKED, TaskStatus.FAILED),
        (Counters(running=1, fail_count=1), BLOCKED, TaskStatus.RUNNING),
        (Counters(fail_count=1), BLOCKED, TaskStatus.BLOCKED),
        (Counters(fail_count=1), WAITING, TaskStatus.WAITING),
        (Counters(fail_count=1), Standing(), TaskStatus.RETRY),
        (Counters(run_count=4), Standing(), TaskStatus.PENDING),
    ],
)
def test_of_several_statuses_the_first_in_the_contracts_order_holds(
    counters: Counters, standing: Standing, expected: TaskStatus
) -> None:
    assert policy.status(entry("a"), counters, standing)[0] is expected


@pytest.mark.parametrize(
    ("counters", "standing", "reason"),
    [
        (Counters(fail_count=3, failed=True), Standing(failure="exit 3 on host 2"),
         "failed 3 of 3 attempts, the last with exit 3 on host 2"),
        (Counters(running=2), Standing(jobs=("000001", "000002")), "on jobs 000001, 000002"),
        (Counters(), Standing(waits_for=("x",), root="x", root_failure="exit 3"),
         "dependency x failed for good (exit 3)"),
        (Counters(), Standing(waits_for=("m",), root="x", root_failure="exit 3"),
         "waits for m; x failed for good (exit 3)"),
        (Counters(), Standing(waits_for=("a", "b", "c", "d", "e")), "waits for a, b, c and 2 more"),
        (Counters(fail_count=1), Standing(failure="exit 1"),
         "failed 1 of 3 attempts (exit 1), will be tried again"),
        (Counters(), Standing(), f"waits for a free worker with {ACCELERATOR} in {ZONE}"),
    ],
)  # fmt: skip
def test_every_task_that_waits_says_why(
    counters: Counters, standing: Standing, reason: str
) -> None:
    assert policy.status(entry("a", zone=ZONE), counters, standing)[1] == reason


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"zone": ZONE}, True),
        ({"zone": "elsewhere"}, False),
        ({"zone": ""}, True),
        ({"accelerator": "v4-32"}, False),
        ({"workers": Workers((0, 1))}, True),
        ({"workers": Workers((2,))}, False),
        ({"workers": Workers("all")}, True),
        ({"workers": Workers(())}, True),
    ],
)
def test_a_task_fits_a_slice_of_its_type_zone_and_hosts(
    changes: dict[str, object], fits: bool
) -> None:
    assert policy.fits(entry("a", **changes), OFFER) is fits


def test_both_names_of_one_type_are_one_type() -> None:
    assert policy.kind_of("v5e-8") == policy.kind_of("v5litepod-8") == "v5litepod-8"
    assert policy.kind_of("made-up") == "made-up"


def test_priority_comes_first_then_the_files_order() -> None:
    ranks = [policy.rank(n, priority=p) for p in (True, False) for n in (0, 1, 10**9)]
    assert ranks == sorted(set(ranks))


def test_the_avoided_task_is_picked_only_if_it_is_the_only_one() -> None:
    a, b = (Candidate(entry(name), Counters(), n) for n, name in enumerate("ab"))
    assert policy.pick([a, b], OFFER, avoid="a") == b
    assert policy.pick([a], OFFER, avoid="a") == a
    assert policy.pick([], OFFER, avoid="a") is None


@pytest.mark.parametrize("outcome", [SUCCEEDED, FAILED, interrupted(Cause.PREEMPTED)])
def test_what_is_done_stays_done(outcome: Outcome) -> None:
    done = Counters(done=True, running=1, run_count=2)
    now = policy.after(done, outcome, max_retries=1)
    assert (now.done, now.failed, now.running) == (True, False, 0)


def test_a_success_after_the_last_failure_makes_it_done() -> None:
    counters = Counters(failed=True, fail_count=1, running=1, run_count=2)
    now = policy.after(counters, SUCCEEDED, max_retries=1)
    assert now == Counters(done=True, run_count=2)


def test_a_plugins_verdict_counts_as_what_it_says() -> None:
    verdict = Outcome(OutcomeKind.FAILED, "plugin:grpc")
    now = policy.after(Counters(running=1, run_count=1), verdict, max_retries=3)
    assert now == Counters(fail_count=1, run_count=1)


def test_a_root_passes_through_what_it_blocks_and_ends_at_what_is_done() -> None:
    failed = Dependency("f", done=False, failed=True, root=None)
    blocked = Dependency("b", done=False, failed=False, root="f")
    done = attrs.evolve(blocked, id="d", done=True)
    fine = Dependency("x", done=False, failed=False, root=None)
    assert policy.root([fine, blocked, failed]) == "f"
    assert policy.root([fine, done]) is None
    assert policy.root([]) is None
