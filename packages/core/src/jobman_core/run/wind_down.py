"""Ending what a job has, by whoever holds its lease, whether or not a controller went before."""

from collections.abc import Callable, Iterable, Sequence

from jobman_core.errors import UnfinishedError
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Desired, Step
from jobman_core.models.outcome import Cause, interrupted
from jobman_core.models.slice import Absent, Slice, SlicePhase
from jobman_core.run.attempt import SHORT_LIMIT, STOP_LIMIT, AttemptRun
from jobman_core.run.context import JobContext
from jobman_core.run.decide import CAUSE_OF
from jobman_core.run.live_steps import end_steps
from jobman_core.run.record import record_outcome
from jobman_core.run.requests import REFUSED
from jobman_core.run.slices import Slices
from jobman_core.run.work import work_of


async def wind_down(ctx: JobContext) -> None:
    """Bring a job to what is wanted of it, other than running.

    Its attempts end on every host and are released; a slice that is not ready is given back, and
    a ready one too where the job is cancelled or deleted.

    Raises:
        UnfinishedError: hosts are silent, or a slice is not confirmed absent, after a minute.
    """
    record = await ctx.record()
    desired = record.job.desired
    cause = CAUSE_OF.get(desired, Cause.STOPPED)
    keeps = desired in (Desired.RUNNING, Desired.STOPPED)
    try:
        patience = STOP_LIMIT if keeps else SHORT_LIMIT
        await end_attempts(ctx, cause, patience=patience)
    except UnfinishedError as error:
        if keeps:
            raise
        # The slice is not wanted any more, and its absence is proof as well.
        ctx.journal.job(f"{error}: deletes the slice")
        await give_back(ctx, [s for s in await ctx.store.slices(ctx.job.id) if s.held])
        await end_attempts(ctx, cause)
    preparing = record.job.step is Step.PREPARE
    record = await ctx.record()
    slices = list(record.withdrawing)
    current = record.slice
    # A job that is only over keeps its slice, unless that was withdrawn with its end.
    wanted_gone = desired is not Desired.RUNNING
    if wanted_gone and current is not None and current.held and current not in slices:
        keep = False
        if desired is Desired.STOPPED and current.state != REFUSED:
            # What is given back below is what was seen here: a loss stays on the books.
            current, seen = await Slices(ctx, ctx.clock.sleep).look(current)
            keep = current.phase is SlicePhase.READY and not isinstance(seen, Absent)
        if not keep:
            slices.append(current)
        elif preparing:
            _check_reach(ctx)
            await end_steps(ctx, current)
    await give_back(ctx, slices)


async def end_attempts(
    ctx: JobContext,
    cause: str,
    *,
    only: Callable[[Attempt], bool] = lambda _: True,
    patience: float = STOP_LIMIT,
) -> Sequence[Attempt]:
    """End attempts that nobody follows, prove it, record what became of them, and give them.

    Which there are is read here, under the lease: whoever had it before may have launched one of
    them after anybody else had looked.

    Raises:
        UnfinishedError: hosts were silent for so many seconds, or do not let this account in.
    """
    attempts = [attempt for attempt in (await ctx.record()).attempts if only(attempt)]
    slices = {s.generation: s for s in await ctx.store.slices(ctx.job.id)}
    for attempt in attempts:
        slice_ = slices.get(attempt.generation)
        why = attempt.end_cause or cause
        if slice_ is None or not slice_.held or not attempt.hosts:
            # Hosts are written down before anything is launched on them: nothing ever ran.
            await record_outcome(ctx, attempt, interrupted(why), slice_)
            continue
        _check_reach(ctx)
        work = await work_of(ctx, attempt)
        run = AttemptRun(ctx, Slices(ctx, ctx.clock.sleep), slice_, attempt)
        outcome = await run.end(work, why, patience=patience)
        await record_outcome(ctx, attempt, outcome, slice_)
        await run.make_up(work, outcome)
    return attempts


def _check_reach(ctx: JobContext) -> None:
    """Raise UnfinishedError where this account cannot see to what runs on the job's hosts."""
    if not ctx.reaches_hosts:
        job, user = ctx.job.id, ctx.job.user
        msg = (
            f"what runs of job {job} ends by {user}'s keys alone, with their `jobman resume --all`:"
            f" the wish stays on the books; `jobman cancel {job}` gives its slice back"
        )
        raise UnfinishedError(msg)


async def give_back(ctx: JobContext, slices: Iterable[Slice]) -> None:
    """Delete slices and confirm that they are gone; what is not in a minute stays withdrawn.

    Raises:
        UnfinishedError: one is not confirmed absent yet.
    """
    deadline = ctx.clock.monotonic() + STOP_LIMIT

    async def pause(seconds: float) -> None:
        if ctx.clock.monotonic() >= deadline:
            left = (slice_ for slice_ in await ctx.store.slices(ctx.job.id) if slice_.held)
            why = "; ".join(slice_.detail for slice_ in left if slice_.detail)
            msg = f"withdrawing: the slice is not confirmed absent yet{f' ({why})' if why else ''}"
            raise UnfinishedError(f"{msg}: the wish stays on the books")
        await ctx.clock.sleep(seconds)

    keeper = Slices(ctx, pause)
    for slice_ in slices:
        await keeper.give_back(slice_, pause)
