"""What people want of a job while its controller runs: the store is looked at once a second."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from jobman_core.errors import JobmanError, StoreError
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.outcome import Cause
from jobman_core.models.status import JobFacts, JobStatus, status_of
from jobman_core.run.context import JobContext
from jobman_core.run.decide import CAUSE_OF

#: Seconds between two looks; a look where nothing changed costs one cheap question.
LOOK_EVERY: Final = 1.0
#: Seconds that plugins get to hear of the end before the controller leaves.
FAREWELL: Final = 1.0


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
        self.desired = record.job.desired
        #: Rises whenever anybody changed anything in the store.
        self.news = 0
        self._asked: dict[str, str] = {}
        #: Why nothing is heard any more: another controller has the job, or a fault of our own.
        self._deaf: Exception | None = None
        self._status: JobStatus | None = None
        self._heard = asyncio.Condition()
        self._looked = asyncio.Event()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Listen for the length of a block."""
        listener = asyncio.create_task(self._listen())
        try:
            yield
        finally:
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener
        # How it came to its end is news too, and the listener has not looked since; where the store
        # has no answer, or the job no more, nothing depends on it.
        with contextlib.suppress(JobmanError):
            await self._hear(await self._ctx.record())
        await self._ctx.plugins.settle(FAREWELL)

    async def pause(self, seconds: float) -> None:
        """Wait; shorter where there is news.

        Raises:
            Ordered: the job is not wanted running any more.
        """
        self.check()
        nap = asyncio.ensure_future(self._ctx.clock.sleep(seconds))
        news = asyncio.ensure_future(self.ordered())
        try:
            await asyncio.wait((nap, news), return_when=asyncio.FIRST_COMPLETED)
        finally:
            nap.cancel()
            news.cancel()
            await asyncio.gather(nap, news, return_exceptions=True)
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
        """Return after the store was looked at once more: the pulse of all that waits for news."""
        await self._looked.wait()
        self._check_place()

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

    async def _listen(self) -> None:
        seen: int | None = None
        while True:
            try:
                version = await self._ctx.store.version()
                if version != seen:
                    # Whoever takes the lease changes the store: an old controller hears of it here.
                    await self._ctx.store.check_lease(self._ctx.lease)
                    await self._hear(await self._ctx.record())
                    seen = version
                    self.news += 1
            except StoreError as error:
                # It says so in the log and goes on: what runs on the hosts needs no database.
                self._ctx.journal.job(f"the store cannot be read now: {error}")
            except Exception as error:  # noqa: BLE001 - whoever waits for orders raises it
                async with self._heard:
                    self._deaf = error
                    self._heard.notify_all()
                self._looked.set()
                return
            looked, self._looked = self._looked, asyncio.Event()
            looked.set()
            await self._ctx.clock.sleep(LOOK_EVERY)

    async def _hear(self, record: JobRecord) -> None:
        async with self._heard:
            self.desired = record.job.desired
            self._asked = {a.token: a.end_cause for a in record.attempts if a.end_cause}
            self._heard.notify_all()
        facts = JobFacts(
            record.job, record.slice, record.withdrawing, record.attempts, Liveness.ALIVE
        )
        old, self._status = self._status, status_of(facts)[0]
        if old is not self._status:
            await self._ctx.plugins.tell(
                "jobman_job_changed", job=record.job, old=old, new=self._status
            )
