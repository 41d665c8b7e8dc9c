"""Asking for a slice: where, on the books first, and what is remembered of who refused."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import Final

import attrs

from jobman_core.clock import in_seconds
from jobman_core.errors import (
    CloudError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Step
from jobman_core.models.place import (
    GiveUp,
    Place,
    PlaceContext,
    Refusal,
    Stockout,
    Wait,
    Where,
)
from jobman_core.models.slice import ASKED, Slice, SliceIdentity, SliceRequest
from jobman_core.run.context import JobContext
from jobman_core.run.place import empty, place, wait_after

#: How a generation stands on the books that was refused when it was first asked for, or of which
#: the cloud says that nothing came: nothing exists there, and nothing is on its way.
REFUSED: Final = "REFUSED"

#: Waits so many seconds, and may raise to give up waiting.
Pause = Callable[[float], Awaitable[None]]


class NoPlaceError(PermanentCloudError):
    """No candidate is left to ask."""


async def say(ctx: JobContext, text: str, why: str = "", *, until: datetime | None = None) -> None:
    """Let people see what a job without a slice waits for, and until when where that is known."""
    text = f"{text}: {why}" if why else text
    await ctx.store.set_step(ctx.lease, Step.ACQUIRE, text, until=until)


class Requests:
    """Asks for a job's slices, and remembers who refused, until one is ready."""

    def __init__(self, ctx: JobContext, pause: Pause) -> None:
        """Keep what it acts with."""
        self._ctx = ctx
        self._pause = pause
        self._refusals: dict[int, Refusal] = {}
        #: The generation that a cloud said to have taken on.
        self._taken_on: int | None = None

    async def make(self, refused: Slice | None) -> Slice:
        """Ask for a slice wherever the policy says, until a cloud has taken the request on.

        Args:
            refused: the generation to go on with; None: the next one.

        Raises:
            NoPlaceError: every candidate refused for good.
        """
        while True:
            request = (await self._choose()).request
            try:
                slice_ = await self._book(request, refused)
            except PermanentCloudError as error:
                # It names no account that could pay: nothing is on the books.
                self._remember(request, error)
                continue
            refused = await self._ask(slice_)
            if refused.state != REFUSED:
                return refused

    async def repeat(self, slice_: Slice) -> Slice:
        """Ask for the same once more, since the cloud knows nothing of it.

        Not at once where it was taken on before, and what came of it has vanished. A refusal says
        nothing about the earlier request, so the generation is withdrawn with it.
        """
        if self._taken_on == slice_.generation:
            name = slice_.identity.name
            await self._back_off(slice_, f"slice {name} was asked for, and there is none")
        return await self._ask(slice_, earlier=ASKED)

    async def refuse(self, slice_: Slice, error: CloudError, *, husk: str = "") -> Slice:
        """Remember that a place refused; the generation is on the books as refused.

        Args:
            slice_: what was asked for.
            error: why there is none.
            husk: the state of what is, or may be, left at the cloud, which is withdrawn with this;
                empty: nothing is.
        """
        ctx = self._ctx
        before = self._refusals.get(self._index(slice_.request))
        self._remember(slice_.request, error)
        kind = "slice.refused"
        if isinstance(error, StockoutError):
            kind = "slice.no_capacity"
            stockout = Stockout(ctx.clock.now(), str(error))
            await ctx.store.set_stockout(Where.of(slice_.request), stockout)
        note = None if before and before.reason == str(error) else Note(kind, str(error))
        refused = attrs.evolve(
            slice_, state=husk or REFUSED, detail=str(error), withdrawn=bool(husk)
        )
        await ctx.store.save_slice(ctx.lease, refused, note)
        ctx.journal.tpu(f"{_words(slice_.request)} refused: {error}")
        return refused

    def lost_early(self, slice_: Slice) -> None:
        """Remember that a slice was lost before it was ready: its place has to wait a little."""
        name = slice_.identity.name
        self._remember(
            slice_.request, TransientCloudError(f"slice {name} was lost before it was ready")
        )

    async def fulfilled(self, slice_: Slice) -> None:
        """Forget all refusals; the others hear that there is capacity."""
        self._refusals.clear()
        await self._ctx.store.set_stockout(Where.of(slice_.request), None)

    async def _ask(self, slice_: Slice, *, earlier: str = "") -> Slice:
        """Ask for a slice that is on the books; give it as it stands on them now.

        Args:
            slice_: what to ask for.
            earlier: the state of what an earlier request may have brought about.
        """
        ctx = self._ctx
        self._taken_on = None
        try:
            await ctx.create(slice_)
        except TransientCloudError as error:
            # It may be on its way all the same, so another place must wait for a look.
            ctx.journal.tpu(f"{_words(slice_.request)}: {error}")
            await self._back_off(slice_, str(error))
            return slice_
        except CloudError as error:
            return await self.refuse(slice_, error, husk=earlier)
        self._taken_on = slice_.generation
        ctx.journal.tpu(f"asked for slice {slice_.identity.name} ({_words(slice_.request)})")
        return slice_

    async def _back_off(self, slice_: Slice, why: str) -> None:
        """Leave a place alone for a while before it is asked for the same again."""
        refusal = self._remember(slice_.request, TransientCloudError(why))
        seconds = self._ctx.clock.jitter(wait_after(refusal))
        until = in_seconds(self._ctx.clock, seconds)
        await say(self._ctx, f"asks again for {_words(slice_.request)}", why, until=until)
        await self._pause(seconds)

    def _index(self, request: SliceRequest) -> int:
        """Give the candidate that a request came from; an edited file may not have it any more."""
        return request.among(self._ctx.spec.candidates) or 0

    def _remember(self, request: SliceRequest, error: CloudError) -> Refusal:
        index = self._index(request)
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
        ctx, candidates = self._ctx, self._ctx.spec.candidates
        while True:
            stockouts = await ctx.store.stockouts(map(Where.of, candidates))
            context = PlaceContext(
                candidates,
                dict(self._refusals),
                ctx.clock.monotonic(),
                empty(candidates, stockouts, ctx.clock.now()),
            )
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
            seconds = ctx.clock.jitter(answer.seconds)
            until = in_seconds(ctx.clock, seconds)
            await say(ctx, "waits for capacity", answer.reason, until=until)
            await self._pause(seconds)

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
            await ctx.cloud.project_of(request),
        )
        slice_ = Slice(ctx.job.id, generation, request, identity, ctx.clock.now())
        if refused is not None:
            await ctx.store.save_slice(ctx.lease, slice_)
        else:
            note = Note("slice.requested", f"asks for {_words(request)}, as {identity.name}")
            await ctx.store.open_slice(ctx.lease, slice_, note)
        await say(ctx, f"asks for {_words(request)}")
        return slice_


def _no_candidate(context: PlaceContext, answer: Place | Wait | GiveUp) -> str:
    """Say what is wrong with a plugin's choice."""
    places = [Place(request, index) for index, request in enumerate(context.candidates)]
    return "" if not isinstance(answer, Place) or answer in places else "no such candidate"


def _words(request: SliceRequest) -> str:
    return f"{request.accelerator} in {request.zone}, {request.pricing}"
