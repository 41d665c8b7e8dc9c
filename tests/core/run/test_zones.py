"""Whole zones are looked at once for all jobs of a home, and a list proves nothing absent."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from tests.core.run.scene import Scene, loop

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.errors import StoreError, TransientCloudError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Listed
from jobman_core.models.attempt import HostState
from jobman_core.models.slice import Present, SliceIdentity, SlicePhase, SliceRequest, Unknown
from jobman_core.models.zone import ZoneLook
from jobman_core.run.zones import LAPSE, LIST_LIMIT, Zones
from jobman_core.testing.fakes import FakeClock, FakeHost, FakeZoneCloud

HERE = SliceRequest("fake", "v4-8", "here")
EVERY = 5.0
MANY = 2000


def name_of(number: int, zone: str = "here") -> SliceIdentity:
    return SliceIdentity(f"job-{number}-g1", zone, "home-1", "ada", f"{number:06d}", 1)


class Lab:
    """A home with slices in a zone, and processes that look at them."""

    def __init__(self, root: Path, slices: int = 3) -> None:
        self.clock = FakeClock()
        self.context = Context(root, "home-1", self.clock)
        self.cloud = FakeZoneCloud(self.context)
        # Times of files are the machine's.
        self.store = SqliteStore(Context(root, "", SystemClock()))
        self.names = [name_of(number) for number in range(slices)]

    async def __aenter__(self) -> Self:
        await self.store.open()
        for name in self.names:
            await self.cloud.create(name, HERE)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.store.aclose()

    def process(self, name: str = "one") -> Zones:
        return Zones(self.store, self.clock, name)

    async def see(
        self, zones: Zones, number: int = 0, *, than: float | None = None
    ) -> tuple[Present | Unknown | None, float]:
        than = self.clock.monotonic() - EVERY if than is None else than
        return await zones.see(self.cloud, self.names[number], than=than, every=EVERY)

    async def until_done(self, *tasks: "asyncio.Task[Any]") -> None:
        """Let time pass until somebody has what he waits for."""
        for _ in range(2000):
            if all(task.done() for task in tasks):
                return
            await asyncio.sleep(0.001)
            await self.clock.advance(0.1)
        raise AssertionError("in vain")


async def test_all_jobs_of_all_processes_share_one_list_call(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        processes = (lab.process("a"), lab.process("b"))
        looking = [
            asyncio.create_task(lab.see(zones, job)) for zones in processes for job in (0, 1, 2)
        ]
        await lab.until_done(*looking)
        seen = [task.result() for task in looking]
        assert {one.state for one, _ in seen if isinstance(one, Present)} == {"READY"}
        assert len(seen) == 6
        assert lab.cloud.lists == ["here"]
        assert lab.cloud.looks == []


async def test_a_look_is_used_for_as_long_as_it_is_new_enough_and_no_longer(
    tmp_path: Path,
) -> None:
    async with Lab(tmp_path) as lab:
        one, two = lab.process("one"), lab.process("two")
        _, first = await lab.see(one)
        await lab.clock.advance(4.9)
        assert (await lab.see(two))[1] == first
        await lab.clock.advance(0.2)
        assert (await lab.see(two))[1] > first
        assert len(lab.cloud.lists) == 2
        # The first process hears of it without asking the cloud.
        assert (await lab.see(one))[1] > first
        assert len(lab.cloud.lists) == 2


async def test_who_wants_a_newer_look_gets_it_when_the_next_is_due(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        zones = lab.process()
        _, first = await lab.see(zones)
        later = asyncio.create_task(lab.see(zones, than=first))
        await lab.until_done(later)
        assert later.result()[1] >= first + EVERY
        assert len(lab.cloud.lists) == 2


async def test_two_thousand_jobs_of_one_process_make_one_list_call(tmp_path: Path) -> None:
    async with Lab(tmp_path, MANY) as lab:
        zones = lab.process()
        for _ in range(3):
            await asyncio.gather(*(lab.see(zones, number) for number in range(MANY)))
            await lab.clock.advance(EVERY + 0.1)
        assert len(lab.cloud.lists) == 3


async def test_each_zone_and_project_has_its_own_looks(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        zones = lab.process()
        there = name_of(9, "there")
        await lab.cloud.create(there, SliceRequest("fake", "v4-8", "there"))
        than = lab.clock.monotonic() - EVERY
        await lab.see(zones)
        seen, _ = await zones.see(lab.cloud, there, than=than, every=EVERY)
        assert isinstance(seen, Present)
        assert lab.cloud.lists == ["here", "there"]


async def test_what_is_others_or_not_listed_is_not_told_of(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        zones = lab.process()
        than = lab.clock.monotonic() - EVERY
        others = SliceIdentity("job-0-g1", "here", "home-1", "bob", "000099", 1)
        for name in (others, name_of(77)):
            assert (await zones.see(lab.cloud, name, than=than, every=EVERY))[0] is None


async def test_a_zone_that_cannot_be_listed_leaves_all_in_it_unknown(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        one, two = lab.process("one"), lab.process("two")
        await lab.see(one)
        await lab.clock.advance(EVERY + 0.1)
        lab.cloud.unlisted = "503: backend error"
        for zones in (one, two):
            assert (await lab.see(zones))[0] == Unknown("503: backend error")
        assert len(lab.cloud.lists) == 2
        await lab.clock.advance(EVERY + 0.1)
        lab.cloud.unlisted = None
        for zones in (two, one):
            assert isinstance((await lab.see(zones))[0], Present)


class Hanging(FakeZoneCloud):
    """Gives no list for as long as it hangs."""

    hangs = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.asked = asyncio.Event()

    async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
        found = await super().list_slices(zone, project)
        self.asked.set()
        while self.hangs:
            await self.context.clock.sleep(3600)
        return found


async def test_a_list_that_does_not_come_is_no_list(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        lab.cloud = Hanging(lab.context)
        begun = lab.clock.monotonic()
        looking = asyncio.create_task(lab.see(lab.process()))
        await lab.until_done(looking)
        seen, at = looking.result()
        assert isinstance(seen, Unknown)
        assert f"no answer within {LIST_LIMIT:g} s" in seen.why
        assert begun <= at <= lab.clock.monotonic() - LIST_LIMIT


async def test_who_dies_while_it_looks_is_followed_by_another(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        cloud = lab.cloud = Hanging(lab.context)
        for name in lab.names:
            await cloud.create(name, HERE)
        killed = lab.process("killed")
        lost = asyncio.create_task(lab.see(killed))
        await cloud.asked.wait()
        # Its claim stands, and nothing will come of it.
        lost.cancel()
        await killed.aclose()
        cloud.hangs = False
        begun = lab.clock.monotonic()
        other = asyncio.create_task(lab.see(lab.process("other")))
        await lab.until_done(other)
        assert isinstance(other.result()[0], Present)
        assert other.result()[1] - begun >= LAPSE
        assert len(cloud.lists) == 2


async def test_who_waits_no_longer_takes_the_look_from_nobody(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        zones = lab.process()
        impatient = asyncio.create_task(lab.see(zones, 0))
        patient = asyncio.create_task(lab.see(zones, 1))
        await asyncio.sleep(0)
        impatient.cancel()
        assert isinstance((await patient)[0], Present)
        assert impatient.cancelled()


class Broken(SqliteStore):
    """A store that cannot be used."""

    async def zone_look(self, *args: object, **kwargs: object) -> ZoneLook | None:
        raise StoreError("the disk gave an error")


async def test_without_a_database_each_process_looks_for_itself(tmp_path: Path) -> None:
    async with Lab(tmp_path) as lab:
        zones = Zones(Broken(Context(tmp_path, "", lab.clock)), lab.clock, "one")
        assert isinstance((await lab.see(zones))[0], Present)
        assert isinstance((await lab.see(zones, 1))[0], Present)
        assert lab.cloud.lists == ["here"]


# -- a job whose cloud is looked at so ----------------------------------------------------------


def zone_scene(root: Path, **spec: object) -> tuple[Scene, FakeZoneCloud]:
    scene = Scene(root, **spec)
    cloud = FakeZoneCloud(scene.cloud.context)
    scene.cloud = cloud
    return scene, cloud


async def test_a_job_that_runs_is_looked_at_by_lists_alone(tmp_path: Path) -> None:
    scene, cloud = zone_scene(tmp_path)
    async with scene:
        scene.start()
        await scene.until_running()
        await scene.pass_time(1)
        del cloud.looks[:], cloud.lists[:]
        begun = scene.clock.monotonic()
        await scene.until(lambda: len(cloud.lists) >= 10)
        assert cloud.looks == []
        assert scene.clock.monotonic() - begun >= 9 * EVERY - 1


async def test_a_preemption_is_seen_on_the_list(tmp_path: Path) -> None:
    scene, cloud = zone_scene(tmp_path, **loop())
    async with scene:
        scene.start()
        await scene.until_running()
        cloud.force("job-1-g1", SlicePhase.LOST, "PREEMPTED")
        await scene.until(lambda: "job-1-g2" in cloud.slices)
        assert (await scene.outcomes())[0] == ("interrupted", "preempted")


async def test_what_a_list_has_not_is_looked_at_before_it_is_believed_to_be_gone(
    tmp_path: Path,
) -> None:
    class Forgetful(FakeZoneCloud):
        """A cloud whose lists are late."""

        forgets = False

        async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
            found = await super().list_slices(zone, project)
            return [] if self.forgets else found

    scene, _ = zone_scene(tmp_path, **loop())
    async with scene:
        cloud = scene.cloud = Forgetful(scene.cloud.context)
        scene.start()
        fleet, token = await scene.until_running()
        cloud.forgets = True
        await scene.pass_time(60)
        assert fleet.program(token, 0).state is HostState.RUNNING
        cloud.vanish("job-1-g1")
        await scene.until(lambda: "job-1-g2" in cloud.slices)
        assert (await scene.outcomes())[0] == ("interrupted", "slice gone")


async def test_a_host_that_falls_silent_has_its_slice_looked_at_at_once(tmp_path: Path) -> None:
    class Seldom(FakeZoneCloud):
        """A cloud that is hardly ever looked at by itself."""

        look_every = 1e9

    scene, _ = zone_scene(tmp_path, **loop())
    async with scene:
        cloud = scene.cloud = Seldom(scene.cloud.context)
        scene.start()
        fleet, _ = await scene.until_running()
        await scene.pass_time(30)
        del cloud.looks[:]
        await scene.pass_time(30)
        assert cloud.looks == []
        fleet.silence(0)
        await scene.until(lambda: cloud.looks)


async def test_hosts_that_are_silent_before_anything_ran_have_their_slice_looked_at_at_once(
    tmp_path: Path,
) -> None:
    class Seldom(FakeZoneCloud):
        """A cloud that is hardly ever looked at by itself."""

        look_every = 1e9

    scene, _ = zone_scene(tmp_path / "home", **loop())
    async with scene:
        host = FakeHost(0, tmp_path / "host")
        host.away = "no route to host"
        cloud = scene.cloud = Seldom(scene.cloud.context, hosts=lambda _: [host])
        scene.start()
        await scene.until(lambda: cloud.looks)
        cloud.vanish("job-1-g1")
        await scene.until(lambda: "job-1-g2" in cloud.slices, limit=60)


@pytest.mark.parametrize("why", ["503", "Permission 'tpu.nodes.list' denied"])
async def test_lists_that_fail_for_an_hour_cost_no_slice(tmp_path: Path, why: str) -> None:
    scene, cloud = zone_scene(tmp_path)
    async with scene:
        scene.start()
        fleet, token = await scene.until_running()
        cloud.unlisted = why
        await scene.pass_time(3600)
        assert cloud.calls == ["create job-1-g1"]
        fleet.finish(token, 0, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


async def test_a_request_that_got_no_answer_is_found_by_its_name(tmp_path: Path) -> None:
    scene, cloud = zone_scene(tmp_path)
    async with scene:
        cloud.refusals.append(TransientCloudError("503"))
        cloud.provisioning = 3.0
        scene.start()
        await scene.until_running()
        assert list(cloud.slices) == ["job-1-g1"]
