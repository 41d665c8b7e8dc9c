"""What people want of a job while its controller runs."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from jobman_core.errors import JobmanError, StoreError
from jobman_core.interfaces.store import JobRecord, Wish
from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.outcome import Cause
from jobman_core.models.status import JobFacts, JobStatus, status_of
from jobman_core.run.context import JobContext
from jobman_core.run.decide import CAUSE_OF
from jobman_core.run.race import race

#: Seconds that plugins get to hear of the end before the controller leaves.
FAREWELL: Final = 1.0

_STATUS_HOOK: Final = "jobman_job_changed"


class Ordered(Exception):  # noqa: N818 - not an error: the owner has other wishes
    """The job is not wanted running any more."""


class Orders:
    """Hears what is wanted of one job.

    Whatever waits here raises StaleLeaseError once another controller has the job: one that hung
    for long learns so when it wakes, and must not go on beside its successor.
    """

    def __init__(self, ctx: JobContext, record: JobRecord) -> None:
        """Begin with what the store said when the controller started."""
        self._ctx = ctx
        self._pulse = ctx.tenure.pulse
        self.lease = ctx.lease
        self.desired = record.job.desired
        self._asked: dict[str, str] = {}
        #: Why nothing is heard any more: another controller has the job, or a fault of our own.
        self._deaf: Exception | None = None
        #: What kept the last look from the store; said once, not every second.
        self._unreadable = ""
        self._status: JobStatus | None = None
        self._heard = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen for the length of a block."""
        async with self._pulse.listening(self):
            yield
        # How it came to its end is news too, and nobody has looked since; where the store has no
        # answer, or the job no more, nothing depends on it.
        with contextlib.suppress(JobmanError):
            await self._tell_status()
        await self._ctx.plugins.settle(FAREWELL)

    async def pause(self, seconds: float) -> None:
        """Wait; shorter where there is news.

        Raises:
            Ordered: the job is not wanted running any more.
        """
        self.check()
        nap = asyncio.ensure_future(self._ctx.clock.sleep(seconds))
        news = asyncio.ensure_future(self.ordered())
        async with race(nap, news):
            pass
        self.check()

    def check(self) -> None:
        """Raise Ordered if the job is not wanted running any more."""
        self._check_place()
        if self.desired is not Desired.RUNNING:
            raise Ordered

    def _check_place(self) -> None:
        if self._deaf is not None:
            raise self._deaf

    async def ordered(self) -> None:
        """Return once the job is not wanted running any more."""
        async with self._heard:
            await self._heard.wait_for(
                lambda: self._deaf is not None or self.desired is not Desired.RUNNING
            )
            self._check_place()

    async def next_look(self) -> None:
        """Return after the store was looked at once more."""
        await self._pulse.next_look()
        self._check_place()

    def changes(self, queue: str) -> int | None:
        """Give a number that rises whenever a queue changed; None: nobody has looked yet."""
        return self._pulse.changes(queue)

    async def end_of(self, token: str) -> str:
        """Return the cause once someone wants an attempt ended, or the job stopped."""
        async with self._heard:
            await self._heard.wait_for(
                lambda: self._deaf is not None or self._cause(token) is not None
            )
            self._check_place()
            return self._cause(token) or Cause.STOPPED

    def _cause(self, token: str) -> str | None:
        return self._asked.get(token) or CAUSE_OF.get(self.desired)

    # -- what the pulse tells --------------------------------------------------------------

    async def hear(self, wish: Wish) -> None:
        """Take in what is wanted now."""
        self._unreadable = ""
        if (wish.desired, wish.ends) != (self.desired, self._asked):
            async with self._heard:
                self.desired, self._asked = wish.desired, dict(wish.ends)
                self._heard.notify_all()
        # For one who listens: a record is some statements, and there may be thousands of jobs.
        if self._ctx.plugins.hears(_STATUS_HOOK):
            await self._tell_status()

    def unreadable(self, error: StoreError) -> None:
        """Say so, and go on."""
        if str(error) != self._unreadable:
            self._unreadable = str(error)
            self._ctx.journal.job(f"the store cannot be read now: {error}")

    async def deafen(self, error: Exception) -> None:
        """Let all who wait for orders raise this."""
        async with self._heard:
            self._deaf = error
            self._heard.notify_all()

    async def _tell_status(self) -> None:
        record = await self._ctx.record()
        facts = JobFacts(
            record.job, record.slice, record.withdrawing, record.attempts, Liveness.ALIVE
        )
        old, self._status = self._status, status_of(facts)[0]
        if old is not self._status:
            await self._ctx.plugins.tell(_STATUS_HOOK, job=record.job, old=old, new=self._status)
