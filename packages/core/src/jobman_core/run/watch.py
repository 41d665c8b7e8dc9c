"""Looking at a slice while work runs on it."""

import asyncio
from typing import Final

from jobman_core.errors import StoreError
from jobman_core.interfaces.store import Note
from jobman_core.models.slice import Observation, Slice, Unknown
from jobman_core.run.context import JobContext
from jobman_core.run.race import race
from jobman_core.run.slices import Slices

#: Seconds of silence under a slice that is there after which people are told, and the part of the
#: time for which it may last.
TELL_AFTER: Final = 120.0
_TELL_PART: Final = 0.5
#: Seconds between two looks that were asked for: many hosts may fall silent one after the other.
HURRY_EVERY: Final = 1.0


class Watch:
    """Looks at a slice again and again while work runs on it, and says when it is lost."""

    def __init__(self, slices: Slices, slice_: Slice, ctx: JobContext) -> None:
        """Know the slice; looking begins with :meth:`lost`."""
        self._slices = slices
        self._ctx = ctx
        self._now = asyncio.Event()
        #: Before then nobody looks because of being asked: seconds of the monotonic clock.
        self._calm_until = 0.0
        #: When the first and the last of the newest looks began that showed the slice.
        self._in_sight: tuple[float, float] | None = None
        #: When people were told of a silence: seconds of the monotonic clock.
        self._told_at: float | None = None
        self.slice = slice_
        #: The newest look.
        self.seen: Observation = Unknown("not looked at yet")

    def look_now(self) -> None:
        """Do not wait for the next look: a host has fallen silent."""
        self._now.set()

    def silence(self, since: float) -> float:
        """Give for how many seconds a host has been silent while its slice was seen to be there.

        Where the cloud is silent too, it may well be this machine that hears nobody: no such time
        counts, and none before it.

        Args:
            since: when the host fell silent: seconds of the monotonic clock.
        """
        if self._in_sight is None:
            return 0.0
        first, last = self._in_sight
        return last - max(since, first)

    async def tell_of_silence(self, since: float, why: str) -> None:
        """Let people know, once each time, of hosts that are silent for long under a slice.

        That of a host which began before they were told of another's is part of that.

        Args:
            since: when it began: seconds of the monotonic clock.
            why: which host it is, in words.
        """
        after = min(TELL_AFTER, _TELL_PART * self._ctx.spec.unreachable_timeout)
        told_at = self._told_at
        if (told_at is not None and since <= told_at) or self.silence(since) < after:
            return
        self._told_at = self._ctx.clock.monotonic()
        name, state = self.slice.identity.name, self.slice.state
        note = Note("hosts.silent", f"silent for {after:g} s while slice {name} is {state}: {why}")
        # Whether hosts are waited for does not depend on whether anybody can be told.
        try:
            await self._ctx.store.add_event(note, job=self._ctx.job.id)
        except StoreError:
            self._told_at = told_at

    async def lost(self) -> Slice:
        """Return once the slice is lost, or about to be."""
        pause = 0.0
        while True:
            self.seen = await self._look(pause)
            self._keep_in_sight()
            self.slice = await self._slices.note(self.slice, self.seen)
            if self.slice.lost_at is not None:
                return self.slice
            pause = self._slices.due_in(self.slice)

    def _keep_in_sight(self) -> None:
        if isinstance(self.seen, Unknown):
            self._in_sight = None
            return
        at = self._slices.looked_at(self.slice)
        self._in_sight = (self._in_sight[0] if self._in_sight else at, at)

    async def _look(self, pause: float) -> Observation:
        """Look when it is time; at once, and at the slice itself, where that was asked for."""
        regular = asyncio.ensure_future(self._look_after(pause))
        hurry = asyncio.ensure_future(self._asked())
        async with race(regular, hurry):
            if not hurry.done():
                return regular.result()
        self._now.clear()
        self._calm_until = self._ctx.clock.monotonic() + HURRY_EVERY
        return await self._slices.observe(self.slice)

    async def _look_after(self, pause: float) -> Observation:
        if pause > 0:
            await self._ctx.clock.sleep(pause)
        return await self._slices.glance(self.slice, self._ctx.cloud.look_every)

    async def _asked(self) -> None:
        """Return once somebody wants a look, and there was none for that a moment ago."""
        await self._now.wait()
        left = self._calm_until - self._ctx.clock.monotonic()
        if left > 0:
            await self._ctx.clock.sleep(left)
