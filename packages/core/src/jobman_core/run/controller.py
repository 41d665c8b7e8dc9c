"""The controller of one job: a list of steps that can be entered at any point after a crash."""

from typing import Final

import attrs

from jobman_core.command import Command
from jobman_core.errors import (
    CommandFailedError,
    HostUnreachableError,
    JobmanError,
    StaleLeaseError,
)
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import (
    CommandMode,
    Ending,
    EndingKind,
    HoldMode,
    Loop,
    OnEnd,
    QueueMode,
    Step,
)
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind
from jobman_core.models.slice import Offer, Slice, SlicePhase
from jobman_core.run.attempt import AttemptRun
from jobman_core.run.context import JobContext
from jobman_core.run.decide import Action, back_off, decide
from jobman_core.run.hosts import on_all
from jobman_core.run.orders import Ordered, Orders
from jobman_core.run.slices import NoPlaceError, Slices, Watch
from jobman_core.run.wind_down import end_attempts, give_back, wind_down
from jobman_core.run.work import work_of

#: Seconds between two looks for a task, or at a slice that is held.
IDLE_EVERY: Final = 1.0
#: Seconds that a host may take to say that it is there.
REACH_LIMIT: Final = 20.0


class _Lost(Exception):  # noqa: N818 - not an error: slices come and go
    """The slice is gone or going."""

    def __init__(self, slice_: Slice) -> None:
        self.slice = slice_
        super().__init__(slice_.identity.name)


class Controller:
    """Drives one job until its work ends or its owner wants it otherwise."""

    def __init__(self, ctx: JobContext, record: JobRecord) -> None:
        """Keep what it acts with."""
        self._ctx = ctx
        self._orders = Orders(ctx, record)
        self._slices = Slices(ctx, self._orders.pause)
        #: Interruptions in a row on a slice that stood: something there ends programs.
        self._odd_ends = 0

    async def drive(self) -> None:
        """Do all the steps, again and again, until the job has an ending or an order.

        Raises:
            StaleLeaseError: someone else drives the job now; nothing more was done here.
            UnfinishedError: an order could not be carried out to the end yet.
        """
        ctx = self._ctx
        async with self._orders.listening():
            try:
                await self._settle_old_attempts()
                await self._work()
            except Ordered:
                ctx.journal.job("is not wanted running any more: ends what runs")
                await wind_down(ctx)
            except StaleLeaseError:
                ctx.journal.job("another controller has this job now: leaves everything to it")
                raise
            except NoPlaceError as error:
                await self._end(Ending(EndingKind.FAILED, str(error)))
        ctx.journal.job("ends")

    async def _work(self) -> None:
        while True:
            slice_ = await self._slices.acquire()
            try:
                await self._prepare(slice_)
                ending = await self._execute(slice_)
            except _Lost as lost:
                self._ctx.journal.tpu(f"lost slice {lost.slice.identity.name}")
                if self._ctx.spec.loop is Loop.NEVER:
                    reason = f"slice {lost.slice.identity.name} was lost, and job.loop is false"
                    ending = Ending(EndingKind.PREEMPTED, reason)
                else:
                    continue
            await self._end(ending)
            return

    async def _settle_old_attempts(self) -> None:
        """Release what a lost controller left running on slices that are gone since."""
        record = await self._ctx.record()
        held = {
            s.generation
            for s in await self._ctx.store.slices(self._ctx.job.id)
            if s.held and not s.withdrawn and s.lost_at is None
        }
        if gone := [a for a in record.attempts if a.generation not in held]:
            await end_attempts(self._ctx, gone, Cause.PREEMPTED)

    # -- prepare ---------------------------------------------------------------------------

    async def _prepare(self, slice_: Slice) -> None:
        """Reach every host, and make the environment there."""
        ctx = self._ctx
        await self._step(Step.PREPARE, "reaches its hosts")
        hosts = ctx.hosts(slice_)
        hello = Command(("true",), transient=True)
        await self._until_reached(slice_, lambda: on_all(hosts, lambda h: h.run(hello, limit=REACH_LIMIT)))

    async def _until_reached(self, slice_: Slice, action) -> None:
        raise NotImplementedError
