"""What hosts' records add up to, and what follows from it."""

from datetime import UTC, datetime

import pytest

from jobman_core.models.job import EndingKind, Loop
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind, interrupted
from jobman_core.models.slice import GONE, Slice, SliceIdentity, SliceRequest
from jobman_core.run.decide import back_off, by_loss, decide, judge

SUCCESS = Outcome(OutcomeKind.SUCCEEDED, Cause.EXITED)
FAILURE = Outcome(OutcomeKind.FAILED, Cause.EXITED, (), "exit 1 on host 0")


def test_an_attempt_is_open_while_a_host_has_no_record() -> None:
    assert judge({0: 0, 1: 0}, {}, 3, {}) is None


def test_all_hosts_with_exit_0_are_a_success() -> None:
    outcome = judge({1: 0, 0: 0}, {}, 2, {})
    assert outcome is not None
    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert outcome.exit_code == 0


def test_one_host_that_exits_3_fails_the_attempt_at_once_and_is_its_first_cause() -> None:
    outcome = judge({0: 0, 2: 3, 1: 143}, {}, 4, {2: "boom\n"})
    assert outcome is not None
    assert outcome.kind is OutcomeKind.FAILED
    assert (outcome.exits[0].host, outcome.exit_code, outcome.exits[0].tail) == (2, 3, "boom\n")
    assert outcome.detail == "exit 3 on host 2"


def test_a_program_that_exits_255_has_failed_like_any_other() -> None:
    outcome = judge({0: 255}, {}, 1, {})
    assert outcome is not None
    assert (outcome.kind, outcome.exit_code) == (OutcomeKind.FAILED, 255)


def test_a_host_that_lost_the_program_without_a_record_is_an_interruption() -> None:
    outcome = judge({0: 0}, {1: "gone"}, 2, {})
    assert outcome is not None
    assert (outcome.kind, outcome.cause) == (OutcomeKind.INTERRUPTED, Cause.HOST_LOST)


def test_a_failure_that_is_on_record_counts_more_than_a_lost_host() -> None:
    outcome = judge({1: 7}, {0: "gone"}, 2, {})
    assert outcome is not None
    assert outcome.kind is OutcomeKind.FAILED


@pytest.mark.parametrize(
    ("outcome", "loop", "restarts", "ending"),
    [
        (SUCCESS, Loop.NEVER, 0, EndingKind.DONE),
        (SUCCESS, Loop.RECOVER, 0, EndingKind.DONE),
        (SUCCESS, Loop.ALWAYS, 0, None),
        (FAILURE, Loop.NEVER, 1, EndingKind.FAILED),
        (FAILURE, Loop.RECOVER, 1, None),
        (FAILURE, Loop.RECOVER, 3, None),
        (FAILURE, Loop.RECOVER, 4, EndingKind.FAILED),
        (interrupted(Cause.PREEMPTED), Loop.NEVER, 0, EndingKind.PREEMPTED),
        (interrupted(Cause.PREEMPTED), Loop.RECOVER, 99, None),
        (interrupted(Cause.HOST_LOST), Loop.ALWAYS, 0, None),
        (interrupted(Cause.STOPPED), Loop.NEVER, 0, None),
    ],
)
def test_the_rule_of_the_job_says_what_follows(
    outcome: Outcome, loop: Loop, restarts: int, ending: EndingKind | None
) -> None:
    decision = decide(outcome, loop, restarts=restarts, max_restarts=3)
    assert (decision.ending.kind if decision.ending else None) is ending


def test_a_failure_is_followed_by_longer_and_longer_waits_up_to_a_minute() -> None:
    assert [back_off(n) for n in (1, 2, 3, 20)] == [1.0, 2.0, 4.0, 60.0]


def test_an_interruption_is_followed_by_the_next_attempt_at_once() -> None:
    again = decide(interrupted(Cause.PREEMPTED), Loop.RECOVER, restarts=0, max_restarts=3)
    assert again.delay == 0.0


@pytest.mark.parametrize(
    ("outcome", "state", "cause"),
    [
        (None, "PREEMPTED", Cause.PREEMPTED),
        (FAILURE, "PREEMPTED", Cause.PREEMPTED),
        (FAILURE, GONE, Cause.SLICE_GONE),
        # Whoever comes after a controller that was killed does not know better yet.
        (interrupted(Cause.PREEMPTED), GONE, Cause.SLICE_GONE),
        (interrupted(Cause.STOPPED), GONE, Cause.STOPPED),
        (SUCCESS, GONE, Cause.EXITED),
    ],
)
def test_what_ends_with_its_slice_is_lost_in_the_way_of_the_slice(
    outcome: Outcome | None, state: str, cause: Cause
) -> None:
    request = SliceRequest("local", "v4-8", "here")
    identity = SliceIdentity("demo-g1", "here", "h", "ada", "000001", 1)
    at = datetime(2026, 1, 2, tzinfo=UTC)
    assert by_loss(outcome, Slice("000001", 1, request, identity, at, state)).cause == cause
