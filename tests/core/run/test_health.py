"""What a cloud tells of a slice that stands: health, maintenance to come, where its hosts are."""

from pathlib import Path

from tests.core.run.scene import Scene

from jobman_core.interfaces.host import Runner
from jobman_core.models.lease import Liveness
from jobman_core.models.slice import HostInfo, Slice
from jobman_core.models.status import JobStatus
from jobman_core.testing.fakes import FakeCloud, FakeFleet, FakeRunner
from jobman_core.views import job_view

ILL = "UNHEALTHY_MAINTENANCE; maintenance from 12:00 to 14:00"


async def until_shown(scene: Scene, reason: str) -> None:
    """Let time pass until ``list`` shows that a job runs, and says so beside it."""
    view = job_view(await scene.record(), Liveness.ALIVE)
    for _ in range(300):
        if (view.status, view.reason) == (JobStatus.RUNNING, reason):
            return
        await scene.pass_time(1)
        view = job_view(await scene.record(), Liveness.ALIVE)
    raise AssertionError(view)


async def test_its_health_is_shown_beside_what_the_job_does_and_each_change_is_told_once(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        await scene.until_running()
        scene.cloud.slices["job-1-g1"].detail = ILL
        await until_shown(scene, f"its command; slice job-1-g1: {ILL}")
        await scene.pass_time(30)
        scene.cloud.slices["job-1-g1"].detail = ""
        await until_shown(scene, "its command")
        told = [e for e in await scene.store.events(job=scene.job) if e.kind.startswith("slice.")]
        assert [event.kind for event in told[-3:]] == [
            "slice.ready",
            "slice.health",
            "slice.health",
        ]
        assert ILL in told[-2].text


class Moving(FakeCloud):
    """A cloud whose machines may be started again, with other addresses."""

    made: tuple[FakeRunner, ...] = ()
    nowhere = FakeFleet()

    def runner(self, slice_: Slice) -> Runner | None:
        runner = super().runner(slice_)
        assert isinstance(runner, FakeRunner)
        self.made = (*self.made, runner)
        return runner

    def move(self, name: str, *ips: str) -> None:
        self.slices[name].ips = ips
        self.nowhere.silence(0)
        for runner in self.made:
            runner.fleet = self.nowhere
        self.slices[name].fleet.changed()


async def test_hosts_that_have_other_addresses_are_reached_there(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        cloud = scene.cloud = Moving(scene.cloud.context)
        scene.start()
        fleet, token = await scene.until_running()
        cloud.move("job-1-g1", "10.9.9.9")
        await scene.until(lambda: any("has hosts 10.9.9.9" in line for line in scene.said))
        (slice_,) = await scene.store.slices(scene.job)
        assert slice_.hosts == (HostInfo(0, "10.9.9.9"),)
        assert (await scene.kinds())[-1] == "slice.hosts"
        # What is tried there again is in vain.
        cloud.nowhere.changed()
        fleet.finish(token, 0, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]
