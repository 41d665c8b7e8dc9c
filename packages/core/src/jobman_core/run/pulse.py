"""What a process hears of the store: it looks once a second, for all the jobs that it drives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final, Protocol

from jobman_core.clock import Clock
from jobman_core.errors import StoreError
from jobman_core.interfaces.store import News, Store, Wish
from jobman_core.models.lease import Lease

#: Seconds between two looks; one where nothing changed costs a cheap question for all jobs.
LOOK_EVERY: Final = 1.0


class Listener(Protocol):
    """One job's ear."""

    lease: Lease

    async def hear(self, wish: Wish) -> None:
        """Take in what is wanted of the job, after somebody changed something in the store."""

    def unreadable(self, error: StoreError) -> None:
        """Know that the store cannot be read now; the next look may go better."""

    async def deafen(self, error: Exception) -> None:
        """Know that nothing will be heard any more, and why."""


class Pulse:
    """Looks at the store for as long as somebody listens."""

    def __init__(self, store: Store, clock: Clock, controller: str) -> None:
        """Keep what it looks at, for the jobs whose leases this controller has."""
        self._store = store
        self._clock = clock
        self._controller = controller
        self._listeners: dict[str, Listener] = {}
        self._looking: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()
        #: The store's version at the last look; None: look whatever it is.
        self._seen: int | None = None
        #: Somebody has begun to listen since the last look began.
        self._joined = False
        self._news = News()

    @contextlib.asynccontextmanager
    async def listening(self, listener: Listener) -> AsyncIterator[None]:
        """Let a job hear for the length of a block."""
        job = listener.lease.job
        self._listeners[job] = listener
        self._seen, self._joined = None, True
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())
        try:
            yield
        finally:
            del self._listeners[job]
            if not self._listeners:
                looking, self._looking = self._looking, None
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)

    def changes(self, queue: str) -> int | None:
        """Give a number that rises whenever a queue changed; None: nobody has looked yet."""
        return self._news.queues.get(queue)

    async def next_look(self) -> None:
        """Return after the store was looked at once more: the pulse of all that waits for news."""
        await self._looked.wait()

    async def _look_on(self) -> None:
        while True:
            # Who joins during a look may have a lease that is newer than what the look shows.
            listeners, self._joined = list(self._listeners.values()), False
            try:
                await self._look(listeners)
            except StoreError as error:
                # What runs on the hosts needs no database.
                for listener in listeners:
                    listener.unreadable(error)
            except Exception as error:  # noqa: BLE001 - whoever waits for orders raises it
                for listener in listeners:
                    await listener.deafen(error)
            looked, self._looked = self._looked, asyncio.Event()
            looked.set()
            await self._clock.sleep(LOOK_EVERY)

    async def _look(self, listeners: list[Listener]) -> None:
        version = await self._store.version()
        if version == self._seen:
            return
        # Until all have heard of it, the next look is for all of them again.
        self._seen = None
        self._news = await self._store.news(self._controller)
        heard = [await self._tell(listener) for listener in listeners]
        if all(heard) and not self._joined:
            self._seen = version

    async def _tell(self, listener: Listener) -> bool:
        """Tell one job; tells whether it need not be told again. Its faults are its own."""
        lease = listener.lease
        wish = self._news.wishes.get(lease.job)
        try:
            if wish is not None and wish.epoch == lease.epoch:
                await listener.hear(wish)
            else:
                await self._store.check_lease(lease)
        except StoreError as error:
            listener.unreadable(error)
            return False
        except Exception as error:  # noqa: BLE001 - whoever waits for orders raises it
            await listener.deafen(error)
        return True
