"""What a person is told of a job's hosts, and who may have what mended there, and when."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from jobman_core import hookimpl
from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.command import Command, Exit
from jobman_core.errors import HostUnreachableError, NotFoundError, NotYoursError
from jobman_core.home import Home
from jobman_core.interfaces.host import HostFacts, Runner
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.slice import Slice
from jobman_core.models.status import JobStatus
from jobman_core.models.view import Solved
from jobman_core.plugins import Plugins
from jobman_core.testing.fakes import FakeCloud, FakeHost, FakeRunner

ROUGH = HostProblem(
    *("rough", "[ -e mended ] || { echo 'there is no file'; exit 1; }", "touch mended", "make it")
)
GENTLE = HostProblem(
    *("gentle", "[ -e eased ] || { echo 'it is hard'; exit 1; }", "touch eased", "ease it"),
    gentle=True,
)
HOPELESS = HostProblem("hopeless", "echo 'it is lost'; exit 1", remedy_text="call somebody")


class Both(FakeCloud):
    """Programs run in memory, and checks on hosts that are folders."""

    name = "both"
    machines: ClassVar[Sequence[FakeHost]] = ()
    in_memory: ClassVar[bool] = True

    def hosts(self, slice_: Slice) -> Sequence[FakeHost]:
        del slice_
        return self.machines

    def runner(self, slice_: Slice) -> Runner | None:
        return FakeRunner(self.slices[slice_.identity.name].fleet) if self.in_memory else None


class World:
    """A home with one job, on hosts that a test knows."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root / "home")
        self.home.root.mkdir()
        (self.home.root / "jobman.yaml").write_text("session: process\n")
        self.hosts = [FakeHost(index, root / f"host-{index}") for index in range(2)]
        #: The jobs' prefix script.
        self.prefix = "true"
        self.plugins = Plugins(builtins, disabled="tmux,gcp")
        self.cloud: type[Both] = type("Mine", (Both,), {"machines": self.hosts})
        self.add("cloud", jobman_clouds=lambda: [self.cloud])

    def add(self, name: str, **hooks: Callable[[], Sequence[object]]) -> None:
        plugin = SimpleNamespace(**{hook: hookimpl(give) for hook, give in hooks.items()})
        self.plugins.add(name, plugin, distribution=f"jobman-{name}")

    def bring(self, *problems: HostProblem) -> None:
        """Add checks."""
        self.add("checks", jobman_problems=lambda: problems)

    def app(self, user: str = "ada") -> App:
        return App(self.home, make=True, user=user, plugins=self.plugins)

    async def create(self, app: App, cmd: str | None) -> str:
        """Create a job that nothing drives."""
        config = self.home.root / "job.yaml"
        lines = [
            f"job: {{name: job, prefix: {self.prefix!r}}}",
            "tpu: {cloud: both, accelerator: v4-16, zone: here}",
        ]
        if cmd is not None:
            lines.append(f"command: {{cmd: {cmd}}}")
        config.write_text("\n".join(lines))
        (made,) = await app.create(config, start=False)
        return made.job.id

    async def done(self, app: App) -> str:
        """Give a job that is done, and keeps its slice."""
        job = await self.create(app, "exit 0")
        await app.run(job)
        return job

    @contextlib.asynccontextmanager
    async def driven(self, app: App, cmd: str | None, status: JobStatus) -> AsyncIterator[str]:
        """Give a job of that status, which a controller drives for the length of a block."""
        job = await self.create(app, cmd)
        driving = asyncio.create_task(app.run(job))
        try:
            async with asyncio.timeout(30):
                while (await app.show(job)).job.status is not status:  # noqa: ASYNC110 - a store's
                    await asyncio.sleep(0.02)
            yield job
        finally:
            driving.cancel()
            await asyncio.gather(driving, return_exceptions=True)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def short(found: Solved) -> list[tuple[int, str, str, bool, str]]:
    return [(f.host, f.name, f.problem, f.fixed, f.why) for f in found.findings]


async def test_what_is_wrong_is_told_with_its_remedy_and_nothing_is_done(world: World) -> None:
    world.bring(ROUGH, HOPELESS)
    (world.hosts[0].home / "mended").touch()
    async with world.app() as app:
        found = await app.solve(await world.done(app))
    assert short(found) == [
        (0, "hopeless", "it is lost", False, ""),
        (1, "rough", "there is no file", False, ""),
        (1, "hopeless", "it is lost", False, ""),
    ]
    assert [f.remedy for f in found.findings] == ["call somebody", "make it", "call somebody"]
    assert [f.mendable for f in found.findings] == [False, True, False]
    assert (found.hosts, found.well) == (2, False)
    assert not (world.hosts[1].home / "mended").exists()


async def test_what_may_be_missing_since_hosts_are_just_prepared_is_told_as_that(
    world: World,
) -> None:
    world.bring(ROUGH)
    world.cloud.in_memory = False
    world.prefix = "until [ -e mended ]; do sleep 0.05; done"
    async with world.app() as app, world.driven(app, None, JobStatus.PREPARING) as job:
        async with asyncio.timeout(30):
            while "prefix script" not in (await app.solve(job)).preparing:  # noqa: ASYNC110 - a store's
                await asyncio.sleep(0.02)
        for host in world.hosts:
            (host.home / "mended").touch()
        async with asyncio.timeout(30):
            while (await app.solve(job)).preparing:  # noqa: ASYNC110 - a store's
                await asyncio.sleep(0.02)


async def test_what_prepares_a_host_is_not_disturbed_though_nobody_drives_the_job(
    world: World,
) -> None:
    world.bring(ROUGH)
    world.cloud.in_memory = False
    world.prefix = "touch began; until [ -e go ]; do sleep 0.05; done"
    # One plain script runs on host 0.
    began = world.hosts[0].home / "began"
    async with world.app() as app:
        async with (
            world.driven(app, None, JobStatus.PREPARING) as job,
            asyncio.timeout(30),
        ):
            while not began.exists():  # noqa: ASYNC110 - a script's
                await asyncio.sleep(0.02)
        found = await app.solve(job, fix=True)
        (world.hosts[0].home / "go").touch()
    refused = f"refused, since the host is being prepared: `jobman stop {job}` ends that"
    assert [(f.fixed, f.why) for f in found.findings] == [(False, refused), (True, "")]


async def test_all_is_well_where_no_check_finds_anything(world: World) -> None:
    world.bring(HostProblem("fine", "true"))
    async with world.app() as app:
        found = await app.solve(await world.done(app))
    assert (found.findings, found.well, found.checks) == ((), True, ("keys", "fine"))


async def test_with_fix_remedies_run_on_every_host_and_what_was_mended_is_on_record(
    world: World,
) -> None:
    world.bring(ROUGH, GENTLE)
    async with world.app() as app:
        job = await world.done(app)
        found = await app.solve(job, fix=True)
        assert found.well
        assert len(found.findings) == 4
        told = [e.text for e in (await app.show(job)).events if e.kind == "host.mended"]
        assert told[0] == "host 0: rough: there is no file: mended; remedy: make it"
        assert len(told) == 4
        assert (await app.solve(job, fix=True)).findings == ()


async def test_what_cannot_be_mended_is_named_and_the_rest_is_mended(world: World) -> None:
    world.bring(HOPELESS, ROUGH)
    async with world.app() as app:
        found = await app.solve(await world.done(app), fix=True)
    assert [f.fixed for f in found.findings] == [False, True, False, True]
    assert not found.well


async def test_a_host_that_does_not_answer_is_a_finding_and_the_others_are_mended(
    world: World,
) -> None:
    world.bring(ROUGH)
    async with world.app() as app:
        job = await world.done(app)
        world.hosts[0].away = "no route to host"
        found = await app.solve(job, fix=True)
    one, two = found.findings
    assert (one.host, one.name, one.fixed, one.mendable) == (0, "host", False, False)
    assert "no route to host" in one.problem
    assert (two.host, two.fixed) == (1, True)


async def test_a_host_that_falls_silent_while_it_is_mended_says_what_is_not_known(
    world: World,
) -> None:
    class Failing(FakeHost):
        async def run(self, command: Command, *, limit: float) -> Exit:
            if not command.transient:
                raise HostUnreachableError("the link dropped")
            return await super().run(command, limit=limit)

    world.bring(ROUGH)
    world.hosts[1:] = [Failing(1, world.hosts[1].home)]
    async with world.app() as app:
        found = await app.solve(await world.done(app), fix=True)
    assert [(f.fixed, f.why) for f in found.findings] == [(True, ""), (False, "the link dropped")]


async def test_a_program_that_runs_is_disturbed_by_no_remedy(world: World) -> None:
    world.bring(ROUGH, GENTLE)
    async with world.app() as app, world.driven(app, "sleep", JobStatus.RUNNING) as job:
        found = await app.solve(job, fix=True)
    why = f"refused, since its command runs there: `jobman stop {job}` ends it"
    assert short(found)[:2] == [
        (0, "rough", "there is no file", False, why),
        (0, "gentle", "it is hard", True, ""),
    ]
    assert not (world.hosts[0].home / "mended").exists()


async def test_a_program_that_may_start_at_any_moment_is_disturbed_by_no_remedy(
    world: World,
) -> None:
    world.bring(ROUGH, GENTLE)
    async with world.app() as app, world.driven(app, None, JobStatus.IDLE) as job:
        found = await app.solve(job, fix=True)
    assert [(f.name, f.fixed) for f in found.findings] == [
        *(("rough", False), ("gentle", True)) * 2
    ]
    assert "its controller may start a program at any moment" in found.findings[0].why


async def test_nobody_mends_the_hosts_of_somebody_else(world: World) -> None:
    world.bring(ROUGH)
    async with world.app() as app:
        job = await world.done(app)
    async with world.app("bob") as app:
        with pytest.raises(NotYoursError, match="belongs to ada"):
            await app.solve(job, fix=True)
    assert not (world.hosts[0].home / "mended").exists()


async def test_a_job_without_hosts_says_why_there_is_nothing_to_look_at(world: World) -> None:
    async with world.app() as app:
        job = await world.create(app, "exit 0")
        with pytest.raises(NotFoundError, match="no slice that is ready"):
            await app.solve(job)


async def test_on_a_machine_of_its_own_more_is_asked(world: World) -> None:
    world.bring(HostProblem("mine", "true", machine=True))
    async with world.app() as app:
        job = await world.done(app)
        assert (await app.solve(job)).checks == ("keys",)
        world.hosts[0].facts = HostFacts(own_machine=True)
        checks = (await app.solve(job)).checks
    assert set(checks) == {*("chips", "lock", "disk", "owner", "clock", "mounts", "keys", "mine")}
