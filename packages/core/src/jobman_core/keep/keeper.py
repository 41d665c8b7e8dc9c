"""Looks at the slices of a keep list, and does what is due: remembered first."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import (
    CloudError,
    HeldError,
    JobmanError,
    PermanentCloudError,
    StoreError,
    TransientCloudError,
)
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.store import Store
from jobman_core.keep.policy import (
    Act,
    Memory,
    Verdict,
    identity_of,
    judge,
    judge_error,
    key_of,
    zone_of,
)
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.reap import KEPT, KeptSlice
from jobman_core.models.slice import Observation, Present, SliceIdentity, SliceRequest, Unknown
from jobman_core.models.zone import Zone
from jobman_core.run.patience import in_time

#: Whose facts they are in the store.
_WHO: Final = "keep"
#: Seconds that a cloud has for an answer.
_LIMIT: Final = 60.0

_T = TypeVar("_T")


@attrs.frozen
class Keeper:
    """Looks at the slices of a keep list, and asks again for those that have died."""

    store: Store
    cloud: Callable[[str], Cloud]
    home_id: str
    #: Whose they are, by label.
    user: str
    clock: Clock
    #: The account of those that name none; None: their cloud's own.
    project: str | None = None

    async def keep(self, kept: Sequence[KeptSlice]) -> Sequence[str]:
        """Look at all of them, and do what is due; gives what people should hear, a line each.

        Raises:
            StoreError: nothing can be remembered now, so nothing was begun.
        """
        facts = await self.store.recall(_WHO)
        wanted = {key_of(each): each for each in kept}
        told = await asyncio.gather(
            *(self._one(key, each, facts.get(key, {})) for key, each in wanted.items()),
            return_exceptions=True,
        )
        for each in told:
            if isinstance(each, BaseException):
                raise each
        lines = [line for each in told if not isinstance(each, BaseException) for line in each]
        return [*lines, *await self._forget([key for key in facts if key not in wanted])]

    async def _one(self, key: str, kept: KeptSlice, facts: Mapping[str, Any]) -> Sequence[str]:
        memory = Memory.read(facts)
        try:
            cloud, request = self.cloud(kept.cloud), self._request(kept)
            identity = await self._identity(cloud, kept, request, memory.generation)
            seen = await self._look(cloud, kept, identity)
        except StoreError:
            raise
        except JobmanError as error:
            verdict = judge_error(kept, Act.NOTHING, memory, error, self.clock.now())
            return await self._note(key, facts, verdict)
        verdict = judge(kept, self.home_id, seen, memory, self.clock.now())
        # Remembered before it is done: whoever comes after a crash asks for the same again, or
        # deletes the same.
        lines = await self._note(key, facts, verdict)
        now = verdict.memory
        try:
            if verdict.act is Act.ASK:
                asked = attrs.evolve(identity, generation=now.generation)
                await self._in_time(cloud.create(asked, request), kept)
            elif verdict.act is Act.DELETE and isinstance(seen, Present):
                labelled = identity_of(kept, self.home_id, seen) or identity
                whose = attrs.evolve(labelled, project=identity.project)
                await self._in_time(cloud.delete(whose), kept)
        except (CloudError, HeldError) as error:
            after = judge_error(kept, verdict.act, now, error, self.clock.now())
            return [*lines, *await self._note(key, now.written(), after)]
        return lines

    async def _note(self, key: str, before: Mapping[str, Any], verdict: Verdict) -> Sequence[str]:
        """Write down what is new; give what is to be told."""
        written = verdict.memory.written()
        if written != before:
            await self.store.remember(_WHO, {key: written})
        return [verdict.line] if verdict.line else []

    async def _forget(self, keys: Sequence[str]) -> Sequence[str]:
        """Let go of those that are not to be kept any more."""
        if keys:
            await self.store.remember(_WHO, dict.fromkeys(keys))
        told = "is not on the list any more: what there is of it stays, and may cost"
        return [f"kept slice {key.rpartition('/')[2]} {told}" for key in keys]

    def _request(self, kept: KeptSlice) -> SliceRequest:
        try:
            accelerator = Accelerator.parse(kept.accelerator)
        except ValueError as error:
            raise PermanentCloudError(str(error)) from error
        project = kept.project or self.project
        return SliceRequest(
            cloud=kept.cloud,
            accelerator=accelerator.name,
            zone=kept.zone,
            pricing=kept.pricing,
            mode=kept.mode,
            runtime=kept.runtime or accelerator.runtime,
            options={"project": project} if project else {},
        )

    async def _identity(
        self, cloud: Cloud, kept: KeptSlice, request: SliceRequest, generation: int
    ) -> SliceIdentity:
        project = await self._in_time(cloud.project_of(request), kept)
        return SliceIdentity(
            kept.name, kept.zone, self.home_id, self.user, KEPT, generation, project
        )

    async def _look(self, cloud: Cloud, kept: KeptSlice, identity: SliceIdentity) -> Observation:
        try:
            return await self._in_time(cloud.observe(identity), kept)
        except TransientCloudError as error:
            return Unknown(str(error))

    async def _in_time(self, asked: Coroutine[Any, Any, _T], kept: KeptSlice) -> _T:
        return await in_time(asked, self.clock, _LIMIT, f"cloud {kept.cloud!r}")


async def kept_zones(store: Store) -> Sequence[Zone]:
    """Give the zones in which something was to be kept alive."""
    return [zone_of(key) for key in await store.recall(_WHO)]
