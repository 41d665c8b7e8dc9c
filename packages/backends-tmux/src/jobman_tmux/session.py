"""Sessions in tmux: what the controller says can be looked at with ``attach``."""

import asyncio
import os
from pathlib import Path

from jobman_core import process
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError, NotFoundError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session, SessionStart
from jobman_tmux.server import Server

#: Seconds that the shim may take to say that the command was started.
_REPORT_LIMIT = 20.0


class TmuxSession(Session):
    """A tmux session on a server of the home's own, which ends with its last session.

    The pane runs the core's shim: it takes what to start, environment and all, from a file that it
    deletes, starts the command with its output in the log, and shows the log. Ctrl-C in the pane
    reaches the command.
    """

    name = "tmux"

    #: Seconds in which a command that fails is still a failed start.
    settle: float = 0.5
    #: Seconds between TERM and KILL.
    grace: float = 5.0

    def __init__(self, context: Context) -> None:
        """Keep the home's server and where its sessions are written down."""
        super().__init__(context)
        self._server = Server(f"jobman-{context.home_id[:8]}")
        self._records = process.Records.of_home(context.home)

    def missing(self) -> str | None:
        """Say how to install tmux, where it is not on PATH."""
        if self._server.installed():
            return None
        return (
            "tmux is not installed: install it (on Debian or Ubuntu: apt-get install tmux), or "
            "set job.session to process"
        )

    async def start(self, start: SessionStart) -> None:
        """Start a command in a session; one of that name that lives is replaced.

        Raises:
            CommandFailedError: it could not be started, or died at once; the message says why.
            HeldError: another command is starting or ending this session.
        """
        if missing := self.missing():
            raise CommandFailedError(missing)
        async with self._records.locked(start.name):
            await self._end(start.name)
            start.log.parent.mkdir(parents=True, exist_ok=True)
            launch = process.Launch(
                name=start.name,
                argv=start.command.argv,
                env={**start.env, **start.command.env},
                cwd=start.cwd,
                log=start.log,
                record=self._records.path(start.name),
                settle=self.settle,
            )
            try:
                await self._launch(launch)
            except BaseException:
                # Half a session would only be in the way of the next start.
                await self._end(start.name)
                raise

    async def alive(self, name: str) -> bool:
        """Tell whether the session's command lives (a stopped one does).

        Raises:
            CommandFailedError: nothing is written down of it, and tmux could not tell.
        """
        identity = self._records.read(name)
        if identity is not None:
            return identity.state() != "gone"
        return self._server.installed() and await self._server.has_session(_target(name))

    async def end(self, name: str) -> None:
        """End the command (TERM, a few seconds, KILL, confirmed) and its session.

        What it started in sessions of their own lives on, as attempts must.

        Raises:
            NotYoursError: it is another user's.
            HeldError: another command is starting or ending this session.
        """
        async with self._records.locked(name):
            await self._end(name)

    def attach(self, name: str) -> Command:
        """Give the command that shows the session here, also from within the user's own tmux."""
        argv = self._server.argv("attach-session", "-t", f"={_target(name)}")
        return Command(("env", "-u", "TMUX", "-u", "TMUX_PANE", "tmux", *argv))

    async def _launch(self, launch: process.Launch) -> None:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="jobman-") as folder:
            file, fifo = _leave(folder, launch)
            argv = process.shim_argv("pane", str(file), str(fifo))
            report = await self._report(launch, fifo, argv)
        report.check(launch)

    async def _report(
        self, launch: process.Launch, fifo: Path, argv: tuple[str, ...]
    ) -> process.Report:
        """Start the shim in a session and hear from it how the command fares."""
        # Opened first, so that the shim finds someone to tell; it does not wait for a writer.
        pipe = os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            await self._server.new_session(_target(launch.name), argv)
            async with asyncio.timeout(_REPORT_LIMIT):
                # Until the shim closes its end, also by dying.
                report = process.Report.decode(await reader.read())
        except TimeoutError:
            report = None
        finally:
            transport.close()
        if report is None:
            raise launch.failed("tmux started it, but nothing was heard of it")
        return report

    async def _end(self, name: str) -> None:
        identity = self._records.read(name)
        if identity is not None:
            await process.end(identity, self.grace)
        if self._server.installed():
            # The shim leaves by itself, but what is called ended must be gone.
            for pid in await self._server.pane_pids(_target(name)):
                await self._end_pane(pid)
            await self._server.kill_session(_target(name))
        self._records.remove(name)

    async def _end_pane(self, pid: int) -> None:
        try:
            shim = process.ProcessIdentity.of(pid)
        except NotFoundError:
            return  # It left meanwhile.
        await process.end(shim, self.grace)


def _target(name: str) -> str:
    """Give the name in tmux, where dots and colons mean something."""
    return process.plain_name(name)


def _leave(folder: str, launch: process.Launch) -> tuple[Path, Path]:
    """Leave what to start, and a way to report, in a folder that nobody else may enter."""
    file, fifo = Path(folder, "launch"), Path(folder, "report")
    file.touch(mode=0o600)
    file.write_bytes(launch.encode())
    os.mkfifo(fifo, 0o600)
    return file, fifo
