"""Who may act for a job: judging a lease, and keeping those of this process alive."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Self

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import HeldError, StaleLeaseError, StoreError
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.lease import Controller, Lease, Liveness
from jobman_core.process import ProcessIdentity, boot_id, end, machine_id


@attrs.frozen
class Terms:
    """How long a lease holds without a beat, and how often its controller says that it lives."""

    #: Seconds.
    lease: float = 90.0
    beat: float = 15.0


def liveness_of(holder: tuple[Lease, Controller] | None, now: float, terms: Terms) -> Liveness:
    """Say what is known of a lease's controller, by this machine's own clock and processes."""
    if holder is None:
        return Liveness.NONE
    controller = holder[1]
    if controller.machine != machine_id():
        return Liveness.ELSEWHERE
    if controller.boot_id != boot_id():
        return Liveness.DEAD
    match identity_of(controller).state():
        case "gone":
            return Liveness.DEAD
        case "stopped":
            return Liveness.HUNG
        case _:
            return Liveness.HUNG if now - controller.beat > terms.lease else Liveness.ALIVE


def identity_of(controller: Controller) -> ProcessIdentity:
    """Give the process that a controller's row names."""
    return ProcessIdentity(controller.pid, controller.pid_start, controller.boot_id)


class Tenure:
    """This process as a controller: registered, beating, and able to take leases."""

    def __init__(self, store: Store, clock: Clock, terms: Terms) -> None:
        """Know where to register; nothing is written yet."""
        self._store = store
        self._clock = clock
        self._terms = terms
        self._beaten = 0.0
        self._beating: asyncio.Task[None] | None = None
        self.id = os.urandom(16).hex()

    async def __aenter__(self) -> Self:
        """Register, and begin to beat."""
        self._beaten = self._clock.monotonic()
        me = ProcessIdentity.of(os.getpid())
        await self._store.register(
            Controller(self.id, machine_id(), me.boot_id, me.pid, me.start, self._beaten)
        )
        self._beating = asyncio.create_task(self._beat_on())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop beating, and give up all leases."""
        if self._beating is not None:
            self._beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._beating
        # A database that cannot be written leaves a row that everybody can see is dead.
        with contextlib.suppress(StoreError):
            await self._store.retire(self.id)

    async def take(self, record: JobRecord) -> Lease:
        """Take a job's lease; a controller that hangs on this machine is killed first.

        Raises:
            HeldError: a live controller has it.
        """
        job, holder = record.job, record.holder
        match liveness_of(holder, self._clock.monotonic(), self._terms):
            case Liveness.ALIVE | Liveness.ELSEWHERE:
                assert holder is not None  # noqa: S101 - what the two mean
                msg = (
                    f"job {job.id} has a live controller (process {holder[1].pid}): "
                    f"`jobman stop {job.id}` ends it"
                )
                raise HeldError(msg)
            case Liveness.HUNG:
                assert holder is not None  # noqa: S101 - what it means
                await end(identity_of(holder[1]), grace=0.0)
            case Liveness.NONE | Liveness.DEAD:
                pass
        return await self._store.take_lease(
            job.id, self.id, instead_of=holder[0] if holder else None
        )

    @contextlib.asynccontextmanager
    async def lease(self, record: JobRecord) -> AsyncIterator[Lease]:
        """Hold a job's lease for the length of a block."""
        lease = await self.take(record)
        try:
            yield lease
        finally:
            with contextlib.suppress(StoreError):
                await self._store.drop_lease(lease)

    async def guard(self, lease: Lease, seconds: float) -> None:
        """Make sure that a lease outlasts an action that takes up to so many seconds.

        Raises:
            StaleLeaseError: someone else has it: the action must not be begun.
        """
        now = self._clock.monotonic()
        if now + seconds > self._beaten + self._terms.lease:
            await self._store.beat(self.id, now)
            self._beaten = now
        await self._store.check_lease(lease)

    async def _beat_on(self) -> None:
        while True:
            await self._clock.sleep(self._terms.beat)
            now = self._clock.monotonic()
            try:
                await self._store.beat(self.id, now)
            except StaleLeaseError:
                return
            except StoreError:
                # The lease runs out by itself if this lasts; guard() will say so.
                continue
            self._beaten = now
