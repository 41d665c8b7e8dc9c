"""One job's slices: asked for, adopted, watched, given back and confirmed gone."""

import math
from typing import Final

import attrs

from jobman_core.errors import CloudError, HeldError, StaleLeaseError
from jobman_core.interfaces.store import Note
from jobman_core.models.slice import (
    ASKED,
    GONE,
    Absent,
    Observation,
    Present,
    Slice,
    SlicePhase,
    Unknown,
)
from jobman_core.run.context import JobContext
from jobman_core.run.let_go import let_go
from jobman_core.run.news import news_of, refusal_of
from jobman_core.run.requests import REFUSED, Pause, Requests, say
from jobman_core.run.stuck import Wait

#: Seconds between two looks at a slice that is on its way in or out.
LOOK_EVERY: Final = 0.5
#: The same, once there were so many.
LOOK_EVERY_LATER: Final = 5.0
_MANY_LOOKS: Final = 20
#: The least number of seconds between two looks at a whole zone.
ZONE_EVERY: Final = 1.0


class LostError(Exception):
    """The slice is gone or going: not a failure, slices come and go."""

    def __init__(self, slice_: Slice) -> None:
        """Name it."""
        self.slice = slice_
        super().__init__(f"slice {slice_.identity.name} is lost")


class Slices:
    """Gets slices for a job and gives them back. Each generation is on the books all its life."""

    def __init__(self, ctx: JobContext, pause: Pause) -> None:
        """Keep what it acts with.

        Args:
            ctx: the job.
            pause: waits so many seconds, and raises when the job is wanted otherwise.
        """
        self._ctx = ctx
        self._pause = pause
        self._wait = Wait(ctx)
        self._requests = Requests(ctx, self._wait_on)
        #: When the newest look at each generation began: seconds of the monotonic clock.
        self._looked: dict[int, float] = {}

    async def acquire(self) -> Slice:
        """Give a slice that is ready: the job's own where it has one, else a new one.

        Raises:
            NoPlaceError: every candidate refused for good.
            LostError: the job's own slice, which was ready once, is lost.
        """
        self._wait.begin()
        looks, current = 0, await self._current()
        while True:
            if current is not None and current.withdrawn:
                await self.give_back(current, self._pause)
                # The next generation: a delete of this one may still be on its way.
                current = None
            if current is None or current.state == REFUSED:
                current = self._asked(await self._requests.make(current))
                looks = 0
            seen = await self.glance(current, _pace(looks))
            if (refusal := refusal_of(current, seen)) is not None:
                husk = seen.state if isinstance(seen, Present) else ""
                current = await self._requests.refuse(current, refusal, husk=husk)
                continue
            if current.state == ASKED and not _is_there(current, seen):
                if current.request.among(self._ctx.spec.candidates) is None:
                    # The job's file was edited meanwhile, and asks for something else.
                    await self.give_back(current, self._pause)
                    current = None
                    continue
                # It never got there, or is on its way: asking for the same is no harm. Where others
                # have its name, the cloud says so.
                current = self._asked(await self._requests.repeat(current))
                continue
            current = await self.note(current, seen)
            if current.phase is SlicePhase.READY:
                await self._requests.fulfilled(current)
                return current
            if current.lost_at is not None:
                if current.ready_at is not None:
                    # What ran on it comes first: it is given back when this is called again.
                    raise LostError(current)
                self._requests.lost_early(current)
                await self.give_back(current, self._pause)
                current = None
                continue
            why = seen.why if isinstance(seen, Unknown) else current.detail
            await say(self._ctx, f"slice {current.identity.name} is {current.state}", why)
            looks += 1
            await self._wait_on(_pace(looks))

    async def _wait_on(self, seconds: float) -> None:
        """Wait for a slice, and let people know if that takes long."""
        await self._wait.tell()
        await self._pause(seconds)

    def _asked(self, slice_: Slice) -> Slice:
        # What was listed before knows nothing of it.
        self._looked[slice_.generation] = self._ctx.clock.monotonic()
        return slice_

    async def look(self, slice_: Slice) -> tuple[Slice, Observation]:
        """Look at a slice itself, now, and write down what changed."""
        seen = await self.observe(slice_)
        return await self.note(slice_, seen), seen

    async def observe(self, slice_: Slice) -> Observation:
        """Look at a slice itself, now."""
        self._looked[slice_.generation] = self._ctx.clock.monotonic()
        return await self._ctx.observe(slice_)

    async def glance(self, slice_: Slice, every: float) -> Observation:
        """Look at a slice as one of many, where its cloud can be looked at so.

        What is seen is newer than what was seen before. That a slice is not listed is not yet
        believed: it is looked at itself.

        Args:
            slice_: any generation.
            every: seconds between two such looks.
        """
        ctx = self._ctx
        if not ctx.cloud.looks_by_zone:
            return await self.observe(slice_)
        every = max(every, ZONE_EVERY)
        than = self._looked.get(slice_.generation, ctx.clock.monotonic() - every)
        seen, self._looked[slice_.generation] = await ctx.see(slice_, than=than, every=every)
        return await self.observe(slice_) if seen is None else seen

    def due_in(self, slice_: Slice) -> float:
        """Give the seconds until it is time for another look at a slice on which work runs."""
        clock, every = self._ctx.clock, self._ctx.cloud.look_every
        return self.looked_at(slice_) + every - clock.monotonic()

    def looked_at(self, slice_: Slice) -> float:
        """Give when the newest look at a slice began: seconds of the monotonic clock."""
        return self._looked.get(slice_.generation, -math.inf)

    async def give_back(self, slice_: Slice, pause: Pause) -> Slice:
        """Delete a slice, and return it once it is confirmed absent.

        From now on it is on the books as withdrawn, so that whoever comes next goes on with it.

        Args:
            slice_: any generation of the job.
            pause: waits between two looks; it may raise to give up waiting.
        """
        ctx = self._ctx
        if not slice_.withdrawn:
            slice_ = attrs.evolve(slice_, withdrawn=True)
            note = Note("slice.withdrawn", f"gives back slice {slice_.identity.name}")
            await ctx.store.save_slice(ctx.lease, slice_, note)
        if slice_.state == REFUSED:
            return await self._gone(slice_)
        await let_go(ctx, slice_)
        # The cloud has said a word about it: no request is on the wire any more.
        heard = slice_.state != ASKED
        absent_since: float | None = None
        looks, seen = 0, await self.observe(slice_)
        while True:
            seen = await self._delete(slice_, seen)
            if isinstance(seen, Unknown) and seen.why != slice_.detail:
                # For people, who see that it is not gone and ask why.
                slice_ = attrs.evolve(slice_, detail=seen.why)
                await ctx.store.save_slice(ctx.lease, slice_)
            now = ctx.clock.monotonic()
            if isinstance(seen, Absent):
                absent_since = now if absent_since is None else absent_since
                if heard or now - absent_since >= ctx.cloud.on_the_wire:
                    return await self._gone(slice_)
            else:
                heard, absent_since = heard or isinstance(seen, Present), None
            looks += 1
            await pause(_pace(looks))

    async def _delete(self, slice_: Slice, seen: Observation) -> Observation:
        """Ask for the end of a slice, by what was seen of it last; give what is seen then."""
        ctx = self._ctx
        try:
            # Asked for at every look: a delete of a thing on its way in can be lost. What is going
            # by itself is let go: programs may still be ending on it.
            if not (isinstance(seen, Present) and seen.phase is SlicePhase.LOSING):
                await ctx.delete(slice_)
            return await self.observe(slice_)
        except StaleLeaseError:
            raise
        except HeldError as error:
            if slice_.ready_at is not None and not _is_of_others(slice_, seen):
                # Somebody took the labels off: what runs there runs on.
                ctx.journal.retrying(str(error), of_slice=True)
                return Unknown(str(error))
            ctx.journal.retrying(f"{error}: none of that name is this job's", of_slice=True)
            return Absent()
        except CloudError as error:
            why = f"slice {slice_.identity.name} cannot be deleted yet: {error}"
            ctx.journal.retrying(why, of_slice=True)
            return Unknown(str(error))

    async def _gone(self, slice_: Slice) -> Slice:
        ctx = self._ctx
        name = slice_.identity.name
        gone = attrs.evolve(slice_, gone_at=ctx.clock.now(), state=GONE, hosts=(), detail="")
        await ctx.store.save_slice(ctx.lease, gone, Note("slice.gone", f"slice {name} is gone"))
        ctx.journal.tpu(f"slice {name} is gone")
        return gone

    async def note(self, slice_: Slice, seen: Observation) -> Slice:
        """Write down what a look at a slice showed, if it is news."""
        ctx = self._ctx
        news = news_of(slice_, seen, ctx.clock.now())
        if news is None:
            return slice_
        now, note = news
        await ctx.store.save_slice(ctx.lease, now, note)
        ctx.journal.tpu(note.text)
        return now

    async def _current(self) -> Slice | None:
        """Give the generation that the job uses or waits for; what is lost is seen off first."""
        record = await self._ctx.record()
        for old in record.withdrawing:
            await self.give_back(old, self._pause)
        current = record.slice
        if current is None or not current.held or current.withdrawn:
            return None
        if current.lost_at is not None:
            await self.give_back(current, self._pause)
            return None
        return current


def _is_there(slice_: Slice, seen: Observation) -> bool:
    """Tell whether a slice may be at the cloud, for all that is known."""
    match seen:
        case Absent():
            return False
        case Present():
            return seen.is_of(slice_.identity)
        case Unknown():
            return True


def _is_of_others(slice_: Slice, seen: Observation) -> bool:
    """Tell whether another job or home says that the slice of that name is its own."""
    return (
        isinstance(seen, Present)
        and bool(seen.labels.get("jobman-home"))
        and not seen.is_of(slice_.identity)
    )


def _pace(looks: int) -> float:
    return LOOK_EVERY if looks < _MANY_LOOKS else LOOK_EVERY_LATER
