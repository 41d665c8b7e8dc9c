"""What holds for every session that can be looked at in a terminal."""

import asyncio
import os
import pty
import re
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from jobman_core.builtin.process_session import ProcessSession
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.backend import Scope
from jobman_core.interfaces.session import Session
from jobman_core.models.checkup import Health
from jobman_core.process import ProcessIdentity, Records
from jobman_core.testing.session_contract import ProcessSessionContract, SessionBed, eventually


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


class PaneSessionContract(ProcessSessionContract):
    #: The program that keeps the terminals, as Debian calls its package too.
    program: str

    def listed(self, bed: SessionBed) -> list[str]:
        """Give the terminals of a home, as the program lists them."""
        raise NotImplementedError

    def shim(self, bed: SessionBed) -> int:
        """Give the process in the only terminal of a home."""
        raise NotImplementedError

    def kill_server(self, bed: SessionBed) -> None:
        """End what keeps the terminals of a home."""
        raise NotImplementedError

    async def test_a_check_up_keeps_a_terminal_for_a_moment_and_leaves_none(
        self, bed: SessionBed
    ) -> None:
        (found,) = await bed.session.checkups(Scope())
        assert (found.name, found.health) == (bed.session.name, Health.WELL)
        assert self.listed(bed) == []

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
        trap = "trap 'sleep 0.3; echo interrupted; exit 130' INT"
        script = f"{trap}; echo here; while :; do sleep 0.1; done"
        await bed.session.start(bed.plan("s", Command(("sh", "-c", script))))
        shown = await Terminal.open(bed.session, "s")
        await shown.until("here")
        # Ctrl-Z comes first: nobody could wake what it would stop, so it must not.
        shown.write(b"\x1a\x03")
        await eventually(lambda: "interrupted" in bed.log.read_text(), "it was told")
        await shown.close()
        assert not await bed.session.alive("s")

    async def test_a_halted_terminal_does_not_halt_the_command(self, bed: SessionBed) -> None:
        script = (
            "echo here; while [ ! -e go ]; do sleep 0.05; done;"
            "yes line | head -c 3000000; touch done; sleep 600"
        )
        await bed.session.start(bed.plan("s", Command(("sh", "-c", script))))
        shown = await Terminal.open(bed.session, "s")
        await shown.until("here")
        shown.write(b"\x13")
        await asyncio.to_thread((bed.home / "go").touch)
        await eventually((bed.home / "done").exists, "it wrote all it had")
        await shown.close()

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

    async def test_a_killed_server_takes_its_sessions_along(self, bed: SessionBed) -> None:
        identity = await self._started(bed, "s")
        self.kill_server(bed)
        await eventually(lambda: identity.state() == "gone", "the command was hung up")
        assert not await bed.session.alive("s")

    async def test_a_command_that_outlives_its_server_is_still_known(self, bed: SessionBed) -> None:
        identity = await self._started(bed, "s", "trap '' HUP")
        self.kill_server(bed)
        assert await bed.session.alive("s")
        await bed.session.start(bed.plan("s", self.living()))
        assert identity.state() == "gone"

    async def test_a_session_without_its_record_is_found_and_ended(self, bed: SessionBed) -> None:
        identity = await self._started(bed, "s", "trap '' HUP")
        shim = ProcessIdentity.of(self.shim(bed))
        Records.of_home(bed.home).remove("s")
        assert await bed.session.alive("s")
        await bed.session.end("s")
        assert shim.state() == "gone"
        assert not await bed.session.alive("s")
        # Without its record only a hang-up could reach the command, and this one ignores it.
        os.kill(identity.pid, 9)

    async def test_a_job_that_changes_its_kind_of_session_has_only_one(
        self, bed: SessionBed
    ) -> None:
        identity = await self._started(bed, "s")
        plain = ProcessSession(bed.session.context)
        await plain.start(bed.plan("s", self.living()))
        assert identity.state() == "gone"
        assert await plain.alive("s")
        await eventually(lambda: not self.listed(bed), "its terminal is gone")
        await plain.end("s")

    async def test_a_machine_without_the_program_is_told_how_to_get_it(
        self, bed: SessionBed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert bed.session.missing() is None
        monkeypatch.setenv("PATH", "/nowhere")
        assert f"apt-get install {self.program}" in (bed.session.missing() or "")
        with pytest.raises(CommandFailedError, match=f"apt-get install {self.program}"):
            await bed.session.start(bed.plan("s", self.living()))
        for wanted, health in ((False, Health.DOUBT), (True, Health.BROKEN)):
            (found,) = await bed.session.checkups(Scope(wanted=wanted))
            assert (found.health, self.program in found.remedy) == (health, True)
        assert not await bed.session.alive("s")
        await bed.session.end("s")
