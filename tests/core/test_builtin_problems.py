"""What the core's own checks find on a host, and what their remedies leave behind."""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from jobman_core.builtin.problems import problems
from jobman_core.clock import Clock, SystemClock
from jobman_core.interfaces.host import HostFacts
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.view import Finding
from jobman_core.plugins import Plugins
from jobman_core.run.problems import look, mend
from jobman_core.run.questions import Around
from jobman_core.testing.fakes import FakeClock, FakeHost

PAGE = Path(__file__).parents[2] / "docs/solve.md"
CHECKS = {problem.name: problem for problem in problems()}


class World:
    """A host whose devices are files of a test."""

    def __init__(self, root: Path) -> None:
        self.device, self.lock = root / "dev/accel0", root / "lock"
        self.device.parent.mkdir()
        self.device.touch()
        facts = HostFacts(devices=(f"{root}/dev/accel*",), device_lock=str(self.lock))
        self.host = FakeHost(0, root / "home", facts=facts)
        self.clock: Clock = SystemClock()
        self.live: tuple[str, ...] = ()
        self.keys: tuple[str, ...] = ()

    @property
    def around(self) -> Around:
        return Around(self.clock, self.keys, self.live)

    async def wrong(self, name: str) -> list[str]:
        """Give what a check finds."""
        return [found.what for found in await look(self.host, [CHECKS[name]], self.around)]

    async def mended(self, name: str) -> Finding:
        """Let what a check finds be mended, and give what became of it."""
        found = await look(self.host, [CHECKS[name]], self.around)
        (finding,) = await mend(self.host, found, self.around)
        return finding


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@contextlib.contextmanager
def holding(*paths: Path, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Let a process hold files open, out of reach of a friendly signal."""
    script = (
        "import signal, sys\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "files = [open(path) for path in sys.argv[1:]]\n"
        "print('holds', flush=True)\n"
        "signal.pause()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, paths)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holds\n"
        try:
            yield process
        finally:
            process.kill()


def test_what_work_waits_for_is_cheap_and_asked_only_where_a_machine_is_the_slices_own() -> None:
    assert [p.name for p in problems() if p.cheap] == ["disk", "owner", "clock"]
    assert all(p.machine for p in problems() if p.cheap)


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: problem.name)
def test_every_check_says_what_its_remedy_does(problem: HostProblem) -> None:
    assert problem.remedy_text


async def test_a_process_that_is_left_over_gives_the_accelerator_back(world: World) -> None:
    assert await world.wrong("chips") == []
    world.lock.touch()
    with holding(world.device, world.lock) as process:
        (what,) = await world.wrong("chips")
        assert what.startswith(f"process {process.pid} of ")
        assert "holds the accelerator" in what
        assert sys.executable[:60] in what
        assert (await world.mended("chips")).fixed
        assert process.wait(30) == -9
    assert not world.lock.exists(), "what it left would be in the way as well"


@pytest.mark.parametrize("token", ["t-1", "t-1.host-0"])
async def test_who_belongs_to_an_attempt_that_runs_holds_the_accelerator_by_right(
    world: World, token: str
) -> None:
    world.live = ("t-0", "t-1")
    with holding(world.device, env={"JOBMAN_ATTEMPT_TOKEN": token}):
        assert await world.wrong("chips") == []
    with holding(world.device, env={"JOBMAN_ATTEMPT_TOKEN": "t-11"}):
        assert len(await world.wrong("chips")) == 1


async def test_whoever_is_in_the_session_of_an_attempt_that_runs_belongs_to_it(
    world: World,
) -> None:
    world.live = ("t-1",)
    folder = world.host.home / ".jobman/attempts/t-1"
    folder.mkdir(parents=True)
    with holding(world.device):
        assert len(await world.wrong("chips")) == 1
        (folder / "pid").write_text(f"{os.getsid(0)} 1 boot\n")
        assert await world.wrong("chips") == []


async def test_a_lock_file_is_stale_once_nobody_holds_it(world: World) -> None:
    assert await world.wrong("lock") == []
    world.lock.touch()
    with holding(world.lock):
        assert await world.wrong("lock") == []
    (what,) = await world.wrong("lock")
    assert "is held by nobody" in what
    assert (await world.mended("lock")).fixed
    assert not world.lock.exists()


async def test_a_disk_with_room_is_well(world: World) -> None:
    assert await world.wrong("disk") == []


@pytest.mark.parametrize(
    ("shift", "said"), [(100, "behind, by that of the machine"), (-100, "ahead, by that of")]
)
async def test_a_clock_that_is_off_is_told_with_how_far(
    world: World, shift: float, said: str
) -> None:
    assert await world.wrong("clock") == []
    world.clock = FakeClock(start=SystemClock().now())
    world.clock.shift_wall(shift)
    (what,) = await world.wrong("clock")
    assert said in what
    assert "100 s" in what or "99 s" in what or "101 s" in what


async def test_keys_that_are_missing_or_open_to_others_are_told_and_closed(world: World) -> None:
    world.keys = (".ssh/id with space", ".ssh/id.pub", ".ssh/gone")
    folder = world.host.home / ".ssh"
    folder.mkdir()
    for name in world.keys[:2]:
        (world.host.home / name).write_text("key")
        (world.host.home / name).chmod(0o644)
    open_ = f"{folder}/id with space can be read by others, so OpenSSH does not take it"
    assert await world.wrong("keys") == [f"{open_}; {folder}/gone is missing"]
    finding = await world.mended("keys")
    assert (finding.fixed, finding.problem) == (False, f"{folder}/gone is missing")
    assert finding.why == "its remedy ended with 1: only `jobman reboot ID --force` brings it"
    assert (folder / "id with space").stat().st_mode & 0o777 == 0o600


async def test_a_job_without_keys_lacks_none(world: World) -> None:
    assert await world.wrong("keys") == []


async def test_mounts_that_are_served_are_well(world: World) -> None:
    assert await world.wrong("mounts") == []


@pytest.mark.root
async def test_what_sudo_left_below_the_home_is_given_back_and_nothing_else(world: World) -> None:
    home, nobody = world.host.home, 65534
    (home / ".cache/pip/deep/er").mkdir(parents=True)
    (home / "work").mkdir()
    elsewhere = home.parent / "elsewhere"
    elsewhere.touch()
    (home / ".cache/pip/deep/link").symlink_to(elsewhere)
    for path in (".cache/pip/deep/er", ".cache/pip/deep", "work", ".cache/pip/deep/link"):
        os.chown(home / path, nobody, nobody, follow_symlinks=False)
    os.chown(elsewhere, nobody, nobody)
    (what,) = await world.wrong("owner")
    assert what == f"{home}/.cache/pip/deep belongs to nobody"
    assert (await world.mended("owner")).fixed
    owners: Any = {
        path: (home / path).lstat().st_uid
        for path in (".cache/pip/deep/er", ".cache/pip/deep/link", "work")
    }
    assert owners == {".cache/pip/deep/er": 0, ".cache/pip/deep/link": 0, "work": nobody}
    assert elsewhere.stat().st_uid == nobody


def test_the_page_has_every_check_with_when_it_is_asked_and_whom_it_disturbs() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` ?(°?) ?(✓?) \|", PAGE.read_text("utf-8"))
    said = {name: (bool(cheap), bool(gentle)) for name, cheap, gentle in rows}
    assert {p.name: (p.cheap, p.gentle) for p in problems()} == {
        name: said[name] for name in CHECKS
    }


def test_the_check_on_the_page_can_be_brought_by_a_plugin() -> None:
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text("utf-8"))
    plugin = ModuleType("jobman_ram")
    exec(compile(code, "solve.md", "exec"), vars(plugin))  # noqa: S102 - our own page
    plugins = Plugins()
    plugins.add("ram", plugin, distribution="jobman-ram")
    (found,) = plugins.problems()
    assert (found.name, found.cheap, found.machine) == ("ram disk", True, True)
