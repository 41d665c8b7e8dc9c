"""Sessions in a real tmux, each test with a socket folder of its own."""

import asyncio
import os
import pty
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jobman_core.builtin.process_session import ProcessSession
from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session
from jobman_core.plugins import Plugins
from jobman_core.process import ProcessIdentity, Records
from jobman_core.testing.session_contract import ProcessSessionContract, SessionBed, eventually
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


class TestTmuxSession(ProcessSessionContract):
    session_class = TmuxSession

    def make(self, home: Path, home_id: str) -> Session:
        session = TmuxSession(Context(home, home_id, SystemClock()))
        session.grace = 0.5
        return session

    async def test_a_home_has_a_server_of_its_own_which_ends_with_its_last_session(
        self, bed: SessionBed, sockets: Path
    ) -> None:
        for name in ("a", "b"):
            await bed.session.start(bed.plan(name, self.living()))
        socket = socket_of(sockets, bed)
        assert [line.split(":")[0] for line in ask(socket, "ls").splitlines()] == ["a", "b"]
        await bed.session.end("a")
        assert [line.split(":")[0] for line in ask(socket, "ls").splitlines()] == ["b"]
        await bed.session.end("b")
        await eventually(lambda: not ask(socket, "ls"), "the server is gone")

    async def test_a_start_that_meets_the_server_as_it_leaves_tries_again(
        self, bed: SessionBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        programs = tmp_path / "bin"
        await asyncio.to_thread(write_hasty_tmux, programs)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        await bed.session.start(bed.plan("s", self.living()))
        assert (programs / "refused").exists()
        assert await bed.session.alive("s")

    async def test_attach_shows_what_the_command_says(self, bed: SessionBed) -> None:
        script = "echo it lives; while :; do sleep 0.1; done"
        await bed.session.start(bed.plan("s", Command(("sh", "-c", script))))
        shown = await Terminal.open(bed.session, "s")
        await shown.until("it lives")
        with bed.log.open("a") as log:
            log.write("and goes on\n")
        await shown.until("and goes on")
        await shown.close()
        assert await bed.session.alive("s")

    async def test_ctrl_c_in_attach_reaches_the_command(self, bed: SessionBed) -> None:
        script = "trap 'sleep 0.3; echo interrupted; exit 130' INT; while :; do sleep 0.1; done"
        await bed.session.start(bed.plan("s", Command(("sh", "-c", script))))
        shown = await Terminal.open(bed.session, "s")
        await shown.until("s")
        # Ctrl-Z comes first: nobody could wake what it would stop, so it must not.
        shown.write(b"\x1a\x03")
        await eventually(lambda: "interrupted" in bed.log.read_text(), "it was told")
        await shown.close()
        assert not await bed.session.alive("s")

    async def test_a_halted_terminal_does_not_halt_the_command(self, bed: SessionBed) -> None:
        script = "while [ ! -e go ]; do sleep 0.05; done; yes line | head -c 3000000; touch done"
        await bed.session.start(bed.plan("s", Command(("sh", "-c", f"{script}; sleep 600"))))
        shown = await Terminal.open(bed.session, "s")
        await shown.until("s")
        shown.write(b"\x13")
        await asyncio.to_thread((bed.home / "go").touch)
        await eventually((bed.home / "done").exists, "it wrote all it had")
        await shown.close()

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

    async def test_nothing_stays_of_the_file_that_carried_the_environment(
        self, bed: SessionBed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        temporary = tmp_path / "tmp"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        await bed.session.start(bed.plan("s", self.living()))
        with pytest.raises(CommandFailedError):
            await bed.session.start(bed.plan("other", self.dying()))
        assert not list(temporary.iterdir())

    async def test_a_killed_server_takes_its_sessions_along(
        self, bed: SessionBed, sockets: Path
    ) -> None:
        identity = await self._started(bed, "s")
        ask(socket_of(sockets, bed), "kill-server")
        await eventually(lambda: identity.state() == "gone", "the command was hung up")
        assert not await bed.session.alive("s")

    async def test_a_command_that_outlives_its_server_is_still_known(
        self, bed: SessionBed, sockets: Path
    ) -> None:
        identity = await self._started(bed, "s", "trap '' HUP")
        ask(socket_of(sockets, bed), "kill-server")
        assert await bed.session.alive("s")
        await bed.session.start(bed.plan("s", self.living()))
        assert identity.state() == "gone"

    async def test_a_session_without_its_record_is_found_and_ended(
        self, bed: SessionBed, sockets: Path
    ) -> None:
        identity = await self._started(bed, "s", "trap '' HUP")
        pane = ask(socket_of(sockets, bed), "list-panes", "-a", "-F", "#{pane_pid}")
        shim = ProcessIdentity.of(int(pane))
        Records.of_home(bed.home).remove("s")
        assert await bed.session.alive("s")
        await bed.session.end("s")
        assert shim.state() == "gone"
        assert not await bed.session.alive("s")
        # Without its record only a hang-up could reach the command, and this one ignores it.
        os.kill(identity.pid, 9)

    async def test_a_job_that_changes_its_kind_of_session_has_only_one(
        self, bed: SessionBed, sockets: Path
    ) -> None:
        identity = await self._started(bed, "s")
        plain = ProcessSession(bed.session.context)
        await plain.start(bed.plan("s", self.living()))
        assert identity.state() == "gone"
        assert await plain.alive("s")
        await eventually(lambda: not ask(socket_of(sockets, bed), "ls"), "the server is gone")
        await plain.end("s")

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

    async def test_a_machine_without_tmux_is_told_how_to_get_it(
        self, bed: SessionBed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert bed.session.missing() is None
        monkeypatch.setenv("PATH", "/nowhere")
        assert "apt-get install tmux" in (bed.session.missing() or "")
        with pytest.raises(CommandFailedError, match="apt-get install tmux"):
            await bed.session.start(bed.plan("s", self.living()))
        assert not await bed.session.alive("s")
        await bed.session.end("s")


class Terminal:
    """Someone who looks at a session."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self._process = process
        self._master = master
        self._seen = ""

    @classmethod
    async def open(cls, session: Session, name: str) -> "Terminal":
        command = session.attach(name)
        assert command is not None
        master, slave = pty.openpty()
        process = await asyncio.create_subprocess_exec(
            "setsid",
            "--ctty",
            *command.argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**os.environ, "TERM": "xterm", **command.env},
        )
        os.close(slave)
        os.set_blocking(master, False)
        return cls(process, master)

    def write(self, keys: bytes) -> None:
        os.write(self._master, keys)

    async def until(self, text: str) -> None:
        def seen() -> bool:
            with suppress(BlockingIOError):  # Nothing new yet.
                self._seen += os.read(self._master, 65536).decode("utf-8", "replace")
            return text in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._seen)

        await eventually(seen, f"{text!r} is seen; so far: {self._seen!r}")

    async def close(self) -> None:
        os.close(self._master)
        await self._process.wait()


def test_the_distribution_brings_it() -> None:
    rows = [row for row in Plugins().rows() if row.name == "tmux"]
    assert [(row.kind, row.distribution, row.error) for row in rows] == [
        ("session", "jobman-tmux", None)
    ]
