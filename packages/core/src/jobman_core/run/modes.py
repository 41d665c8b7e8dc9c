"""What a job does with a slice that is ready: run its command, serve a queue, or hold it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from jobman_core.models.accelerator import Accelerator
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import CommandMode, Ending, EndingKind, HoldMode, QueueMode, Step
from jobman_core.models.slice import Offer, Slice
from jobman_core.models.task import TaskStatus
from jobman_core.run.context import JobContext
from jobman_core.run.drive import Drive

#: Seconds between two wake-ups of a job that only holds its slice.
HOLD_EVERY: Final = 3600.0


#: Brings the hosts of a slice to where work can begin, unless that was done.
Prepare = Callable[[Slice], Awaitable[None]]


def is_work_of(ctx: JobContext, attempt: Attempt) -> bool:
    """Tell whether an attempt is of what a job runs now: its queue, or its command."""
    match ctx.spec.work:
        case QueueMode() as mode:
            return attempt.queue == (ctx.job.queue or mode.config)
        case CommandMode():
            return attempt.queue is None
        case HoldMode():
            return False


async def execute(drive: Drive, slice_: Slice, prepare: Prepare | None) -> Ending:
    """Run what the job is for on a slice, until that ends.

    A program that runs there already is not disturbed: its hosts are prepared once it has ended.

    Args:
        drive: the job.
        slice_: where.
        prepare: called before anything is begun there; None: the hosts are taken as they are.

    Raises:
        LostError: the slice was lost, and what ran on it is recorded as interrupted.
        Ordered: the job is wanted otherwise.
    """
    prepare = prepare or _as_it_is
    match drive.ctx.spec.work:
        case QueueMode() as mode:
            return await _serve_queue(drive, slice_, mode, prepare)
        case CommandMode():
            return await _run_command(drive, slice_, prepare)
        case HoldMode():
            await prepare(slice_)
            return await drive.while_held(slice_, _hold(drive))


async def _as_it_is(_: Slice) -> None:
    """Prepare nothing."""


async def _run_command(drive: Drive, slice_: Slice, prepare: Prepare) -> Ending:
    ctx = drive.ctx
    while True:
        attempt = await drive.live_attempt()
        if not _under_way(attempt):
            await prepare(slice_)
        if attempt is None:
            drive.orders.check()
            attempt = await ctx.store.open_attempt(
                ctx.lease, generation=slice_.generation, now=ctx.clock.now()
            )
        decision, outcome = await drive.attempt(slice_, attempt)
        if decision.ending is not None:
            return decision.ending
        if decision.delay:
            why = f"starts again after a pause: {outcome.detail or outcome.cause}"
            await drive.back_off(why, decision.delay)


def _under_way(attempt: Attempt | None) -> bool:
    """Tell whether an attempt may run on hosts, for all that is on record."""
    return attempt is not None and attempt.started_at is not None


async def _serve_queue(drive: Drive, slice_: Slice, mode: QueueMode, prepare: Prepare) -> Ending:
    while True:
        drive.orders.check()
        attempt = await drive.live_attempt()
        if not _under_way(attempt):
            await prepare(slice_)
        if attempt is None:
            attempt = await drive.while_held(slice_, _next_task(drive, slice_, mode))
        if attempt is None:
            return Ending(EndingKind.DONE, f"no task for {mode.idle_timeout:g} s")
        await drive.attempt(slice_, attempt)


async def _next_task(drive: Drive, slice_: Slice, mode: QueueMode) -> Attempt | None:
    """Wait for a task and claim it; None once there was none for as long as the job allows."""
    ctx, offer = drive.ctx, Offer.of(slice_)
    path = Path(ctx.job.queue or mode.config)
    idle_since = ctx.clock.monotonic()
    queue = None
    asked: int | None = None
    while True:
        # Nothing can have become claimable while nobody changed the queue, here or in its file.
        if (
            queue is None
            or asked != drive.orders.changes(queue.path)
            or await ctx.queues.changed(path)
        ):
            queue = await ctx.queues.refresh(path)
            # Before the claim: what changes after it is a reason to claim again.
            asked = drive.orders.changes(queue.path)
            claim = await ctx.store.claim(
                ctx.lease,
                queue.path,
                offer,
                generation=slice_.generation,
                now=ctx.clock.now(),
            )
            if claim is not None:
                ctx.journal.queue(f"claims task {claim.task.id}")
                failed = claim.task.counters.fail_count > 0
                old = TaskStatus.RETRY if failed else TaskStatus.PENDING
                await drive.tell_task(claim.attempt, old)
                return claim.attempt
            await drive.step(Step.IDLE, await _why_idle(drive, queue.path, offer, queue.problem))
        idle = ctx.clock.monotonic() - idle_since
        if mode.idle_timeout is not None and idle >= mode.idle_timeout:
            return None
        await drive.orders.next_look()


async def _why_idle(drive: Drive, path: str, offer: Offer, problem: str) -> str:
    """Say what a worker without a task waits for."""
    fits = [
        demand
        for demand in await drive.ctx.store.demand(path)
        if Accelerator.parse(demand.accelerator).name == offer.accelerator
        and demand.zone in (None, offer.zone)
    ]
    still_open = sum(demand.open for demand in fits)
    if still_open == 1:
        why = "waits for tasks: 1 is open, and not ready for it"
    elif still_open:
        why = f"waits for tasks: {still_open} are open, none of them ready for it"
    else:
        why = f"waits for tasks: none is open for {offer.accelerator} in {offer.zone}"
    return f"{why}; {problem}" if problem else why


async def _hold(drive: Drive) -> Ending:
    await drive.step(Step.IDLE, "holds its slice: it has no command and no queue")
    while True:
        await drive.ctx.clock.sleep(HOLD_EVERY)
