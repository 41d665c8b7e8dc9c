"""The controller of one job: steps that can be entered at any point after a crash."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from jobman_core.command import Command
from jobman_core.errors import (
    CloudError,
    CommandFailedError,
    HeldError,
    HostUnreachableError,
    JobmanError,
    StaleLeaseError,
    StoreError,
    UnfinishedError,
)
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.job import Desired, Ending, EndingKind, Loop, Step
from jobman_core.models.outcome import Cause
from jobman_core.models.slice import Slice
from jobman_core.run.context import JobContext
from jobman_core.run.drive import Drive
from jobman_core.run.hosts import run_on_all
from jobman_core.run.modes import execute
from jobman_core.run.orders import Ordered
from jobman_core.run.record import unwanted
from jobman_core.run.slices import LostError, NoPlaceError
from jobman_core.run.wind_down import end_attempts, give_back, wind_down

#: Seconds between two tries to go on when store, cloud or hosts do not let it.
RETRY_EVERY: Final = 5.0
#: Seconds that a host may take to say that it is there.
REACH_LIMIT: Final = 20.0
#: Seconds between two tries to reach hosts that are silent.
REACH_EVERY: Final = 2.0
#: Seconds that one command of an environment's set-up may take.
SET_UP_LIMIT: Final = 3600.0


class Controller:
    """Drives one job until its work ends, or its owner wants it otherwise."""

    def __init__(self, ctx: JobContext, record: JobRecord) -> None:
        """Begin with what the store said when the lease was taken."""
        self._ctx = ctx
        self._drive = Drive(ctx, record)

    async def drive(self, *, set_up: bool = True) -> None:
        """Do all the steps, again and again, until the job has an ending or an order.

        Args:
            set_up: prepare the hosts before work; False runs the work on the slice as it is.

        Raises:
            StaleLeaseError: someone else drives the job now; nothing more was done here.
        """
        ctx, orders = self._ctx, self._drive.orders
        async with orders.listening(), self._mirroring():
            while True:
                try:
                    if orders.desired is Desired.RUNNING:
                        await self._work(set_up=set_up)
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
                    ctx.journal.job(f"goes on in {RETRY_EVERY:g} s: {error}")
                    await ctx.clock.sleep(RETRY_EVERY)
                else:
                    ctx.journal.job("is over")
                    return

    async def _work(self, *, set_up: bool) -> None:
        drive = self._drive
        while True:
            await self._settle_old_attempts()
            try:
                slice_ = await drive.slices.acquire()
                if set_up:
                    await self._prepare(slice_)
                ending = await execute(drive, slice_)
            except LostError as lost:
                self._ctx.journal.tpu(str(lost))
                if self._ctx.spec.loop is not Loop.NEVER:
                    continue
                ending = Ending(EndingKind.PREEMPTED, f"{lost}, and job.loop is false")
            except NoPlaceError as error:
                ending = Ending(EndingKind.FAILED, str(error))
            except (CommandFailedError, HeldError) as error:
                if isinstance(error, StaleLeaseError):
                    raise
                ending = Ending(EndingKind.FAILED, str(error))
            await self._end(ending)
            return

    async def _settle_old_attempts(self) -> None:
        """Record as interrupted what was under way on slices that are lost or given back."""
        ctx = self._ctx
        record = await ctx.record()
        standing = {
            s.generation
            for s in await ctx.store.slices(ctx.job.id)
            if s.held and not s.withdrawn and s.lost_at is None
        }
        old = [attempt for attempt in record.attempts if attempt.generation not in standing]
        await end_attempts(ctx, old, Cause.PREEMPTED)

    async def _prepare(self, slice_: Slice) -> None:
        """Reach every host, and make the environment there."""
        drive, ctx = self._drive, self._ctx
        await drive.step(Step.PREPARE, "reaches its hosts")
        hosts = ctx.hosts(slice_)
        hello = Command(("true",), transient=True)
        await drive.while_held(slice_, self._run(slice_, hosts, hello, REACH_LIMIT))
        if ctx.environment is None:
            return
        await drive.step(Step.PREPARE, f"sets up {ctx.environment.name}")
        for command in ctx.environment.setup(ctx.spec, None):
            await drive.while_held(slice_, self._run(slice_, hosts, command, SET_UP_LIMIT))

    async def _run(
        self, slice_: Slice, hosts: Sequence[Host], command: Command, limit: float
    ) -> None:
        """Run a command on every host; return once it ended well on all of them.

        Raises:
            CommandFailedError: it did not.
            LostError: hosts were silent for too long, and the slice was given back.
        """
        ctx = self._ctx
        since = ctx.clock.monotonic()
        while True:
            await ctx.guard()
            try:
                await run_on_all(hosts, command, limit=limit, what=command.argv[0])
            except HostUnreachableError as error:
                if ctx.clock.monotonic() - since >= ctx.spec.unreachable_timeout:
                    ctx.journal.job(f"{error}: gives the slice back, to get another")
                    await self._drive.slices.give_back(slice_, ctx.clock.sleep)
                    raise LostError(slice_) from error
                await self._drive.step(Step.PREPARE, str(error))
                await ctx.clock.sleep(REACH_EVERY)
            else:
                return

    async def _end(self, ending: Ending) -> None:
        """Write down how the job ended, and give back what nobody wants any more."""
        ctx = self._ctx
        record = await ctx.record()
        await end_attempts(ctx, record.attempts, Cause.PREEMPTED)
        if record.job.ending is None:
            back = unwanted(ctx, ending, record.slice)
            await ctx.store.set_ending(ctx.lease, ending, give_back=back)
        ctx.journal.job(f"{ending.kind}: {ending.reason}")
        try:
            await give_back(ctx, (await ctx.record()).withdrawing)
        except JobmanError as error:
            # The ending stands, and the slice is on the books as withdrawn.
            ctx.journal.tpu(str(error))

    @contextlib.asynccontextmanager
    async def _mirroring(self) -> AsyncIterator[None]:
        """Keep the readable state file of the job's queue up to date."""
        if self._ctx.job.queue is None:
            yield
            return
        path = Path(self._ctx.job.queue)
        mirror = asyncio.create_task(self._mirror_on(path))
        try:
            yield
        finally:
            mirror.cancel()
            await asyncio.gather(mirror, return_exceptions=True)
            # A view that is behind is brought up to date by the next who looks.
            with contextlib.suppress(StoreError):
                await self._ctx.queues.mirror(path, now=True)

    async def _mirror_on(self, path: Path) -> None:
        news: int | None = None
        while True:
            heard = self._drive.orders.news
            try:
                if heard != news and await self._ctx.queues.mirror(path):
                    news = heard
            except JobmanError as error:
                # A view that cannot be written ends nobody's work.
                self._ctx.journal.queue(f"the state file cannot be written now: {error}")
                news = heard
            await self._drive.orders.next_look()
