"""Sessions in a real tmux, each test with a socket folder of its own."""

import asyncio
import os
import shutil
import subprocess
import tempfile
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
from jobman_core.testing.session_contract import SessionBed, eventually
from jobman_tmux import TmuxSession

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.tmux,
    # The library `sh` forks; from 3.12 on Python warns of that where there are threads.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a socket folder with a short path; fails if a server is left in it."""
    folder = Path(tempfile.mkdtemp(prefix="jt-", dir="/tmp"))
    monkeypatch.setenv("TMUX_TMPDIR", str(folder))
    # As if the tests were run inside someone's tmux.
    monkeypatch.setenv("TMUX", "/tmp/somebody's/socket,1,0")
    yield folder
    left = [answer for socket in folder.glob("tmux-*/*") if (answer := ask(socket, "ls"))]
    for socket in folder.glob("tmux-*/*"):
        ask(socket, "kill-server")
    shutil.rmtree(folder)
    assert not left


def ask(socket: Path, *arguments: str) -> str:
    """Ask the server behind a socket; empty where there is none."""
    done = subprocess.run(
        ("tmux", "-S", str(socket), "-f", os.devnull, *arguments),
        check=False,
        capture_output=True,
        text=True,
    )
    return done.stdout


def socket_of(sockets: Path, bed: SessionBed) -> Path:
    return sockets / f"tmux-{os.getuid()}" / f"jobman-{bed.session.context.home_id[:8]}"


def write_hasty_tmux(folder: Path) -> None:
    """Put a tmux there that is just leaving when it is first asked for a session."""
    folder.mkdir()
    program = folder / "tmux"
    program.write_text(
        f"""#!/bin/sh
case "$*" in *new-session*)
    [ -e '{folder}/refused' ] || {{
        touch '{folder}/refused'; echo 'server exited unexpectedly' >&2; exit 1
    }} ;;
esac
exec '{shutil.which("tmux")}' "$@"
"""
    )
    program.chmod(0o755)


class TestTmuxSession(PaneSessionContract):
    session_class = TmuxSession
    program = "tmux"

    @pytest.fixture(autouse=True)
    def _in_a_folder(self, sockets: Path) -> None:
        self.sockets = sockets

    def listed(self, bed: SessionBed) -> list[str]:
        socket = socket_of(self.sockets, bed)
        return [line.split(":")[0] for line in ask(socket, "ls").splitlines()]

    def shim(self, bed: SessionBed) -> int:
        pane = ask(socket_of(self.sockets, bed), "list-panes", "-a", "-F", "#{pane_pid}")
        return int(pane)

    def kill_server(self, bed: SessionBed) -> None:
        ask(socket_of(self.sockets, bed), "kill-server")

    def make(self, home: Path, home_id: str) -> Session:
        session = TmuxSession(Context(home, home_id, SystemClock()))
        session.grace = 0.5
        return session

    async def test_a_home_has_a_server_of_its_own_which_ends_with_its_last_session(
        self, bed: SessionBed
    ) -> None:
        for name in ("a", "b"):
            await bed.session.start(bed.plan(name, self.living()))
        assert self.listed(bed) == ["a", "b"]
        await bed.session.end("a")
        assert self.listed(bed) == ["b"]
        await bed.session.end("b")
        await eventually(lambda: not self.listed(bed), "the server is gone")

    async def test_a_start_that_meets_the_server_as_it_leaves_tries_again(
        self, bed: SessionBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        programs = tmp_path / "bin"
        await asyncio.to_thread(write_hasty_tmux, programs)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        await bed.session.start(bed.plan("s", self.living()))
        assert (programs / "refused").exists()
        assert await bed.session.alive("s")

    async def test_settings_of_the_user_s_tmux_do_not_matter(
        self,
        bed: SessionBed,
        sockets: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        settings = "set -g exit-empty off\nset -g remain-on-exit on\n"
        await asyncio.to_thread((tmp_path / ".tmux.conf").write_text, settings)
        monkeypatch.setenv("HOME", str(tmp_path))
        await bed.session.start(bed.plan("s", Command(("true",))))
        await eventually(lambda: not ask(socket_of(sockets, bed), "ls"), "the server is gone")

    async def test_the_starter_s_environment_does_not_stay_with_the_server(
        self, bed: SessionBed, sockets: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("API_TOKEN", "canary-51c2")
        await bed.session.start(bed.plan("s", self.living()))
        socket = socket_of(sockets, bed)
        assert "canary" not in ask(socket, "show-environment", "-g")
        server = Path("/proc", ask(socket, "display-message", "-p", "#{pid}").strip())
        assert b"canary" not in await asyncio.to_thread((server / "environ").read_bytes)

    async def test_a_socket_folder_that_cannot_be_used_is_named(
        self, bed: SessionBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The system takes about a hundred characters.
        folder = tmp_path / ("x" * 120)
        folder.mkdir()
        with monkeypatch.context() as patch:
            patch.setenv("TMUX_TMPDIR", str(folder))
            with pytest.raises(CommandFailedError, match=r"too long.*TMUX_TMPDIR"):
                await bed.session.start(bed.plan("s", self.living()))


def test_the_distribution_brings_it() -> None:
    rows = [row for row in Plugins().rows() if row.name == "tmux"]
    assert [(row.kind, row.distribution, row.error) for row in rows] == [
        ("session", "jobman-tmux", None)
    ]
