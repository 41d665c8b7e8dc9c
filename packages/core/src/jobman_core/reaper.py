"""Reaping: looks at the zones of a home, and ends what is of no use there any more."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

import attrs

from jobman_core.errors import (
    HeldError,
    JobmanError,
    NotFoundError,
    NotYoursError,
    StoreError,
)
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobRecord, Note
from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.reap import Fate, Reaped, ReapRules
from jobman_core.models.slice import Absent
from jobman_core.models.zone import Zone
from jobman_core.queue.lock import locked
from jobman_core.reap import (
    Booked,
    Books,
    Found,
    Look,
    Sighting,
    found_in,
    is_going,
    key_of,
    prefix_of,
    words_of,
)
from jobman_core.run.patience import in_time
from jobman_core.run.slices import Slices
from jobman_core.run.wind_down import give_back, wind_down
from jobman_core.run.zones import LIST_LIMIT
from jobman_core.territory import zones_of

_T = TypeVar("_T")
_Result = TypeVar("_Result")
#: Who remembers, to the store.
WHO: Final = "reap"
#: Seconds to wait for another reaper of the home.
PATIENCE: Final = 300.0
#: Seconds that a cloud has to take one delete on.
DISCARD_LIMIT: Final = 60.0
#: So many zones are looked at, or things deleted, at a time: APIs count calls a minute.
AT_ONCE: Final = 8


class Reaper:
    """Looks, remembers what it saw, and deletes what was of no use in all looks for long."""

    def __init__(self, hub: Hub) -> None:
        """Act in a home."""
        self._hub = hub
        self._few = asyncio.Semaphore(AT_ONCE)

    async def reap(self, *, dry_run: bool, everything: bool) -> Reaped:
        """Look at all zones once; what is due is deleted, unless that is only to be told.

        Args:
            dry_run: delete nothing.
            everything: what this home did not make is deleted too.

        Raises:
            HeldError: another process has been reaping for long.
            NotYoursError: only admins delete what this home did not make, where it has any.
            StoreError: the home cannot be written.
        """
        hub = self._hub
        rules = self._rules(everything)
        async with contextlib.AsyncExitStack() as stack:
            await self._be_alone(stack)
            zones, asked = await zones_of(hub), hub.clock.now()
            looks = await self._few_at_once(self._look, zones)
            found = await self._see(looks, await self._books(looks, rules, asked), rules)
            if not dry_run:
                found = await self._few_at_once(self._deal_with, found)
        return _told(looks, found)

    async def look(self) -> Reaped:
        """Look at all zones once, as :meth:`reap` does; nothing is noted, nor deleted."""
        hub = self._hub
        zones, asked = await zones_of(hub), hub.clock.now()
        looks = await self._few_at_once(self._look, zones)
        books = await self._books(looks, hub.settings.reap, asked)
        known = await self._known()
        return _told(looks, self._found(looks, books, known, hub.settings.reap))

    async def _be_alone(self, stack: contextlib.AsyncExitStack) -> None:
        """Wait until nobody else reaps in this home, and let nobody until the stack is unwound."""
        path = self._hub.home.lock("reap")
        try:
            taken = await stack.enter_async_context(
                locked(path, self._hub.clock, patience=PATIENCE)
            )
        except OSError as error:
            msg = f"{path} cannot be written ({error.strerror}): check its folder and its disk"
            raise StoreError(msg) from error
        if not taken:
            msg = "another process has been reaping in this home for long: wait for it"
            raise HeldError(msg)

    def _rules(self, everything: bool) -> ReapRules:
        rules, admins = self._hub.settings.reap, self._hub.settings.admins
        if everything and not rules.all:
            if admins and self._hub.user not in admins:
                msg = (
                    "only an admin of this home deletes what it did not make: ask one, or let the "
                    "lab's jobman.yaml say `reap: {all: true}`"
                )
                raise NotYoursError(msg)
            rules = attrs.evolve(rules, all=True)
        return rules

    # -- looking ---------------------------------------------------------------------------

    async def _look(self, zone: Zone) -> Look:
        who = f"cloud {zone.cloud!r}, asked for a list of zone {zone.name},"
        try:
            cloud = self._hub.backends.cloud(zone.cloud)
            asked = cloud.list_slices(zone.name, zone.project)
            return Look(zone, await in_time(asked, self._hub.clock, LIST_LIMIT, who))
        except JobmanError as error:
            # A backend that is not installed any more, too.
            return Look(zone, why=str(error))

    async def _see(self, looks: Sequence[Look], books: Books, rules: ReapRules) -> Sequence[Found]:
        """Judge what was listed, and remember it; what is not of no use any more is forgotten."""
        hub = self._hub
        known = await self._known()
        found = self._found(looks, books, known, rules)
        seen = {each.key: each.sighting for each in found}
        unseen = tuple(prefix_of(look.zone) for look in looks if look.why)
        going = {key_of(x.zone, each) for x in looks for each in x.listed if is_going(each)}
        gone = {k for k in known if not (k in seen or k in going or k.startswith(unseen))}
        facts = {key: each.to_data() for key, each in seen.items() if each != known.get(key)}
        await hub.store.remember(WHO, {**facts, **dict.fromkeys(gone)})
        return found

    async def _known(self) -> Mapping[str, Sighting]:
        """Give what earlier looks have noted."""
        noted = await self._hub.store.recall(WHO)
        return {key: Sighting.of_data(data) for key, data in noted.items()}

    def _found(
        self,
        looks: Iterable[Look],
        books: Books,
        known: Mapping[str, Sighting],
        rules: ReapRules,
    ) -> Sequence[Found]:
        now = self._hub.clock.now()
        return [each for look in looks for each in found_in(look, books, known, now, rules)]

    async def _books(self, looks: Iterable[Look], rules: ReapRules, asked: datetime) -> Books:
        """Read what this home knows of the jobs that are named on what was listed."""
        hub = self._hub
        labels = [each.observation.labels for look in looks for each in look.listed]
        named = {x.get("jobman-job") for x in labels if x.get("jobman-home") == hub.home_id}
        records: dict[str, JobRecord] = {}
        for job in named - {None}:
            try:
                records[str(job)] = await hub.store.record(str(job))
            except NotFoundError:
                continue
        await hub.look_around(records.values())
        jobs = {
            job: Booked(
                self._attended(record),
                {each.generation: each for each in await hub.store.slices(record.job.id)},
            )
            for job, record in records.items()
        }
        return Books(hub.home_id, asked, jobs, frozenset(rules.lost_homes) - {hub.home_id})

    def _attended(self, record: JobRecord) -> bool:
        return _wanted(record) or self._hub.liveness(record) not in (Liveness.NONE, Liveness.DEAD)

    # -- deleting --------------------------------------------------------------------------

    async def _deal_with(self, found: Found) -> Found:
        """Delete what is due, and write an event of it, once."""
        if found.fate is not Fate.DUE:
            return found
        try:
            await self._end(found)
        except JobmanError as error:
            return attrs.evolve(found, fate=Fate.REFUSED, trouble=str(error))
        if not found.sighting.asked:
            store, asked = self._hub.store, attrs.evolve(found.sighting, asked=True)
            await store.add_event(Note("slice.reaped", found.text), job=found.job)
            await store.remember(WHO, {found.key: asked.to_data()})
        return attrs.evolve(found, fate=Fate.DELETED)

    async def _end(self, found: Found) -> None:
        if found.finding.booked is not None and found.job is not None:
            await self._give_back(found.job, found.finding.booked)
            return
        zone, name = found.zone, found.listed.name
        asked = self._hub.backends.cloud(zone.cloud).discard(found.listed, zone.project)
        who = f"cloud {zone.cloud!r}, asked to delete {name},"
        await in_time(asked, self._hub.clock, DISCARD_LIMIT, who)

    async def _give_back(self, job: str, generation: int) -> None:
        """Do what a controller of the job would do, so that its books know of it.

        Raises:
            HeldError: somebody sees to the job by now, or its slice came back to life.
            UnfinishedError: it is not confirmed absent yet.
        """
        hub = self._hub
        async with hub.acting(await hub.store.record(job), to_end=True) as ctx:
            if _wanted(await ctx.record()):
                msg = f"job {job} is wanted running by now: its controller sees to its slice"
                raise HeldError(msg)
            await wind_down(ctx)
            for slice_ in await hub.store.slices(job):
                if slice_.generation == generation and slice_.held:
                    now, seen = await Slices(ctx, hub.clock.sleep).look(slice_)
                    if not isinstance(seen, Absent) and now.lost_at is None:
                        msg = f"{now.identity.name} is {now.state} by now: it is left alone"
                        raise HeldError(msg)
                    await give_back(ctx, [now])

    async def _few_at_once(
        self, act: Callable[[_T], Awaitable[_Result]], items: Iterable[_T]
    ) -> Sequence[_Result]:
        async def one(item: _T) -> _Result:
            async with self._few:
                return await act(item)

        return await asyncio.gather(*map(one, items))


def _told(looks: Sequence[Look], found: Iterable[Found]) -> Reaped:
    """Give what people are told of it."""
    return Reaped(
        tuple(each.told for each in found),
        unseen=tuple((words_of(look.zone), look.why) for look in looks if look.why),
        looked=tuple(words_of(look.zone) for look in looks if not look.why),
    )


def _wanted(record: JobRecord) -> bool:
    return record.job.desired is Desired.RUNNING and record.job.ending is None
