"""What a job does with a slice that is ready: run its command, serve a queue, or hold it."""

from pathlib import Path
from typing import Final

from jobman_core.models.accelerator import Accelerator
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import CommandMode, Ending, EndingKind, HoldMode, QueueMode, Step
from jobman_core.models.slice import Offer, Slice
from jobman_core.models.task import TaskStatus
from jobman_core.run.drive import Drive

#: Seconds between two wake-ups of a job that only holds its slice.
HOLD_EVERY: Final = 3600.0


async def execute(drive: Drive, slice_: Slice) -> Ending:
    """Run what the job is for on a slice, until that ends.

    Raises:
        LostError: the slice was lost, and what ran on it is recorded as interrupted.
        Ordered: the job is wanted otherwise.
    """
    match drive.ctx.spec.work:
        case QueueMode() as mode:
            return await _serve_queue(drive, slice_, mode)
        case CommandMode():
            return await _run_command(drive, slice_)
        case HoldMode():
            return await drive.while_held(slice_, _hold(drive))


async def _run_command(drive: Drive, slice_: Slice) -> Ending:
    ctx = drive.ctx
    while True:
        attempt = await drive.live_attempt()
        if attempt is None:
            drive.orders.check()
            attempt = await ctx.store.open_attempt(
                ctx.lease, generation=slice_.generation, now=ctx.clock.now()
            )
        decision, outcome = await drive.attempt(slice_, attempt)
        if decision.ending is not None:
            return decision.ending
        if decision.delay:
            delay = ctx.clock.jitter(decision.delay)
            why = f"{outcome.detail or outcome.cause}; starts again in {delay:.0f} s"
            await drive.step(Step.BACK_OFF, why)
            await drive.orders.pause(delay)


async def _serve_queue(drive: Drive, slice_: Slice, mode: QueueMode) -> Ending:
    while True:
        drive.orders.check()
        attempt = await drive.live_attempt()
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
    asked: int | None = None
    while True:
        # Nothing can have become claimable while nobody wrote anything, here or there.
        if asked != drive.orders.news or await ctx.queues.changed(path):
            asked = drive.orders.news
            queue = await ctx.queues.refresh(path)
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
    if still_open:
        why = f"waits for tasks: {still_open} are open, none of them ready for it"
    else:
        why = f"waits for tasks: none is open for {offer.accelerator} in {offer.zone}"
    return f"{why}; {problem}" if problem else why


async def _hold(drive: Drive) -> Ending:
    await drive.step(Step.IDLE, "holds its slice, which costs; it has no command and no queue")
    while True:
        await drive.ctx.clock.sleep(HOLD_EVERY)
