"""What hosts' words and losses add up to, and what follows from it: pure."""

from typing import Final

import attrs

from jobman_core.models.job import Desired, Ending, EndingKind, Loop
from jobman_core.models.outcome import Cause, HostExit, Outcome, OutcomeKind, interrupted
from jobman_core.models.slice import GONE, Slice

FIRST_DELAY: Final = 1.0
LONGEST_DELAY: Final = 60.0


#: Interruptions that somebody wished: they say nothing about what the job does next.
BY_ORDER: Final = frozenset(
    {Cause.STOPPED, Cause.CANCELLED, Cause.REQUEUED, Cause.REBOOTED, Cause.RESET, Cause.STALE}
)


#: What is said, as far as is known, of attempts whose slice goes.
_OF_A_LOSS: Final = frozenset({Cause.EXITED, Cause.HOST_LOST, Cause.PREEMPTED})


#: Why attempts end when a job is wanted otherwise than running.
CAUSE_OF: Final = {
    Desired.STOPPED: Cause.STOPPED,
    Desired.CANCELLED: Cause.CANCELLED,
    Desired.DELETED: Cause.CANCELLED,
}


@attrs.frozen
class Decision:
    """What follows from an outcome: an end, or another attempt."""

    #: Of the job; None: it goes on.
    ending: Ending | None = None
    #: Seconds to wait before the next attempt.
    delay: float = 0.0


def back_off(times: int) -> float:
    """Give the delay before the next try after so many bad ends in a row."""
    return min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** max(0, times - 1))


def decide(outcome: Outcome, loop: Loop, *, restarts: int, max_restarts: int) -> Decision:
    """Say what follows an outcome.

    Args:
        outcome: of the attempt that just ended.
        loop: the job's rule.
        restarts: failures since the job was started by hand, this one counted.
        max_restarts: how many failures are followed by another start.
    """
    if outcome.kind is OutcomeKind.INTERRUPTED:
        if loop is not Loop.NEVER or outcome.cause in BY_ORDER:
            return Decision()
        reason = f"{outcome.detail or outcome.cause}, and job.loop is false"
        return Decision(Ending(EndingKind.PREEMPTED, reason))
    if outcome.kind is OutcomeKind.SUCCEEDED:
        if loop is Loop.ALWAYS:
            return Decision(delay=FIRST_DELAY)
        return Decision(Ending(EndingKind.DONE, "its command succeeded"))
    what = outcome.detail or outcome.cause
    if loop is Loop.NEVER:
        return Decision(Ending(EndingKind.FAILED, what))
    if restarts > max_restarts:
        reason = f"{what}; started again {max_restarts} times (job.max_restarts)"
        return Decision(Ending(EndingKind.FAILED, reason))
    return Decision(delay=back_off(restarts))


def judge(
    exits: dict[int, int | None], lost: dict[int, str], expected: int, tails: dict[int, str]
) -> Outcome | None:
    """Give the outcome that hosts' records add up to; None while it is open.

    Args:
        exits: the exit status of each host whose program ended by itself, in order of arrival.
        lost: hosts without a record whose program is gone, in order of arrival, and how.
        expected: how many hosts the attempt runs on.
        tails: the end of each host's output.
    """
    records = [HostExit(host, code, tails.get(host, "")) for host, code in exits.items()]
    bad = [record for record in records if record.code != 0]
    if bad:
        first = bad[0]
        others = [record for record in records if record is not first]
        detail = f"exit {first.code} on host {first.host}"
        return Outcome(OutcomeKind.FAILED, Cause.EXITED, (first, *others), detail)
    if lost:
        host, how = next(iter(lost.items()))
        detail = f"host {host}: {how}"
        return Outcome(OutcomeKind.INTERRUPTED, Cause.HOST_LOST, tuple(records), detail)
    if len(records) == expected:
        return Outcome(OutcomeKind.SUCCEEDED, Cause.EXITED, tuple(records), "exit 0")
    return None


def false_success(verdict: Outcome, *, success: bool) -> str:
    """Say what is wrong with a plugin's verdict; only what succeeded may be called a success."""
    false = verdict.kind is OutcomeKind.SUCCEEDED and not success
    return "it calls a success what is none" if false else ""


def ended_on(host: int) -> Outcome:
    """Give what is left of an attempt whose end someone ordered and could not write down.

    All hosts or none: what still runs on others is ended as well.
    """
    return interrupted(Cause.STOPPED, f"its end was ordered on host {host}")


def succeeded(outcome: Outcome | None) -> bool:
    """Tell whether there is an outcome, and a good one."""
    return outcome is not None and outcome.kind is OutcomeKind.SUCCEEDED


def by_loss(outcome: Outcome | None, slice_: Slice) -> Outcome:
    """Give the outcome where the slice is lost.

    A success stays one, and an end that was ordered has its own cause. All else is the loss, and of
    what kind the slice tells: what fails while its slice goes has not failed by itself.
    """
    if outcome is not None and outcome.cause not in _OF_A_LOSS:
        return outcome
    if outcome is not None and succeeded(outcome):
        return outcome
    cause = Cause.SLICE_GONE if slice_.state == GONE else Cause.PREEMPTED
    return interrupted(cause, f"slice {slice_.identity.name} is {slice_.state}")
