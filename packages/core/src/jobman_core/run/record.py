"""Writing down how an attempt ended, together with what follows from it."""

from typing import Final

from jobman_core.errors import StoreError
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Ending, EndingKind, OnEnd, QueueMode
from jobman_core.models.outcome import Outcome, OutcomeKind
from jobman_core.models.slice import Slice
from jobman_core.run.context import JobContext
from jobman_core.run.decide import Decision, decide

#: Seconds between two tries to write into a store that cannot be written.
STORE_EVERY: Final = 5.0


async def record_outcome(
    ctx: JobContext, attempt: Attempt, outcome: Outcome, slice_: Slice | None
) -> Decision:
    """Write down an outcome, however long the store cannot be written; give what follows.

    Outcome and ending are one transaction: a crash cannot come between, so that what is over is
    never begun again.

    Raises:
        StaleLeaseError: someone else acts for the job now.
    """
    decision = Decision()
    if attempt.task is None:
        failures = (await ctx.record()).job.restarts + (outcome.kind is OutcomeKind.FAILED)
        decision = decide(
            outcome, ctx.spec.loop, restarts=failures, max_restarts=ctx.spec.max_restarts
        )
    give_back = decision.ending is not None and unwanted(ctx, decision.ending, slice_)
    while True:
        try:
            await ctx.store.end_attempt(
                ctx.lease,
                attempt.token,
                outcome,
                now=ctx.clock.now(),
                ending=decision.ending,
                give_back=give_back,
            )
        except StoreError as error:
            ctx.journal.retrying(f"an outcome waits to be written: {error}")
            await ctx.clock.sleep(STORE_EVERY)
            continue
        what = f"task {attempt.task}" if attempt.task else "the command"
        said = f"{outcome.kind} ({outcome.detail or outcome.cause})"
        ctx.journal.queue(f"{what}, attempt {attempt.number}: {said}")
        return decision


def unwanted(ctx: JobContext, ending: Ending, slice_: Slice | None) -> bool:
    """Tell whether nobody wants a job's slice any more once the job has ended so."""
    if slice_ is None or not slice_.held:
        return False
    ran_dry = isinstance(ctx.spec.work, QueueMode) and ending.kind is EndingKind.DONE
    return (
        ran_dry or slice_.lost_at is not None or not slice_.costs or ctx.spec.on_end is OnEnd.DELETE
    )
