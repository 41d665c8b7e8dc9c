"""Notifiers: whichever process of a home lives delivers to them, one process at a time."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from jobman_core.errors import CommandFailedError, JobmanError
from jobman_core.hub import Hub
from jobman_core.models.notice import Notice

# Who has no notifier pays for none.
if TYPE_CHECKING:
    from jobman_core.courier import Courier

_log = logging.getLogger(__name__)

#: Seconds between two tries to be the process that delivers.
TAKE_EVERY: Final = 10.0
#: Seconds that a notifier may take for what it is given at once.
DELIVER_LIMIT: Final = 120.0
#: Seconds for what is left when a process ends: it, or the next one, tells of the rest.
LAST_CHANCE: Final = 5.0


@contextlib.asynccontextmanager
async def notifying(hub: Hub) -> AsyncIterator[None]:
    """Deliver to the home's notifiers for the length of a block, unless another process does."""
    if not hub.settings.backends.get("notifiers"):
        yield
        return
    couriers = _Couriers(hub)
    task = asyncio.create_task(couriers.run())
    try:
        yield
    finally:
        if couriers.leave():
            await asyncio.wait([task], timeout=LAST_CHANCE)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Couriers:
    """A courier for each notifier of a home, in the process that has the lock."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._names = sorted(hub.settings.backends["notifiers"])
        self._running: list[Courier] = []

    def leave(self) -> bool:
        """Let all deliver what there is, and end; tells whether any has to."""
        for courier in self._running:
            courier.leave()
        return bool(self._running)

    async def run(self) -> None:
        """Deliver, once nobody else does."""
        from jobman_core.queue.lock import try_lock

        clock, path = self._hub.clock, self._hub.home.notices_lock
        while True:
            with contextlib.ExitStack() as stack:
                try:
                    taken = await asyncio.to_thread(stack.enter_context, try_lock(path))
                except OSError as error:
                    _log.warning("notifiers wait, as %s cannot be locked: %s", path, error)
                    taken = False
                if taken:
                    await asyncio.gather(*map(self._serve, self._names))
                    return
            await clock.sleep(clock.jitter(TAKE_EVERY))

    async def _serve(self, name: str) -> None:
        from jobman_core.courier import Courier

        hub = self._hub

        async def deliver(notices: Sequence[Notice]) -> None:
            await self._deliver(name, notices)

        who, lab = f"notifier {name}", hub.settings.notify
        courier = Courier(hub.store, hub.clock, who, deliver, lab=lab)
        self._running.append(courier)
        try:
            await courier.run()
        except Exception:  # noqa: BLE001 - a fault of ours ends what tells people, and no job
            _log.exception("notifier %s is given up until the next process comes", name)

    async def _deliver(self, name: str, notices: Sequence[Notice]) -> None:
        from jobman_core.run.patience import in_time

        hub = self._hub
        try:
            # It may be missing, or refuse its settings: jobs run on all the same.
            notifier = await asyncio.to_thread(hub.backends.notifier, name)
            asked = notifier.deliver(notices)
            await in_time(asked, hub.clock, DELIVER_LIMIT, f"notifier {name!r}")
        except JobmanError:
            raise
        except Exception as error:
            _log.debug("notifier %s failed", name, exc_info=error)
            said = " ".join(str(error).split())
            raise CommandFailedError(
                f"notifier {name!r} failed with {type(error).__name__}: {said}: tell its author"
            ) from error
