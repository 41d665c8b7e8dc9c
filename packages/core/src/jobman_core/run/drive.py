"""What all the steps of a controller share: one job, its orders, its slices, its attempts."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from jobman_core.clock import in_seconds
from jobman_core.errors import NotFoundError
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Step
from jobman_core.models.outcome import Cause, Outcome
from jobman_core.models.slice import Slice
from jobman_core.models.task import TaskStatus
from jobman_core.run.attempt import AttemptRun
from jobman_core.run.context import JobContext
from jobman_core.run.decide import Decision, back_off
from jobman_core.run.orders import Ordered, Orders
from jobman_core.run.race import race
from jobman_core.run.record import record_outcome
from jobman_core.run.slices import LostError, Slices
from jobman_core.run.watch import Watch
from jobman_core.run.work import work_of

_T = TypeVar("_T")


class Drive:
    """One job being driven."""

    def __init__(self, ctx: JobContext, record: JobRecord) -> None:
        """Begin with what the store said when the lease was taken."""
        self.ctx = ctx
        self.orders = Orders(ctx, record)
        self.slices = Slices(ctx, self.orders.pause)
        #: Attempts in a row that a host lost without a record, on a slice that stood.
        self._odd_ends = 0

    async def step(self, step: Step, reason: str = "", *, until: datetime | None = None) -> None:
        """Write down where the job is, why it takes time, and until when if that is known."""
        await self.ctx.store.set_step(self.ctx.lease, step, reason, until=until)

    async def back_off(self, why: str, delay: float) -> None:
        """Leave some seconds, and a little more or less, before the next start."""
        delay = self.ctx.clock.jitter(delay)
        await self.step(Step.BACK_OFF, why, until=in_seconds(self.ctx.clock, delay))
        await self.orders.pause(delay)

    async def live_attempt(self) -> Attempt | None:
        """Give the attempt that the job has under way, launched or not."""
        record = await self.ctx.record()
        return record.attempts[0] if record.attempts else None

    async def attempt(self, slice_: Slice, attempt: Attempt) -> tuple[Decision, Outcome]:
        """Run or adopt an attempt to its end; gives its outcome, on record, and what follows.

        Raises:
            LostError: the slice was lost with it, and the job goes on.
        """
        ctx = self.ctx
        await self.step(Step.EXECUTE)
        run = AttemptRun(ctx, self.slices, slice_, attempt)
        work = await work_of(ctx, attempt)
        outcome = await run.run(work, self.orders)
        decision = await record_outcome(ctx, attempt, outcome, run.slice)
        await run.make_up(work, outcome)
        await self.tell_task(attempt, TaskStatus.RUNNING)
        if decision.ending is None:
            self.orders.check()
            if not run.slice.held or run.slice.lost_at is not None:
                raise LostError(run.slice)
            await self._slow_down(outcome)
        return decision, outcome

    async def tell_task(self, attempt: Attempt, old: TaskStatus) -> None:
        """Tell plugins that an attempt changed its task's status."""
        if attempt.queue is None or attempt.task is None:
            return
        try:
            task = await self.ctx.store.task(attempt.queue, attempt.task)
        except NotFoundError:
            # Removed from the file while it ran: there is no status any more that it could have.
            return
        if task.status is not old:
            await self.ctx.plugins.tell("jobman_task_changed", task=task, old=old, new=task.status)

    def watch(self, slice_: Slice) -> Watch:
        """Give what looks at a slice."""
        return Watch(self.slices, slice_, self.ctx)

    async def while_held(
        self, slice_: Slice, body: Coroutine[Any, Any, _T], watch: Watch | None = None
    ) -> _T:
        """Do something on a slice for as long as it is there and the job is wanted.

        Whatever is cut short here is on the books, and is found again there.

        Args:
            slice_: where.
            body: what to do.
            watch: looks at the slice, where the body asks it to as well.

        Raises:
            LostError: the slice was lost.
            Ordered: the job is wanted otherwise.
        """
        work = asyncio.create_task(body)
        watch = watch or self.watch(slice_)
        lost = asyncio.create_task(watch.lost())
        order = asyncio.create_task(self.orders.ordered())
        async with race(work, lost, order):
            if work.done():
                return work.result()
            if lost.done():
                raise LostError(lost.result())
            order.result()
            raise Ordered

    async def _slow_down(self, outcome: Outcome) -> None:
        """Leave more and more time between attempts that end before or without a program's word."""
        odd = outcome.cause in {Cause.HOST_LOST, Cause.SETUP_FAILED}
        self._odd_ends = self._odd_ends + 1 if odd else 0
        if self._odd_ends:
            why = f"goes on after a pause: {outcome.detail or outcome.cause}"
            await self.back_off(why, back_off(self._odd_ends + 1))
