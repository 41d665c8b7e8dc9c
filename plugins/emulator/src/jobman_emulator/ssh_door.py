"""An SSH server for one host that shares this machine: public keys, commands and shells."""

import asyncio
import contextlib
import io
import os
import signal
import termios
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path

import asyncssh
import attrs

from jobman_core.process import unhurried
from jobman_emulator.inits import Init

#: The environment variable that tells a program which host it is on.
MARK = "JOBMAN_EMULATOR_HOST"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SHELL = "/bin/bash"
_CHUNK = 65536
#: Seconds in which the last words of a terminal are taken; who keeps it open is not waited for.
_LAST_WORDS = 1.0


def environment(folder: Path, user: str, mark: str) -> dict[str, str]:
    """Give what a login finds in its environment."""
    return {
        "HOME": str(folder / "home"),
        "LOGNAME": user,
        MARK: mark,
        "PATH": _PATH,
        "SHELL": _SHELL,
        "TMPDIR": str(folder / "tmp"),
        "USER": user,
    }


@attrs.frozen(eq=False)
class Door:
    """How SSH clients come to one host."""

    #: What programs find in ``JOBMAN_EMULATOR_HOST``.
    name: str
    #: It holds ``home`` and ``tmp``.
    folder: Path
    init: Init
    #: Tells whether a user may log in with a key, ``KIND BASE64``.
    allows: Callable[[str, str], bool]
    #: Gives the seconds that a connection or command is held up for.
    latency: Callable[[], float]
    #: Those that are open now.
    connections: set[asyncssh.SSHServerConnection]

    async def listen(self, address: str, port: int, key: asyncssh.SSHKey) -> asyncssh.SSHAcceptor:
        """Open the door.

        Raises:
            OSError: the address is taken.
        """
        return await asyncssh.listen(
            address,
            port,
            server_factory=lambda: _Guest(self),
            server_host_keys=[key],
            process_factory=self._serve,
            encoding=None,
            line_editor=False,
            agent_forwarding=False,
            x11_forwarding=False,
        )

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Run one command, or a login shell, as sshd does."""
        await asyncio.sleep(self.latency())
        if process.subsystem is not None:
            process.exit(1)
            return
        work = asyncio.ensure_future(self._run(process))
        left = asyncio.ensure_future(process.channel.wait_closed())
        try:
            # A client that leaves ends nothing: only here nobody waits any more. (A drain of
            # asyncssh would, for ever.)
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                _leave(process, work.result())
        except ConnectionError:
            process.close()  # the host is gone
        except OSError as error:
            process.stderr.write(f"{error.strerror or error}\n".encode())
            process.exit(126)
        finally:
            for waiting in (work, left):
                waiting.cancel()
            await asyncio.gather(work, left, return_exceptions=True)
            # What a client that left meanwhile has left open.
            await process.redirect(stdout=asyncssh.PIPE, stderr=asyncssh.PIPE)
            await process.wait_closed()

    async def _run(self, process: asyncssh.SSHServerProcess[bytes]) -> int:
        command = process.command
        argv = (_SHELL, "-bash") if command is None else (_SHELL, "bash", "-c", command)
        if process.term_type is None:
            return await self._on_pipes(process, argv)
        return await self._on_terminal(process, argv)

    async def _on_pipes(
        self, process: asyncssh.SSHServerProcess[bytes], argv: Sequence[str]
    ) -> int:
        (stdin, write), (out, stdout), (err, stderr) = os.pipe(), os.pipe(), os.pipe()
        await _show(process, out, err, held=(stdin, write, stdout, stderr))
        async with _fed(process, write):
            env = self._environment(process)
            status = await self.init.run(argv, env, self.folder / "home", (stdin, stdout, stderr))
            # As with sshd, the session lasts as long as somebody holds its output.
            await process.stdout.drain()
            await process.stderr.drain()
        return status

    async def _on_terminal(
        self, process: asyncssh.SSHServerProcess[bytes], argv: Sequence[str]
    ) -> int:
        ours, theirs = os.openpty()
        _resize(ours, process.term_size)
        write = os.dup(ours)
        await _show(process, ours, held=(theirs, write))
        async with _fed(process, write):
            env = self._environment(process) | {"TERM": process.term_type or "dumb"}
            fds = (theirs, theirs, theirs)
            status = await self.init.run(argv, env, self.folder / "home", fds, tty=True)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.stdout.drain(), _LAST_WORDS)
        return status

    def _environment(self, process: asyncssh.SSHServerProcess[bytes]) -> dict[str, str]:
        user = process.get_extra_info("username")
        here = process.get_extra_info("sockname")[:2]
        there = process.get_extra_info("peername")[:2]
        connection = " ".join(str(part) for part in (*there, *here))
        return {
            **_language(process.env),
            **environment(self.folder, user, self.name),
            "SSH_CONNECTION": connection,
        }


class _Guest(asyncssh.SSHServer):
    """One connection: it is let in with a key that the host's node knows, and no other way."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._door.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc  # clients come and go as they like
        if self._connection is not None:
            self._door.connections.discard(self._connection)

    async def begin_auth(self, username: str) -> bool:
        del username
        await asyncio.sleep(self._door.latency())
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        offered = key.export_public_key().decode().split()
        return self._door.allows(username, " ".join(offered[:2]))


async def _show(
    process: asyncssh.SSHServerProcess[bytes],
    out: int,
    err: int | None = None,
    *,
    held: Sequence[int],
) -> None:
    """Let a client see what comes out of descriptors.

    Args:
        process: the client's session.
        out: shown as standard output.
        err: shown as standard error.
        held: what is closed if that fails.

    Raises:
        ConnectionResetError: the client has left.
    """
    try:
        await unhurried(process.redirect(stdout=out, stderr=err, send_eof=False))
        _check(process)
    except BaseException:
        for fd in held:
            os.close(fd)
        raise


def _check(process: asyncssh.SSHServerProcess[bytes]) -> None:
    if process.is_closing():
        raise ConnectionResetError("the client has left")


@contextlib.asynccontextmanager
async def _fed(process: asyncssh.SSHServerProcess[bytes], fd: int) -> AsyncGenerator[None]:
    """Pass on what the client sends, as long as this lasts; the descriptor is closed in the end."""
    with os.fdopen(fd, "wb", buffering=0) as pipe:
        feeding = asyncio.create_task(_feed(process, pipe))
        try:
            yield
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)


async def _feed(process: asyncssh.SSHServerProcess[bytes], pipe: io.FileIO) -> None:
    # Not asyncssh's own way for standard input: asyncio's transport for pipes loses the end of
    # what it holds when its protocol writes the rest and closes it from within resume_writing.
    fd = pipe.fileno()
    os.set_blocking(fd, False)
    with pipe, contextlib.suppress(BrokenPipeError):  # the program may want no more
        while True:
            try:
                data = memoryview(await process.stdin.read(_CHUNK))
            except asyncssh.TerminalSizeChanged as change:
                _resize(fd, change.term_size)
                continue
            except (asyncssh.BreakReceived, asyncssh.SignalReceived):
                continue  # sshd takes none without a terminal, and OpenSSH sends none with one
            if not data:
                return
            while data:
                try:
                    data = data[os.write(fd, data) :]
                except BlockingIOError:
                    await _writable(fd)


async def _writable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(fd)


def _resize(fd: int, size: tuple[int, int, int, int]) -> None:
    """Give a terminal its size; OpenSSH counts in columns first, the kernel in rows."""
    columns, rows = size[:2]
    with contextlib.suppress(termios.error):  # a pipe has none
        termios.tcsetwinsize(fd, (rows, columns))


def _language(env: Mapping[str, str]) -> dict[str, str]:
    """Take over what sshd accepts of a client's environment."""
    return {name: value for name, value in env.items() if name == "LANG" or name[:3] == "LC_"}


def _leave(process: asyncssh.SSHServerProcess[bytes], status: int) -> None:
    if status >= 0:
        process.exit(status)
    else:
        process.exit_with_signal(signal.Signals(-status).name.removeprefix("SIG"))
