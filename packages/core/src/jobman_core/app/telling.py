"""What a facade gives to those who tell people."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobman_core.app.opening import Opening

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.models.notice import Notice


class TellingPart(Opening):
    """Notices, and what those who tell of them remember."""

    async def tell(
        self,
        who: str,
        deliver: "Callable[[Sequence[Notice]], Awaitable[None]]",
        *,
        settle: float = 5.0,
    ) -> None:
        """Give notices to someone who tells people of them, as they come, without end.

        Args:
            who: whose cursor it is, kept among what they :meth:`remember` under ``cursor``; one
                that is new begins with what comes from now on.
            deliver: tells of some; an error of jobman's brings the same ones again later.
            settle: seconds without another one after which a burst is told, at most 30 in all.
        """
        from jobman_core.courier import Courier

        hub = await self._ready()
        lab = hub.settings.notify
        await Courier(hub.store, hub.clock, who, deliver, lab=lab, settle=settle).run()

    async def notify_all(self) -> None:
        """Deliver to the lab's notifiers, without end, whenever no other process of the home does.

        Controllers do the same; one that fails is tried again, and disturbs nobody.
        """
        from jobman_core.notifiers import notifying

        async with notifying(await self._ready()):
            await asyncio.Event().wait()

    async def remember(self, who: str, facts: Mapping[str, Any]) -> None:
        """Write down what a front end needs between runs; None forgets a key."""
        await (await self._ready()).store.remember(who, facts)

    async def recall(self, who: str, *, prefix: str = "") -> Mapping[str, Any]:
        """Give what a front end wrote down, where the keys begin so."""
        return await (await self._ready()).store.recall(who, prefix=prefix)

    @contextlib.asynccontextmanager
    async def alone(self, name: str, what: str) -> AsyncIterator[None]:
        """Be the only process that does something for this home, for the length of a block.

        Args:
            name: what the lock is called: ``slackbot``.
            what: the same for people: ``a Slack bot``.

        Raises:
            HeldError: another process does it; the message says which.
            NotFoundError: there is no home.
        """
        from jobman_core.sole import sole

        await self._ready()
        with sole(self._home.lock(name), what, self._clock):
            yield
