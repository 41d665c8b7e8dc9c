"""Who may act for a job: judging a lease, and keeping those of this process alive."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Final, Self

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import HeldError, StaleLeaseError, StoreError
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.lease import Controller, Lease, Liveness
from jobman_core.process import ProcessIdentity, boot_id, end, machine_id
from jobman_core.run.pulse import Pulse
from jobman_core.run.zones import Zones


@attrs.frozen
class Terms:
    """How long a lease holds without a beat, and how often its controller says that it lives."""

    #: Seconds.
    lease: float = 90.0
    beat: float = 15.0


#: Seconds until a beat that could not be written is tried again.
_BEAT_AGAIN: Final = 2.0
#: Seconds for which one who finds a beat late tries whether anybody could have written at all.
PATIENCE: Final = 0.5


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


async def end_hung(store: Store, controller: Controller) -> None:
    """Kill a controller that hangs, so that it does nothing more when it wakes.

    Raises:
        StoreError: nobody can write now, and so nobody can beat: it may be as well as we are.
    """
    if hindrance := await store.hindrance(patience=PATIENCE):
        raise StoreError(hindrance)
    await end(identity_of(controller), grace=0.0)


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
        #: Somebody took this process off the books, as by putting an older copy of them back.
        self.retired = False
        #: Leases that could not be given back when they were done with.
        self._left: list[Lease] = []
        #: What is heard of the store, for all jobs whose leases are taken here.
        self.pulse = Pulse(store, clock, self.id)
        #: What is seen of zones, for the same jobs and with those of all other processes.
        self.zones = Zones(store, clock, self.id)

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
        await self.zones.aclose()
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
            StoreError: nobody can write now, so that nobody can be said to hang either.
        """
        job, holder = record.job, record.holder
        if holder is not None and holder[1].id == self.id:
            # Left from before: it could not be given back then.
            return await self._store.take_lease(job.id, self.id, instead_of=holder[0])
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
                await end_hung(self._store, holder[1])
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
            try:
                await self._store.drop_lease(lease)
            except StoreError:
                self._left.append(lease)

    async def guard(self, lease: Lease, seconds: float) -> None:
        """Make sure that a lease outlasts an action that takes up to so many seconds.

        What takes longer than a whole lease (a checkout, a set-up) is begun under it and kept by
        beats. A process that hangs in it is killed by whoever takes its lease, before they take
        it: it never begins anything more. What it left on hosts is refused there by its epoch, or
        is waited for.

        Raises:
            StaleLeaseError: someone else has it: the action must not be begun.
        """
        now = self._clock.monotonic()
        if now + seconds > self._beaten + self._terms.lease:
            await self._store.beat(self.id, now)
            self._beaten = now
        await self._store.check_lease(lease)

    async def _beat_on(self) -> None:
        pause = self._terms.beat
        while True:
            await self._clock.sleep(pause)
            pause, now = self._terms.beat, self._clock.monotonic()
            try:
                await self._store.beat(self.id, now)
                while self._left:
                    await self._store.drop_lease(self._left[0])
                    del self._left[0]
            except StaleLeaseError:
                self.retired = True
                return
            except StoreError:
                # The lease runs out by itself if this lasts; guard() will say so.
                pause = min(pause, _BEAT_AGAIN)
            else:
                self._beaten = now
