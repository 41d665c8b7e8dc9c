"""The controller of one job: steps that can be entered at any point after a crash."""

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from jobman_core.errors import (
    CloudError,
    CommandFailedError,
    HeldError,
    InvalidInputError,
    JobmanError,
    StaleLeaseError,
    StoreError,
    UnfinishedError,
)
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.job import Desired, Ending, EndingKind, Loop, Step
from jobman_core.models.outcome import Cause
from jobman_core.models.slice import Slice
from jobman_core.run.context import JobContext
from jobman_core.run.drive import Drive
from jobman_core.run.host_step import HostStep
from jobman_core.run.modes import execute, is_work_of
from jobman_core.run.orders import Ordered
from jobman_core.run.prepare import Preparation, StepFailedError
from jobman_core.run.record import unwanted
from jobman_core.run.requests import NoPlaceError
from jobman_core.run.silence import SilentTooLongError
from jobman_core.run.slices import LostError
from jobman_core.run.steps import steps_of
from jobman_core.run.wind_down import end_attempts, give_back, wind_down

#: Seconds between two tries to go on when store, cloud or hosts do not let it.
RETRY_EVERY: Final = 5.0


class Controller:
    """Drives one job until its work ends, or its owner wants it otherwise."""

    def __init__(self, ctx: JobContext, record: JobRecord) -> None:
        """Begin with what the store said when the lease was taken."""
        self._ctx = ctx
        self._drive = Drive(ctx, record)
        #: The generation whose hosts this controller has prepared.
        self._prepared: int | None = None

    async def drive(self) -> None:
        """Do all the steps, again and again, until the job has an ending or an order.

        Raises:
            StaleLeaseError: someone else drives the job now; nothing more was done here.
        """
        ctx, orders = self._ctx, self._drive.orders
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(orders.listening())
            if ctx.job.queue is not None:
                mirroring = ctx.queues.mirroring(Path(ctx.job.queue), ctx.tenure.pulse)
                await stack.enter_async_context(mirroring)
            while True:
                try:
                    if orders.desired is Desired.RUNNING:
                        await self._work()
                    else:
                        ctx.journal.job(f"is to be {orders.desired}: ends what runs")
                        await wind_down(ctx)
                except Ordered:
                    continue
                except StaleLeaseError:
                    ctx.journal.job("another controller has this job now: leaves it alone")
                    raise
                except (StoreError, CloudError, UnfinishedError) as error:
                    # All of these pass: whatever is half done is found again on the books.
                    ctx.journal.retrying(f"tries again every {RETRY_EVERY:g} s: {error}")
                    await ctx.clock.sleep(RETRY_EVERY)
                else:
                    ctx.journal.job("is over")
                    return

    async def _work(self) -> None:
        drive, set_up = self._drive, self._ctx.set_up
        while True:
            await self._settle_old_attempts()
            try:
                if set_up:
                    await self._check_files()
                slice_ = await drive.slices.acquire()
                ending = await execute(drive, slice_, self._prepare if set_up else None)
            except LostError as lost:
                self._ctx.journal.tpu(str(lost))
                if self._ctx.spec.loop is not Loop.NEVER:
                    continue
                ending = Ending(EndingKind.PREEMPTED, f"{lost}, and job.loop is false")
            except NoPlaceError as error:
                ending = Ending(EndingKind.FAILED, str(error))
            except StepFailedError as error:
                ending = self._ending_of(error)
            except (CommandFailedError, InvalidInputError, HeldError) as error:
                if isinstance(error, StaleLeaseError):
                    raise
                ending = Ending(EndingKind.FAILED, str(error))
            await self._end(ending)
            return

    def _ending_of(self, error: StepFailedError) -> Ending:
        if not error.step.is_prefix:
            return Ending(EndingKind.FAILED, str(error))
        remedy = f"correct it in its config.yaml, then `jobman reboot {self._ctx.job.id}`"
        return Ending(EndingKind.PREFIX_FAIL, f"{error}; {remedy}")

    async def _settle_old_attempts(self) -> None:
        """End what was under way on slices that are gone, or is not what the job runs now."""
        ctx = self._ctx
        standing = {
            s.generation
            for s in await ctx.store.slices(ctx.job.id)
            if s.held and not s.withdrawn and s.lost_at is None
        }
        await end_attempts(ctx, Cause.PREEMPTED, only=lambda a: a.generation not in standing)
        # Its file may have been edited while nobody drove it.
        await end_attempts(ctx, Cause.REBOOTED, only=lambda a: not is_work_of(ctx, a))

    async def _check_files(self) -> None:
        """See that what hosts will need of this machine is here, before a slice costs anything.

        Raises:
            InvalidInputError: a file is missing, or cannot be used.
        """
        current = (await self._ctx.record()).slice
        if current is None or not current.held:
            await self._steps()

    async def _steps(self) -> Sequence[HostStep]:
        ctx = self._ctx
        return await asyncio.to_thread(steps_of, ctx.spec, ctx.environment, ctx.storages)

    async def _prepare(self, slice_: Slice) -> None:
        """Bring the hosts of a slice to where work can begin; done once by each controller.

        Raises:
            StepFailedError: a step went wrong.
            LostError: the slice was lost, or hosts were silent for too long and it was given back.
            Ordered: the job is wanted otherwise.
        """
        drive, ctx = self._drive, self._ctx
        if self._prepared == slice_.generation:
            return
        steps = await self._steps()
        watch = drive.watch(slice_)
        preparation = Preparation(ctx, watch, partial(drive.step, Step.PREPARE))
        try:
            await drive.while_held(slice_, preparation.make(steps), watch)
        except SilentTooLongError as error:
            ctx.journal.job(f"{error}: gives the slice back, to get another")
            await drive.slices.give_back(slice_, ctx.clock.sleep)
            raise LostError(slice_) from error
        self._prepared = slice_.generation

    async def _end(self, ending: Ending) -> None:
        """Write down how the job ended, and give back what nobody wants any more."""
        ctx = self._ctx
        await end_attempts(ctx, Cause.PREEMPTED)
        record = await ctx.record()
        if record.job.ending is None:
            back = unwanted(ctx, ending, record.slice)
            await ctx.store.set_ending(ctx.lease, ending, give_back=back)
        ctx.journal.job(f"{ending.kind}: {ending.reason}")
        try:
            await give_back(ctx, (await ctx.record()).withdrawing)
        except JobmanError as error:
            # The ending stands, and the slice is on the books as withdrawn.
            ctx.journal.tpu(str(error))
