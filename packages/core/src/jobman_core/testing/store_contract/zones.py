"""What is known of places and zones, for all controllers of a home."""

from datetime import timedelta

import attrs

from jobman_core.errors import (
    CloudError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.interfaces.store import Store
from jobman_core.models.place import Stockout, Where
from jobman_core.models.slice import HostInfo, Present, SlicePhase
from jobman_core.models.zone import Zone, ZoneLook
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import NOON

_HERE = Where("gcp", "lab", "us-central2-b", "v4-8", "spot", "tpu-vm")
_ZONE = Zone("gcp", "us-central2-b", "lab")
_LAPSE = 30.0
_READY = Present(
    SlicePhase.READY,
    "READY",
    (HostInfo(0, "34.0.0.1", "10.0.0.1"), HostInfo(1)),
    {"jobman-job": "000001"},
    "UNHEALTHY_MAINTENANCE",
)


class ZonesContract(BaseContract):
    """What is known of places and zones, for all controllers of a home."""

    async def test_a_place_without_capacity_is_known_to_all_until_it_has_some(
        self, store: Store, other: Store
    ) -> None:
        there = attrs.evolve(_HERE, zone="us-east1-d")
        await store.set_stockout(_HERE, Stockout(NOON, "full"))
        later = Stockout(NOON + timedelta(minutes=1), "still full")
        await store.set_stockout(_HERE, later)
        assert await other.stockouts([_HERE, there]) == {_HERE: later}
        await other.set_stockout(_HERE, None)
        await other.set_stockout(there, None)
        assert await store.stockouts([_HERE, there]) == {}

    async def test_each_way_to_ask_for_a_slice_is_a_place_of_its_own(self, store: Store) -> None:
        await store.set_stockout(_HERE, Stockout(NOON, "full"))
        others = [attrs.evolve(_HERE, **{field.name: "other"}) for field in attrs.fields(Where)]
        assert await store.stockouts(others) == {}

    async def test_a_look_at_a_zone_comes_back_as_it_was(self, store: Store, other: Store) -> None:
        assert await store.zone_look(_ZONE) is None
        look = await self._look(store, 100.0, {"a-g1": _READY, "b-g1": _READY})
        assert look.listed == {"a-g1": _READY, "b-g1": _READY}
        assert await other.zone_look(_ZONE) == look
        for elsewhere in (Zone("gcp", "us-central2-b"), Zone("other", "us-central2-b", "lab")):
            assert await other.zone_look(elsewhere) is None

    async def test_why_a_request_came_to_nothing_is_told_with_what_follows_from_it(
        self, store: Store
    ) -> None:
        class OwnStockoutError(StockoutError):
            """A plugin's own kind."""

        for error in (
            PermanentCloudError("no"),
            StockoutError("full"),
            TransientCloudError("503"),
            CloudError("odd"),
            OwnStockoutError("reserved"),
        ):
            husk = Present(SlicePhase.LOST, "FAILED", refusal=error)
            await self._look(store, 100.0, {"a-g1": husk})
            look = await store.zone_look(_ZONE)
            assert look is not None
            refusal = look.listed["a-g1"].refusal
            kind = StockoutError if isinstance(error, OwnStockoutError) else type(error)
            assert (type(refusal), str(refusal)) == (kind, str(error))

    async def test_what_is_not_listed_any_more_is_in_no_look(
        self, store: Store, other: Store
    ) -> None:
        await self._look(store, 100.0, {"a-g1": _READY, "b-g1": _READY})
        known = await other.zone_look(_ZONE)
        lost = attrs.evolve(_READY, phase=SlicePhase.LOST, state="PREEMPTED")
        await self._look(store, 105.0, {"b-g1": lost})
        look = await other.zone_look(_ZONE, known)
        assert look is not None
        assert (look.at, look.listed) == (105.0, {"b-g1": lost})

    async def test_a_look_that_shows_nothing_new_changes_only_its_time(
        self, store: Store, other: Store
    ) -> None:
        first = await self._look(store, 100.0, {"a-g1": _READY})
        known = await other.zone_look(_ZONE)
        assert known is not None
        second = await self._look(store, 105.0, {"a-g1": _READY})
        assert second.changes == first.changes
        again = await other.zone_look(_ZONE, known)
        assert again == second
        assert again.listed is known.listed

    async def test_a_zone_that_cannot_be_listed_is_not_an_empty_one(self, store: Store) -> None:
        await self._look(store, 100.0, {"a-g1": _READY})
        await self._look(store, 105.0, {}, why="503")
        look = await store.zone_look(_ZONE)
        assert look is not None
        assert (look.at, look.why, look.listed) == (105.0, "503", {"a-g1": _READY})

    async def test_of_all_who_want_to_look_one_may(self, store: Store, other: Store) -> None:
        assert await self._claim(store, "one", None, 100.0)
        # Who asks may have looked at the clock before the one who got it.
        for now in (99.9, 100.0, 100.1):
            assert not await self._claim(other, "two", None, now)
        look = await store.save_look(_ZONE, "one", ZoneLook(100.0))
        # Who knows of no look does not know the newest.
        assert not await self._claim(other, "two", None, 100.2)
        assert await self._claim(other, "two", look, 105.0)

    async def test_who_dies_before_the_look_is_there_is_followed_by_another(
        self, store: Store, other: Store
    ) -> None:
        assert await self._claim(store, "one", None, 100.0)
        assert not await self._claim(other, "two", None, 129.0)
        assert await self._claim(other, "two", None, 130.0)
        late = ZoneLook(100.0, {"a-g1": _READY})
        assert await store.save_look(_ZONE, "one", late) == late
        assert await store.zone_look(_ZONE) is None
        await other.save_look(_ZONE, "two", ZoneLook(130.0))
        assert await store.zone_look(_ZONE) == ZoneLook(130.0)

    async def test_who_leaves_before_the_look_is_there_is_not_waited_for(
        self, store: Store
    ) -> None:
        assert await self._claim(store, "one", None, 100.0)
        await store.retire("one")
        assert await self._claim(store, "two", None, 100.1)

    async def test_after_a_reboot_nobody_waits_for_who_looked_before(self, store: Store) -> None:
        assert await self._claim(store, "one", None, 5000.0)
        assert await self._claim(store, "two", None, 10.0)

    async def test_a_look_at_a_zone_is_no_news_for_jobs(self, store: Store) -> None:
        await self._look(store, 100.0, {"a-g1": _READY})
        before = await store.version()
        await self._look(store, 105.0, {})
        assert await store.version() == before

    async def _look(
        self, store: Store, at: float, listed: dict[str, Present], why: str = ""
    ) -> ZoneLook:
        assert await self._claim(store, "one", await store.zone_look(_ZONE), at)
        return await store.save_look(_ZONE, "one", ZoneLook(at, listed, why))

    async def _claim(self, store: Store, by: str, after: ZoneLook | None, now: float) -> bool:
        return await store.claim_look(_ZONE, by, after=after, now=now, lapse=_LAPSE)
