"""Looks at whole zones: one list call for all jobs of a home, whatever process drives them."""

import asyncio
from typing import Final

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import CloudError, StoreError
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.store import Store
from jobman_core.models.slice import Present, SliceIdentity, Unknown
from jobman_core.models.zone import Zone, ZoneLook
from jobman_core.run.patience import in_time

#: Seconds that one list call may take.
LIST_LIMIT: Final = 20.0
#: Seconds after which somebody who was to look and brought nothing is given up.
LAPSE: Final = 30.0
#: Seconds between two questions whether another process has brought its look.
ASK_EVERY: Final = 0.5


@attrs.define
class _Known:
    """A zone, as this process knows it."""

    newest: ZoneLook | None = None
    #: Brings a newer one, for all who wait for it.
    bringing: "asyncio.Task[None] | None" = None


class Zones:
    """What zones list. Whoever needs a newer look than there is brings it, once for all."""

    def __init__(self, store: Store, clock: Clock, by: str) -> None:
        """Keep what it acts with.

        Args:
            store: where looks are shared.
            clock: counts their age.
            by: this process, to the others.
        """
        self._store = store
        self._clock = clock
        self._by = by
        self._known: dict[Zone, _Known] = {}

    async def aclose(self) -> None:
        """Let go of looks that nobody waits for any more."""
        tasks = [known.bringing for known in self._known.values() if known.bringing]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def see(
        self, cloud: Cloud, identity: SliceIdentity, *, than: float, every: float
    ) -> tuple[Present | Unknown | None, float]:
        """Give what a zone's look says of a slice, and when that look began.

        None: it says nothing of it, which proves nothing either.

        Args:
            cloud: whose zone.
            identity: the slice.
            than: the look is newer than that: seconds of this machine's monotonic clock.
            every: seconds between two looks at a zone.
        """
        look = await self._newer(cloud, Zone.of(cloud.name, identity), than, every)
        if look.why:
            return Unknown(look.why), look.at
        seen = look.listed.get(identity.name)
        return seen if seen is not None and seen.is_of(identity) else None, look.at

    async def _newer(self, cloud: Cloud, zone: Zone, than: float, every: float) -> ZoneLook:
        """Give a look that is newer than a moment, as soon as the next one is due."""
        known = self._known.setdefault(zone, _Known())
        while (look := known.newest) is None or look.at <= than:
            if look is not None and (left := look.at + every - self._clock.monotonic()) > 0:
                await self._clock.sleep(left)
                continue
            if known.bringing is None:
                known.bringing = asyncio.create_task(self._bring(cloud, zone, known, every))
            # Who leaves does not take it from those who stay.
            await asyncio.shield(known.bringing)
        return look

    async def _bring(self, cloud: Cloud, zone: Zone, known: _Known, every: float) -> None:
        try:
            known.newest = await self._share(cloud, zone, known.newest, every)
        except StoreError:
            # Whether a slice is lost is to be known without a database too.
            known.newest = await self._list(cloud, zone, known.newest)
        finally:
            known.bringing = None

    async def _share(
        self, cloud: Cloud, zone: Zone, newest: ZoneLook | None, every: float
    ) -> ZoneLook:
        """Give a look that another process brings, or be the one that brings it to all."""
        while True:
            found = await self._store.zone_look(zone, newest)
            now = self._clock.monotonic()
            since = max(now - every, newest.at if newest else 0.0)
            # One of the future is of the time before a reboot.
            if found is not None and since < found.at <= now:
                return found
            if await self._store.claim_look(zone, self._by, after=found, now=now, lapse=LAPSE):
                look = await self._list(cloud, zone, found)
                return await self._store.save_look(zone, self._by, look)
            await self._clock.sleep(self._clock.jitter(ASK_EVERY))

    async def _list(self, cloud: Cloud, zone: Zone, before: ZoneLook | None) -> ZoneLook:
        """List a zone; where that cannot be done, nothing is known of any slice in it."""
        at = self._clock.monotonic()
        who = f"cloud {cloud.name!r}, asked for a list of zone {zone.name},"
        asked = cloud.list_slices(zone.name, zone.project)
        try:
            found = await in_time(asked, self._clock, LIST_LIMIT, who)
        except CloudError as error:
            return attrs.evolve(before or ZoneLook(at), at=at, why=str(error))
        home = cloud.context.home_id
        ours = (each for each in found if each.observation.labels.get("jobman-home") == home)
        listed = {each.name: each.observation for each in ours}
        return ZoneLook(at, listed, changes=before.changes if before else 0)
