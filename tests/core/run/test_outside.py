"""What an attempt has outside its processes is ended with it, and only then it is over."""

from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import Scene

from jobman_core.command import Command
from jobman_core.interfaces.host import Host, Runner
from jobman_core.interfaces.store import Note
from jobman_core.models.job import CommandMode, Desired, JobSpec
from jobman_core.models.slice import Slice, SliceRequest
from jobman_core.testing.fake_environment import FakeEnvironment
from jobman_core.testing.fakes import FakeCloud, FakeFleet, FakeHost, FakeRunner

WIDE = SliceRequest("fake", "v4-32", "here")


class Scenery:
    """A slice whose hosts take commands, and whose attempts are a fleet's."""

    def __init__(self, scene: Scene, root: Path, hosts: int = 1) -> None:
        self.scene = scene
        self.hosts = [FakeHost(index, root / f"host-{index}") for index in range(hosts)]
        scenery = self

        class Cloud(FakeCloud):
            def hosts(self, slice_: Slice) -> Sequence[Host]:
                return scenery.hosts

            def runner(self, slice_: Slice) -> Runner | None:
                return FakeRunner(self.slices[slice_.identity.name].fleet)

        scene.cloud = Cloud(scene.cloud.context)
        scene.environment = FakeEnvironment(scene.cloud.context)

    async def running(self) -> tuple[FakeFleet, str]:
        """Start; give hosts and token once it runs and has something outside on every host."""
        self.scene.start()
        fleet, token = await self.scene.until_running()
        for host in self.hosts:
            (host.home / f"outside-{token}").touch()
        return fleet, token

    def left(self, token: str) -> list[int]:
        return [h.index for h in self.hosts if (h.home / f"outside-{token}").exists()]


@pytest.mark.parametrize("code", [0, 3])
async def test_what_a_program_left_outside_is_ended_when_it_has_ended_by_itself(
    tmp_path: Path, code: int
) -> None:
    async with Scene(tmp_path / "home", candidates=(WIDE,)) as scene:
        scenery = Scenery(scene, tmp_path, hosts=4)
        fleet, token = await scenery.running()
        for host in range(4):
            fleet.finish(token, host, code)
        await scene.over()
        assert scenery.left(token) == []
        kind = "failed" if code else "succeeded"
        assert [outcome for outcome, _ in await scene.outcomes()] == [kind]


async def test_what_was_started_outside_is_ended_at_a_stop(tmp_path: Path) -> None:
    async with Scene(tmp_path / "home") as scene:
        scenery = Scenery(scene, tmp_path)
        _, token = await scenery.running()
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stops"))
        await scene.over()
        assert scenery.left(token) == []


async def test_nothing_is_over_while_what_is_outside_cannot_be_ended(tmp_path: Path) -> None:
    async with Scene(tmp_path / "home") as scene:
        scenery = Scenery(scene, tmp_path)
        fleet, token = await scenery.running()
        stuck = scenery.hosts[0].home / "stuck"
        stuck.touch()
        fleet.finish(token, 0, 0)
        await scene.pass_time(20)
        assert await scene.outcomes() == [("live", "")]
        said = "host 0 has not confirmed the end: the end of environment fake ended with 1: it is"
        assert any(said in line for line in scene.said)
        stuck.unlink()
        await scene.over()
        assert scenery.left(token) == []
        assert [outcome for outcome, _ in await scene.outcomes()] == ["succeeded"]


async def test_a_host_that_falls_silent_before_that_has_confirmed_nothing(tmp_path: Path) -> None:
    async with Scene(tmp_path / "home") as scene:
        scenery = Scenery(scene, tmp_path)
        fleet, token = await scenery.running()
        scenery.hosts[0].away = "no route to host"
        fleet.finish(token, 0, 0)
        await scene.pass_time(20)
        assert await scene.outcomes() == [("live", "")]
        scenery.hosts[0].away = None
        await scene.over()
        assert [outcome for outcome, _ in await scene.outcomes()] == ["succeeded"]


async def test_the_real_agent_and_an_environment_leave_nothing_together(tmp_path: Path) -> None:
    async with Scene(tmp_path / "home") as scene:
        hosts = [FakeHost(0, tmp_path / "host-0")]
        scene.cloud = FakeCloud(scene.cloud.context, hosts=lambda _: hosts)
        scene.environment = FakeEnvironment(scene.cloud.context)
        script = 'echo "wrapped=$FAKE_ENVIRONMENT"; ls ~ | grep -c outside-'
        scene.spec = attrs.evolve(scene.spec, work=CommandMode(script))
        scene.start()
        await scene.over()
        log = scene.home.command_log("ada", scene.job, 1, 0)
        assert log.read_text() == "wrapped=base\n1\n"
        assert not list(hosts[0].home.glob("outside-*"))


async def test_an_environment_that_has_nothing_outside_is_asked_for_nothing(
    tmp_path: Path,
) -> None:
    class Inside(FakeEnvironment):
        def end(self, spec: JobSpec, token: str) -> Command | None:
            return None

    async with Scene(tmp_path / "home") as scene:
        scenery = Scenery(scene, tmp_path)
        scene.environment = Inside(scene.cloud.context)
        fleet, token = await scenery.running()
        before = len(scenery.hosts[0].ran)
        fleet.finish(token, 0, 0)
        await scene.over()
        assert scenery.hosts[0].ran[before:] == []
