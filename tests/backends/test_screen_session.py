"""Sessions in a real GNU screen; each home has a socket folder of its own."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.panes import PaneSessionContract

from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session
from jobman_core.plugins import Plugins
from jobman_core.process import ProcessIdentity, Records
from jobman_core.testing.session_contract import SessionBed, eventually
from jobman_screen import ScreenSession
from jobman_screen.screens import Screens

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.screen,
    # The library `sh` forks; from 3.12 on Python warns of that where there are threads.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


def folder_of(home_id: str) -> Path:
    return Path(f"/tmp/jobman-screen-{os.getuid()}-{home_id[:8]}")


def sockets(bed: SessionBed) -> list[str]:
    folder = folder_of(bed.session.context.home_id)
    return sorted(path.name for path in folder.glob("*"))


class TestScreenSession(PaneSessionContract):
    session_class = ScreenSession
    program = "screen"

    @pytest.fixture(autouse=True)
    def _inside_someone_s_screen(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setenv("STY", "1234.somebody")
        monkeypatch.setenv("SCREENDIR", "/tmp/somebody")
        self.homes: set[str] = set()
        yield
        left = [str(path) for home in self.homes for path in folder_of(home).glob("*")]
        for home in self.homes:
            shutil.rmtree(folder_of(home), ignore_errors=True)
        assert not left

    def make(self, home: Path, home_id: str) -> Session:
        self.homes.add(home_id)
        session = ScreenSession(Context(home, home_id, SystemClock()))
        session.grace = 0.5
        return session

    def listed(self, bed: SessionBed) -> list[str]:
        folder = folder_of(bed.session.context.home_id)
        done = subprocess.run(
            ("screen", "-ls"),
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "SCREENDIR": str(folder)},
        )
        lines = [line.split() for line in done.stdout.splitlines() if line.startswith("\t")]
        return sorted(fields[0].partition(".")[2] for fields in lines)

    def keeper(self, bed: SessionBed) -> int:
        (name,) = sockets(bed)
        return int(name.partition(".")[0])

    def shim(self, bed: SessionBed) -> int:
        keeper = self.keeper(bed)
        return int(Path(f"/proc/{keeper}/task/{keeper}/children").read_text())

    def kill_server(self, bed: SessionBed) -> None:
        os.kill(self.keeper(bed), 9)

    async def test_each_session_is_a_screen_that_leaves_with_it(self, bed: SessionBed) -> None:
        for name in ("a", "b"):
            await bed.session.start(bed.plan(name, self.living()))
        assert self.listed(bed) == ["a", "b"]
        await bed.session.end("a")
        assert self.listed(bed) == ["b"]
        await bed.session.end("b")
        assert not sockets(bed)

    async def test_a_name_that_begins_with_another_one_is_not_taken_for_it(
        self, bed: SessionBed
    ) -> None:
        await bed.session.start(bed.plan("job-10", self.living()))
        Records.of_home(bed.home).remove("job-10")
        assert not await bed.session.alive("job-1")
        command = bed.session.attach("job-1")
        assert command is not None
        assert command.argv[-1] == "0.job-1"
        await bed.session.end("job-1")
        assert await bed.session.alive("job-10")

    async def test_settings_of_the_user_s_screen_do_not_matter(
        self, bed: SessionBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await asyncio.to_thread((tmp_path / ".screenrc").write_text, "zombie kr\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("SYSSCREENRC", str(tmp_path / ".screenrc"))
        await bed.session.start(bed.plan("s", Command(("true",))))
        await eventually(lambda: not sockets(bed), "the screen is gone")

    async def test_the_starter_s_environment_does_not_stay_with_the_screen(
        self, bed: SessionBed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("API_TOKEN", "canary-51c2")
        await bed.session.start(bed.plan("s", self.living()))
        for pid in (self.keeper(bed), self.shim(bed)):
            assert b"canary" not in await asyncio.to_thread(Path(f"/proc/{pid}/environ").read_bytes)

    async def test_a_screen_that_is_halted_is_ended_all_the_same(self, bed: SessionBed) -> None:
        identity = await self._started(bed, "s")
        keeper = ProcessIdentity.of(self.keeper(bed))
        os.kill(keeper.pid, 19)
        await eventually(lambda: keeper.state() == "stopped", "it is halted")
        await bed.session.end("s")
        assert identity.state() == "gone"
        assert keeper.state() == "gone"
        assert not sockets(bed)

    async def test_a_socket_whose_process_is_another_one_by_now_ends_nobody(
        self, bed: SessionBed
    ) -> None:
        await bed.session.start(bed.plan("s", self.living()))
        (name,) = sockets(bed)
        folder = folder_of(bed.session.context.home_id)
        await bed.session.end("s")
        other = await asyncio.create_subprocess_exec("sleep", "600")
        # As after a restart of the machine that kept /tmp.
        stale = folder / f"{other.pid}.{name.partition('.')[2]}"
        await asyncio.to_thread(_leave_socket, stale)
        assert not await bed.session.alive("s")
        await bed.session.end("s")
        assert not sockets(bed)
        assert other.returncode is None
        other.kill()
        await other.wait()

    async def test_a_socket_folder_that_is_not_ours_alone_is_refused(self, bed: SessionBed) -> None:
        folder = folder_of(bed.session.context.home_id)
        folder.mkdir(mode=0o755)
        with pytest.raises(CommandFailedError, match=rf"{folder} is not a folder .* remove it"):
            await bed.session.start(bed.plan("s", self.living()))
        folder.rmdir()
        folder.symlink_to(bed.home)
        with pytest.raises(CommandFailedError, match="yours alone"):
            await bed.session.start(bed.plan("s", self.living()))
        folder.unlink()


def _leave_socket(path: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))
        one.listen()


def test_the_longest_name_fits_into_a_socket_s_path() -> None:
    session = ScreenSession(Context(Path("/home"), "0" * 36, SystemClock()))
    path = Screens.of_home("0" * 36).folder / f"4194304.{session.pane_of('x' * 300)}"
    assert len(str(path).replace(f"-{os.getuid()}-", "-4294967295-")) < 108


def test_the_distribution_brings_it() -> None:
    rows = [row for row in Plugins().rows() if row.name == "screen"]
    assert [(row.kind, row.distribution, row.error) for row in rows] == [
        ("session", "jobman-screen", None)
    ]
