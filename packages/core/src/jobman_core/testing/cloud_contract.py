"""What every cloud must do."""

import asyncio
from abc import abstractmethod
from datetime import UTC, datetime

import attrs
import pytest

from jobman_core.errors import CloudError, HeldError, PermanentCloudError, StockoutError
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.models.billing import Lacking
from jobman_core.models.slice import (
    Absent,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
)


async def until_phase(cloud: Cloud, identity: SliceIdentity, phase: SlicePhase) -> Present:
    """Look until a slice is in a phase."""
    async with asyncio.timeout(30):
        while True:
            seen = await cloud.observe(identity)
            if isinstance(seen, Present) and seen.phase is phase:
                return seen
            await asyncio.sleep(0.02)


async def until_absent(cloud: Cloud, identity: SliceIdentity) -> None:
    """Look until a slice is gone."""
    async with asyncio.timeout(30):
        while not isinstance(await cloud.observe(identity), Absent):
            await asyncio.sleep(0.02)


async def refusal_of(
    cloud: Cloud, identity: SliceIdentity, request: SliceRequest
) -> CloudError | None:
    """Ask for a slice; give why that came to nothing, at once or later; None: it is ready."""
    try:
        await cloud.create(identity, request)
    except CloudError as error:
        return error
    async with asyncio.timeout(30):
        while True:
            seen = await cloud.observe(identity)
            if isinstance(seen, Absent | Present) and seen.refusal is not None:
                return seen.refusal
            if isinstance(seen, Present) and seen.phase is SlicePhase.READY:
                return None
            await asyncio.sleep(0.02)


class CloudContract:
    """Subclass it with a fixture ``cloud`` that has room for one slice in the zone ``tight``."""

    #: A zone with room enough, and one for one slice.
    zone = "roomy"
    tight = "tight"
    #: A type with two hosts.
    accelerator = "v4-16"

    @pytest.fixture
    @abstractmethod
    def cloud(self) -> Cloud:
        """Give a cloud without slices."""

    def identity(
        self, *, generation: int = 1, job: str = "000001", zone: str = ""
    ) -> SliceIdentity:
        """Name a slice."""
        name = f"train-{job}-g{generation}"
        return SliceIdentity(name, zone or self.zone, "home-1", "ann", job, generation)

    def request(self, *, zone: str = "", accelerator: str = "") -> SliceRequest:
        """Ask for two hosts."""
        return SliceRequest("any", accelerator or self.accelerator, zone or self.zone)

    async def test_what_was_never_asked_for_is_absent(self, cloud: Cloud) -> None:
        assert await cloud.observe(self.identity()) == Absent()

    async def test_a_slice_becomes_ready_with_its_hosts_and_labels(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(), self.request())
        seen = await until_phase(cloud, self.identity(), SlicePhase.READY)
        assert [host.index for host in seen.hosts] == [0, 1]
        assert dict(seen.labels) == self.identity().labels
        assert seen.state == "READY"

    async def test_asking_again_is_no_error_and_makes_no_second(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(), self.request())
        await cloud.create(self.identity(), self.request())
        await until_phase(cloud, self.identity(), SlicePhase.READY)
        await cloud.create(self.identity(), self.request())
        assert [each.name for each in await cloud.list_slices(self.zone)] == [self.identity().name]

    async def test_a_slice_of_others_is_neither_taken_over_nor_deleted(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(), self.request())
        others = attrs.evolve(self.identity(), owner="bob")
        with pytest.raises(HeldError):
            await cloud.create(others, self.request())
        with pytest.raises(HeldError):
            await cloud.delete(others)
        assert isinstance(await cloud.observe(self.identity()), Present)

    async def test_delete_leads_to_absent(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(), self.request())
        await cloud.delete(self.identity())
        await until_absent(cloud, self.identity())
        assert await cloud.list_slices(self.zone) == []

    async def test_deleting_what_is_absent_is_no_error(self, cloud: Cloud) -> None:
        await cloud.delete(self.identity())
        await cloud.delete(self.identity())

    async def test_a_late_delete_hits_only_its_own_generation(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(generation=2), self.request())
        await cloud.delete(self.identity(generation=1))
        await until_phase(cloud, self.identity(generation=2), SlicePhase.READY)

    async def test_what_was_asked_for_is_not_called_absent_while_it_is_on_its_way(
        self, cloud: Cloud
    ) -> None:
        await cloud.create(self.identity(), self.request())
        async with asyncio.timeout(30):
            while True:
                seen = await cloud.observe(self.identity())
                assert not isinstance(seen, Absent)
                if isinstance(seen, Present) and seen.phase is SlicePhase.READY:
                    return
                await asyncio.sleep(0.02)

    async def test_what_is_deleted_while_it_is_on_its_way_does_not_come_back(
        self, cloud: Cloud
    ) -> None:
        await cloud.create(self.identity(), self.request())
        await cloud.delete(self.identity())
        async with asyncio.timeout(30):
            # A delete of what is on its way may be lost: it is asked for until there is proof.
            while not isinstance(await cloud.observe(self.identity()), Absent):
                await cloud.delete(self.identity())
                await asyncio.sleep(0.02)
        other = self.identity(job="000002")
        await cloud.create(other, self.request())
        await until_phase(cloud, other, SlicePhase.READY)
        assert isinstance(await cloud.observe(self.identity()), Absent)

    async def test_a_list_tells_of_a_slice_what_a_look_at_it_does(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(), self.request())
        seen = await until_phase(cloud, self.identity(), SlicePhase.READY)
        (listed,) = await cloud.list_slices(self.zone)
        assert (listed.name, listed.zone) == (self.identity().name, self.zone)
        assert listed.observation == seen

    async def test_what_is_listed_has_its_type_its_labels_and_an_id_of_its_own(
        self, cloud: Cloud
    ) -> None:
        first = await self.listed(cloud)
        assert first.accelerator == self.accelerator
        assert dict(first.observation.labels) == self.identity().labels
        await cloud.delete(self.identity())
        await until_absent(cloud, self.identity())
        again = await self.listed(cloud)
        assert (again.name, again.uid != first.uid) == (first.name, True)

    async def test_what_was_listed_is_discarded_alive_or_dead(self, cloud: Cloud) -> None:
        await cloud.discard(await self.listed(cloud))
        await until_absent(cloud, self.identity())
        listed = await self.listed(cloud)
        await cloud.preempt(self.identity())
        await until_phase(cloud, self.identity(), SlicePhase.LOST)
        # It was alive when it was listed, and is worse off.
        await cloud.discard(listed)
        await until_absent(cloud, self.identity())
        await cloud.discard(listed)

    async def test_what_was_listed_dead_and_lives_is_left_alone(self, cloud: Cloud) -> None:
        listed = await self.listed(cloud)
        lost = attrs.evolve(listed.observation, phase=SlicePhase.LOST, state="PREEMPTED")
        with pytest.raises(HeldError, match="was PREEMPTED and is READY"):
            await cloud.discard(attrs.evolve(listed, observation=lost))
        await until_phase(cloud, self.identity(), SlicePhase.READY)

    async def test_what_has_the_name_of_what_was_listed_is_left_alone(self, cloud: Cloud) -> None:
        listed = await self.listed(cloud)
        await cloud.delete(self.identity())
        await until_absent(cloud, self.identity())
        await self.listed(cloud)
        with pytest.raises(HeldError, match="another one by now"):
            await cloud.discard(listed)
        await until_phase(cloud, self.identity(), SlicePhase.READY)

    async def listed(self, cloud: Cloud) -> Listed:
        """Give a slice that is ready, as it is listed."""
        await cloud.create(self.identity(), self.request())
        await until_phase(cloud, self.identity(), SlicePhase.READY)
        (listed,) = await cloud.list_slices(self.zone)
        return listed

    async def test_zones_that_are_told_can_be_listed_and_limits_are_of_zones_that_were_asked(
        self, cloud: Cloud
    ) -> None:
        zones = await cloud.zones()
        if zones:
            await cloud.list_slices(zones[0])
        asked = sorted({*zones, self.zone})
        told = await cloud.allowances(asked)
        for each in (*told.chips, *told.others):
            assert each.place
            assert each.what
            assert each.zones
            assert set(each.zones) <= set(asked)
            assert each.limit is None or each.limit >= 0
            assert each.used is None or each.used >= 0
        for each in told.chips:
            assert each.pricing
            assert each.unit == "chips"

    async def test_a_full_zone_is_a_stockout_and_leaves_nothing(self, cloud: Cloud) -> None:
        request = self.request(zone=self.tight)
        first = self.identity(zone=self.tight)
        assert await refusal_of(cloud, first, request) is None
        second = self.identity(zone=self.tight, job="000002")
        refusal = await refusal_of(cloud, second, request)
        assert isinstance(refusal, StockoutError)
        assert self.tight in str(refusal)
        for identity in (second, first):
            if isinstance(await cloud.observe(identity), Present):
                await cloud.delete(identity)
                await until_absent(cloud, identity)
        # What was refused can be asked for anew, by the same name.
        assert await refusal_of(cloud, second, request) is None

    async def test_what_is_given_back_can_be_had_again(self, cloud: Cloud) -> None:
        request = self.request(zone=self.tight)
        first = self.identity(zone=self.tight)
        await cloud.create(first, request)
        await cloud.delete(first)
        await until_absent(cloud, first)
        await cloud.create(self.identity(zone=self.tight, job="000002"), request)

    async def test_an_accelerator_that_there_is_not_is_permanent(self, cloud: Cloud) -> None:
        refusal = await refusal_of(cloud, self.identity(), self.request(accelerator="v99-8"))
        assert isinstance(refusal, PermanentCloudError)

    async def test_a_preempted_slice_stays_listed_until_it_is_deleted(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(), self.request())
        await until_phase(cloud, self.identity(), SlicePhase.READY)
        await cloud.preempt(self.identity())
        seen = await until_phase(cloud, self.identity(), SlicePhase.LOST)
        assert seen.state == "PREEMPTED"
        assert [each.observation.phase for each in await cloud.list_slices(self.zone)] == [
            SlicePhase.LOST
        ]
        await cloud.delete(self.identity())
        await until_absent(cloud, self.identity())

    async def test_a_preempted_slice_leaves_room_for_the_next(self, cloud: Cloud) -> None:
        request = self.request(zone=self.tight)
        first = self.identity(zone=self.tight)
        await cloud.create(first, request)
        await until_phase(cloud, first, SlicePhase.READY)
        await cloud.preempt(first)
        second = self.identity(zone=self.tight, generation=2)
        await cloud.create(second, request)
        await until_phase(cloud, second, SlicePhase.READY)

    async def test_a_dry_run_says_what_would_be_asked(self, cloud: Cloud) -> None:
        identity, request = self.identity(), self.request()
        lines = "\n".join(await cloud.describe_request(identity, request))
        assert self.accelerator in lines
        assert identity.name in lines
        assert await cloud.observe(identity) == Absent()

    async def test_its_books_tell_of_the_span_or_what_they_lack(self, cloud: Cloud) -> None:
        since, until = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 3, tzinfo=UTC)
        found = await cloud.costs(since, until, "UTC")
        if isinstance(found, Lacking):
            assert found.what
        else:
            assert cloud.bills
            assert all(since.date() <= each.day < until.date() for each in found.charges)

    def as_stored(self, identity: SliceIdentity, seen: Present) -> Slice:
        """Give a slice as the store has it once it is ready."""
        now = datetime.now(UTC)
        request = self.request(zone=identity.zone)
        return Slice(
            identity.job,
            identity.generation,
            request,
            identity,
            now,
            state=seen.state,
            phase=seen.phase,
            hosts=seen.hosts,
        )
