"""One job's slices: asked for, adopted, watched, given back and confirmed gone."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import attrs

from jobman_core.errors import (
    CloudError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Step
from jobman_core.models.place import GiveUp, Place, PlaceContext, Refusal, Wait
from jobman_core.models.slice import (
    ASKED,
    GONE,
    Absent,
    Observation,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
    Unknown,
)
from jobman_core.run.context import JobContext
from jobman_core.run.place import place, wait_after

#: Seconds between two looks at a slice that is on its way in or out.
LOOK_EVERY: Final = 0.5
#: The same, once there were so many.
LOOK_EVERY_LATER: Final = 5.0
_MANY_LOOKS: Final = 20
#: How a generation stands on the books whose request was refused: nothing exists at the cloud.
REFUSED: Final = "REFUSED"

Pause = Callable[[float], Awaitable[None]]


class NoPlaceError(PermanentCloudError):
    """No candidate is left to ask."""


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
        self._refusals: dict[int, Refusal] = {}

    async def acquire(self) -> Slice:
        """Give a slice that is ready: the job's own where it has one, else a new one.

        Raises:
            NoPlaceError: every candidate refused for good.
            LostError: the job's own slice, which was ready once, is lost.
        """
        looks, current = 0, await self._current()
        while True:
            if current is None or current.state == REFUSED:
                current = await self._request(current)
                looks = 0
            seen = await self._ctx.observe(current)
            if isinstance(seen, Absent) and current.state == ASKED:
                # The request never got there, or is on its way: asking for the same is no harm.
                current = await self._ask(current, self._index(current.request))
                continue
            current = await self._note(current, seen)
            if current.phase is SlicePhase.READY:
                self._refusals.clear()
                return current
            if current.lost_at is not None:
                if current.ready_at is not None:
                    # What ran on it comes first: it is given back when this is called again.
                    raise LostError(current)
                await self.give_back(current, self._pause)
                current = None
                continue
            why = seen.why if isinstance(seen, Unknown) else current.detail
            await self._say(f"slice {current.identity.name} is {current.state}", why)
            looks += 1
            await self._pause(_pace(looks))

    async def look(self, slice_: Slice) -> tuple[Slice, Observation]:
        """Look at a slice once, and write down what changed."""
        seen = await self._ctx.observe(slice_)
        return await self._note(slice_, seen), seen

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
        looks = 0
        while True:
            try:
                # Asked for at every look: a delete of a thing on its way in can be lost.
                await ctx.delete(slice_)
                seen = await ctx.observe(slice_)
            except CloudError as error:
                ctx.journal.tpu(f"slice {slice_.identity.name} cannot be deleted yet: {error}")
                seen = Unknown(str(error))
            if isinstance(seen, Absent):
                break
            looks += 1
            await pause(_pace(looks))
        return await self._gone(slice_)

    async def _gone(self, slice_: Slice) -> Slice:
        ctx = self._ctx
        name = slice_.identity.name
        gone = attrs.evolve(slice_, gone_at=ctx.clock.now(), state=GONE, hosts=())
        await ctx.store.save_slice(ctx.lease, gone, Note("slice.gone", f"slice {name} is gone"))
        ctx.journal.tpu(f"slice {name} is gone")
        return gone

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

    async def _request(self, refused: Slice | None) -> Slice:
        """Ask for a slice wherever the policy says, until a cloud has taken the request on."""
        while True:
            chosen = await self._choose()
            slice_ = await self._book(chosen.request, refused)
            refused = await self._ask(slice_, chosen.index)
            if refused.state != REFUSED:
                return refused

    async def _ask(self, slice_: Slice, index: int) -> Slice:
        """Ask for a slice that is on the books; give it as it stands on them now."""
        ctx = self._ctx
        try:
            await ctx.create(slice_)
        except TransientCloudError as error:
            # It may be on its way all the same, so another place must wait for a look.
            refusal = self._remember(index, error)
            ctx.journal.tpu(f"{_words(slice_.request)}: {error}")
            await self._say(f"asks again for {_words(slice_.request)}", str(error))
            await self._pause(ctx.clock.jitter(wait_after(refusal)))
            return slice_
        except CloudError as error:
            return await self._refuse(index, slice_, error)
        ctx.journal.tpu(f"asked for slice {slice_.identity.name} ({_words(slice_.request)})")
        return slice_

    def _index(self, request: SliceRequest) -> int:
        """Give the candidate that a request came from; an edited file may not have it any more."""
        candidates = list(self._ctx.spec.candidates)
        return candidates.index(request) if request in candidates else 0

    def _remember(self, index: int, error: CloudError) -> Refusal:
        before = self._refusals.get(index)
        refusal = Refusal(
            self._ctx.clock.monotonic(),
            str(error),
            isinstance(error, PermanentCloudError),
            before.times + 1 if before else 1,
        )
        self._refusals[index] = refusal
        return refusal

    async def _choose(self) -> Place:
        ctx = self._ctx
        while True:
            context = PlaceContext(ctx.spec.candidates, dict(self._refusals), ctx.clock.monotonic())
            judged: tuple[str, Place | Wait | GiveUp] | None = await ctx.plugins.judge(
                "jobman_place",
                expect=(Place, Wait, GiveUp),
                refuse=partial(_no_candidate, context),
                context=context,
            )
            answer = judged[1] if judged else place(context)
            if isinstance(answer, GiveUp):
                raise NoPlaceError(answer.reason)
            if isinstance(answer, Place):
                return answer
            await self._say("waits for capacity", answer.reason)
            await self._pause(ctx.clock.jitter(answer.seconds))

    async def _book(self, request: SliceRequest, refused: Slice | None) -> Slice:
        """Put a request on the books before the cloud hears of it."""
        ctx = self._ctx
        if refused is not None:
            generation = refused.generation
        else:
            record = await ctx.record()
            generation = record.slice.generation + 1 if record.slice else 1
        identity = SliceIdentity(
            ctx.cloud.slice_name(ctx.spec.tpu_name, generation),
            request.zone,
            ctx.cloud.context.home_id,
            ctx.job.user,
            ctx.job.id,
            generation,
        )
        slice_ = Slice(ctx.job.id, generation, request, identity, ctx.clock.now())
        if refused is not None:
            await ctx.store.save_slice(ctx.lease, slice_)
        else:
            note = Note("slice.requested", f"asks for {_words(request)} as {identity.name}")
            await ctx.store.open_slice(ctx.lease, slice_, note)
        await self._say(f"asks for {_words(request)}")
        return slice_

    async def _refuse(self, index: int, slice_: Slice, error: CloudError) -> Slice:
        """Remember that a place refused; the generation stays on the books as refused."""
        ctx = self._ctx
        before = self._refusals.get(index)
        self._remember(index, error)
        kind = "slice.no_capacity" if isinstance(error, StockoutError) else "slice.refused"
        note = None if before and before.reason == str(error) else Note(kind, str(error))
        refused = attrs.evolve(slice_, state=REFUSED, detail=str(error))
        await ctx.store.save_slice(ctx.lease, refused, note)
        ctx.journal.tpu(f"{_words(slice_.request)} refused: {error}")
        return refused

    async def _note(self, slice_: Slice, seen: Observation) -> Slice:
        """Write down what a look at a slice showed, if it is news."""
        ctx = self._ctx
        name = slice_.identity.name
        match seen:
            case Unknown():
                return slice_
            case Absent():
                if slice_.lost_at is not None:
                    return slice_
                news = attrs.evolve(
                    slice_, phase=SlicePhase.LOST, state=GONE, lost_at=ctx.clock.now()
                )
                note = Note("slice.vanished", f"slice {name} is not there any more")
            case Present() if (seen.phase, seen.state, seen.detail) == (
                slice_.phase,
                slice_.state,
                slice_.detail,
            ):
                return slice_
            case Present():
                news, note = self._present(slice_, seen)
        await ctx.store.save_slice(ctx.lease, news, note)
        ctx.journal.tpu(note.text)
        return news

    def _present(self, slice_: Slice, seen: Present) -> tuple[Slice, Note]:
        name = slice_.identity.name
        news = attrs.evolve(
            slice_, phase=seen.phase, state=seen.state, detail=seen.detail, hosts=seen.hosts
        )
        now = self._ctx.clock.now()
        if seen.phase is SlicePhase.READY:
            news = attrs.evolve(news, ready_at=news.ready_at or now)
            return news, Note("slice.ready", f"slice {name} is ready")
        lost = seen.phase in (SlicePhase.LOST, SlicePhase.LOSING, SlicePhase.DELETING)
        if lost and slice_.lost_at is None:
            news = attrs.evolve(news, lost_at=now)
            kind = "slice.preempted" if seen.phase is not SlicePhase.DELETING else "slice.vanished"
            return news, Note(kind, f"slice {name} is lost: {seen.state}")
        return news, Note("slice.state", f"slice {name} is {seen.state}")

    async def _say(self, text: str, why: str = "") -> None:
        """Let people see what the job waits for."""
        text = f"{text}: {why}" if why else text
        await self._ctx.store.set_step(self._ctx.lease, Step.ACQUIRE, text)


class Watch:
    """Looks at a slice again and again while work runs on it, and says when it is lost."""

    def __init__(self, slices: Slices, slice_: Slice, ctx: JobContext) -> None:
        """Know the slice; looking begins with :meth:`lost`."""
        self._slices = slices
        self._ctx = ctx
        self._now = asyncio.Event()
        self.slice = slice_
        #: The newest look.
        self.seen: Observation = Unknown("not looked at yet")

    def look_now(self) -> None:
        """Do not wait for the next look: a host has fallen silent."""
        self._now.set()

    async def lost(self) -> Slice:
        """Return once the slice is lost, or about to be."""
        while True:
            self.slice, self.seen = await self._slices.look(self.slice)
            if self.slice.lost_at is not None:
                return self.slice
            self._now.clear()
            nap = asyncio.ensure_future(self._ctx.clock.sleep(self._ctx.cloud.look_every))
            hurry = asyncio.ensure_future(self._now.wait())
            try:
                await asyncio.wait((nap, hurry), return_when=asyncio.FIRST_COMPLETED)
            finally:
                nap.cancel()
                hurry.cancel()

    async def ended(self, pause: Pause) -> Slice:
        """Return once the cloud proves that nothing runs on the slice any more."""
        while not (self.slice.phase is SlicePhase.LOST or isinstance(self.seen, Absent)):
            await pause(LOOK_EVERY)
            self.slice, self.seen = await self._slices.look(self.slice)
        return self.slice


def _pace(looks: int) -> float:
    return LOOK_EVERY if looks < _MANY_LOOKS else LOOK_EVERY_LATER


def _no_candidate(context: PlaceContext, answer: Place | Wait | GiveUp) -> str:
    """Say what is wrong with a plugin's choice."""
    places = [Place(request, index) for index, request in enumerate(context.candidates)]
    return "" if not isinstance(answer, Place) or answer in places else "no such candidate"


def _words(request: SliceRequest) -> str:
    return f"{request.accelerator} in {request.zone}, {request.pricing}"
