"""What is asked of hosts before each attempt, and what follows from it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.core.run.scene import Scene

from jobman_core import hookimpl
from jobman_core.command import Command, Exit
from jobman_core.errors import HostUnreachableError
from jobman_core.interfaces.host import HostFacts, Runner
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import QueueMode
from jobman_core.models.slice import Slice
from jobman_core.models.task import TaskSpec
from jobman_core.testing.fakes import FakeCloud, FakeHost, FakeRunner

NEEDS_FILE = HostProblem(
    *("file", "[ -e mended ] || { echo 'there is no file'; exit 1; }", "touch mended", "make it"),
    cheap=True,
)
NEVER_WELL = HostProblem("odd", "echo 'it is odd'; exit 1", remedy_text="see why", cheap=True)


class Brings:
    def __init__(self, *problems: HostProblem) -> None:
        self.problems = problems

    @hookimpl
    def jobman_problems(self) -> Sequence[HostProblem]:
        return self.problems


class Both(FakeCloud):
    """Programs run in memory, and checks on hosts that are folders."""

    machines: Sequence[FakeHost] = ()

    def hosts(self, slice_: Slice) -> Sequence[FakeHost]:
        del slice_
        return self.machines

    def runner(self, slice_: Slice) -> Runner | None:
        return FakeRunner(self.slices[slice_.identity.name].fleet)


@asynccontextmanager
async def scene_with(
    root: Path, *problems: HostProblem, own: bool = True, **spec: Any
) -> AsyncIterator[tuple[Scene, FakeHost]]:
    """Give a job whose only host is a folder."""
    async with Scene(root / "home", **spec) as scene:
        cloud = scene.cloud = Both(scene.cloud.context)
        host = FakeHost(0, root / "host", facts=HostFacts(own_machine=own))
        cloud.machines = [host]
        scene.plugins.add("mine", Brings(*problems), distribution="jobman-mine")
        yield scene, host


def asked(host: FakeHost) -> int:
    """Count the round trips of checks."""
    return sum("JOBMAN_NOW" in command.env for command in host.ran)


async def told(scene: Scene) -> list[tuple[str, str]]:
    """Give what the timeline has about hosts."""
    events = await scene.store.events(job=scene.job)
    return [(e.kind, e.text) for e in events if e.kind.startswith("host.")]


async def test_what_is_wrong_on_a_host_is_mended_before_the_program_starts(tmp_path: Path) -> None:
    async with scene_with(tmp_path, NEEDS_FILE) as (scene, host):
        scene.start()
        await scene.until_running()
        assert (host.home / "mended").exists()
        text = "host 0: file: there is no file: mended; remedy: make it"
        assert await told(scene) == [("host.mended", text)]
        assert any(text in line for line in scene.said)


async def test_a_machine_that_others_use_is_left_as_it_is(tmp_path: Path) -> None:
    async with scene_with(tmp_path, NEEDS_FILE, own=False) as (scene, host):
        scene.start()
        await scene.until_running()
        assert not (host.home / "mended").exists()
        assert await told(scene) == [
            ("host.problem", "host 0: file: there is no file: remedy: make it")
        ]


async def test_what_nobody_can_mend_is_told_once_and_work_goes_on(tmp_path: Path) -> None:
    work = QueueMode("", idle_timeout=30.0)
    async with scene_with(tmp_path, NEVER_WELL, work=work) as (scene, host):
        scene.tasks = tuple(TaskSpec(f"t{n}", "exit 0", "v4-8") for n in range(3))
        scene.queue_file.write_text("with tasks")
        await scene.queues.refresh(scene.queue_file)
        scene.start()
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")] * 3
        assert asked(host) == 3
        assert await told(scene) == [("host.problem", "host 0: odd: it is odd: remedy: see why")]


async def test_an_attempt_that_could_not_do_its_work_fails_before_its_start(
    tmp_path: Path,
) -> None:
    fatal = HostProblem("odd", "echo 'it is odd'; exit 1", cheap=True, fatal=True)
    async with scene_with(tmp_path, fatal) as (scene, _):
        scene.start()
        await scene.over()
        assert await scene.outcomes() == [("failed", "set-up failed")]
        (attempt,) = await scene.attempts()
        assert attempt.outcome is not None
        assert "host 0: odd: it is odd" in attempt.outcome.detail
        fleet = scene.fleet()
        assert fleet is not None
        assert all(program.plan is None for program in fleet.programs.values())


async def test_hosts_are_not_asked_where_no_cheap_check_fits_them(tmp_path: Path) -> None:
    """A task must not wait for a round trip that nobody needs."""
    dear = HostProblem("dear", "exit 1", "exit 1")
    machine = HostProblem("machine", "exit 1", "exit 1", cheap=True, machine=True)
    async with scene_with(tmp_path, dear, machine, own=False) as (scene, host):
        scene.start()
        await scene.until_running()
        assert asked(host) == 0


async def test_hosts_that_do_not_answer_are_asked_until_they_do(tmp_path: Path) -> None:
    class Deaf(FakeHost):
        deaf = True

        async def run(self, command: Command, *, limit: float) -> Exit:
            if self.deaf and "JOBMAN_NOW" in command.env:
                raise HostUnreachableError("no route to host")
            return await super().run(command, limit=limit)

    async with scene_with(tmp_path, NEEDS_FILE) as (scene, _):
        host = Deaf(0, tmp_path / "deaf", facts=HostFacts())
        assert isinstance(scene.cloud, Both)
        scene.cloud.machines = [host]
        scene.start()
        await scene.until(lambda: any("no route to host" in line for line in scene.said))
        assert scene.running() is None
        host.deaf = False
        await scene.until_running()
        assert (host.home / "mended").exists()


async def test_a_host_that_cannot_run_checks_gets_its_program_all_the_same(
    tmp_path: Path,
) -> None:
    class Mute(FakeHost):
        async def run(self, command: Command, *, limit: float) -> Exit:
            if "JOBMAN_NOW" in command.env:
                return Exit(1, b"", b"bash: not found")
            return await super().run(command, limit=limit)

    async with scene_with(tmp_path, NEEDS_FILE) as (scene, _):
        assert isinstance(scene.cloud, Both)
        scene.cloud.machines = [Mute(0, tmp_path / "mute", facts=HostFacts())]
        scene.start()
        await scene.until_running()
        assert any("bash: not found" in line for line in scene.said)
