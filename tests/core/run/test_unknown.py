"""Unknown is not dead: whatever way a cloud has of saying nothing, nothing follows from it."""

import asyncio
from pathlib import Path

import pytest
from tests.core.run.scene import Scene, loop

from jobman_core.errors import TransientCloudError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Desired
from jobman_core.models.slice import Observation, SliceIdentity, SliceRequest, Unknown
from jobman_core.testing.fakes import FakeCloud, FakeHost

WAYS = ("says so", "raises", "hangs")


class MuteCloud(FakeCloud):
    """Says nothing about its slices, in one of three ways."""

    way: str | None = None

    async def observe(self, identity: SliceIdentity) -> Observation:
        match self.way:
            case "says so":
                return Unknown("503")
            case "raises":
                raise TransientCloudError("503: try again")
            case "hangs":
                await asyncio.Event().wait()
        return await super().observe(identity)


def scene_of(root: Path, **spec: object) -> tuple[Scene, MuteCloud]:
    scene = Scene(root, **spec)
    cloud = MuteCloud(Context(root, "home-1", scene.clock))
    scene.cloud = cloud
    return scene, cloud


@pytest.mark.parametrize("way", WAYS)
async def test_a_cloud_that_says_nothing_for_an_hour_costs_no_slice(
    tmp_path: Path, way: str
) -> None:
    scene, cloud = scene_of(tmp_path)
    async with scene:
        scene.start()
        fleet, token = await scene.until_running()
        cloud.way = way
        await scene.pass_time(3600)
        assert scene.running() == token
        assert cloud.calls == ["create job-1-g1"]
        cloud.way = None
        fleet.finish(token, 0, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


@pytest.mark.parametrize("way", WAYS)
async def test_a_slice_is_gone_only_once_it_is_seen_to_be(tmp_path: Path, way: str) -> None:
    scene, cloud = scene_of(tmp_path)
    async with scene:
        cloud.provisioning = 3600
        scene.start()
        await scene.until(lambda: cloud.slices)
        cloud.way = way
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stop"))
        await scene.pass_time(20)
        (slice_,) = await scene.store.slices(scene.job)
        assert slice_.gone_at is None
        cloud.way = None
        await scene.over()
        (slice_,) = await scene.store.slices(scene.job)
        assert slice_.gone_at is not None


@pytest.mark.parametrize("way", WAYS)
async def test_silent_hosts_on_a_slice_that_nobody_can_see_release_nothing(
    tmp_path: Path, way: str
) -> None:
    scene, cloud = scene_of(tmp_path)
    async with scene:
        scene.start()
        fleet, token = await scene.until_running()
        cloud.way = way
        fleet.silence(0)
        await scene.pass_time(3600)
        assert await scene.outcomes() == [("live", "")]
        cloud.way = None
        fleet.speak(0)
        fleet.finish(token, 0, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]


async def test_hosts_that_stay_silent_once_their_cloud_answers_again_cost_the_slice_only_then(
    tmp_path: Path,
) -> None:
    scene, cloud = scene_of(tmp_path, **loop(unreachable_timeout=600.0))
    async with scene:
        scene.start()
        fleet, _ = await scene.until_running()
        cloud.way = "says so"
        fleet.silence(0)
        await scene.pass_time(3600)
        cloud.way = None
        await scene.pass_time(500)
        assert await scene.outcomes() == [("live", "")]
        await scene.until(lambda: "job-1-g2" in cloud.slices, limit=200)


async def test_a_failure_beside_a_silent_host_releases_nothing_while_nobody_sees_the_slice(
    tmp_path: Path,
) -> None:
    wide = SliceRequest("fake", "v4-32", "here")
    scene, cloud = scene_of(tmp_path, **loop(candidates=(wide,), unreachable_timeout=600.0))
    async with scene:
        scene.start()
        fleet, token = await scene.until_running()
        cloud.way = "says so"
        fleet.silence(3)
        fleet.finish(token, 0, 1)
        await scene.pass_time(3600)
        assert await scene.outcomes() == [("live", "")]
        assert cloud.calls == ["create job-1-g1"]


async def test_hosts_that_nobody_ever_reached_cost_no_slice_that_nobody_can_see(
    tmp_path: Path,
) -> None:
    scene, cloud = scene_of(tmp_path / "home", **loop(unreachable_timeout=600.0))
    host = FakeHost(0, tmp_path / "host")
    host.away = "no route to host"
    async with scene:
        cloud = scene.cloud = MuteCloud(cloud.context, hosts=lambda _: [host])
        scene.start()
        await scene.until(lambda: cloud.slices)
        await scene.pass_time(5)
        cloud.way = "says so"
        await scene.pass_time(3600)
        assert cloud.calls == ["create job-1-g1"]
        cloud.way, host.away = None, None
        await scene.until(lambda: scene.running() or host.ran)
