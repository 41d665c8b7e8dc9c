"""Connections that many calls share, and calls over them: one short ``ssh`` process each."""

import asyncio
import contextlib
import hashlib
import os
import pwd
import stat
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.ssh.wire import Heard, Wired

#: How many new connections one process makes at a time; each costs both sides some cryptography.
_AT_ONCE: Final = 64
#: Most bytes that a command may say on one of its streams.
MOST: Final = 64 * 2**20
#: Seconds that a call's process gets to leave by itself once all was said: what the command left
#: behind may hold its output open.
_LEAVE: Final = 0.2
#: Most bytes of a socket's name (sun_path), less what OpenSSH adds while it makes one.
_LONGEST: Final = 107 - 17


class Links:
    """The shared connections of one process, which are those of its user's others, too."""

    def __init__(
        self, environ: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> None:
        """Name what is the user's own; nothing is touched yet.

        Args:
            environ: what OpenSSH gets, with the agent's socket; None: this process's.
            folder: the user's ``~/.ssh``, as OpenSSH finds it.
        """
        self.environ = os.environ if environ is None else environ
        self.folder = _own_folder() if folder is None else folder
        #: Held while a new connection is made.
        self.turns = asyncio.Semaphore(_AT_ONCE)

    def control(self, *what: str) -> Path:
        """Give the socket of the connection that is told by these words; its folder is there.

        Raises:
            CommandFailedError: nobody but the user may have that folder.
        """
        name = hashlib.sha256("\0".join(what).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        runtime = self.environ.get("XDG_RUNTIME_DIR", "")
        # It goes when its user logs out, while controllers stay.
        if runtime and Path(runtime).is_dir():
            path = Path(runtime) / "jobman" / name
            if len(os.fsencode(path)) <= _LONGEST:
                return _private(path.parent) / name
        return _private(Path(f"/tmp/jobman-{os.getuid()}")) / name  # noqa: S108 - sockets: short

    async def call(self, argv: Sequence[str], wired: Wired) -> tuple[Heard, Heard, int | None]:
        """Run a call's process until the command is over, and give what came of it.

        It never outlives this. The number is what the process ended with, if it did by itself: that
        of OpenSSH where there was no command.

        Raises:
            HostUnreachableError: the process cannot be started.
            CommandFailedError: there is no OpenSSH, or the command said too much.
        """
        loop = asyncio.get_running_loop()
        try:
            transport, talk = await loop.subprocess_exec(
                partial(_Talk, wired.word),
                *argv,
                stdin=PIPE if wired.stdin else DEVNULL,
                env=self.environ,
                # Ctrl-C is the controller's to hear; and there is no terminal to ask on.
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise CommandFailedError("this machine has no `ssh`: install openssh-client") from error
        except OSError as error:
            raise HostUnreachableError(f"ssh cannot be started: {error.strerror}") from error
        try:
            if isinstance(stdin := transport.get_pipe_transport(0), asyncio.WriteTransport):
                # Not before: login files that read something would take it from the command.
                await asyncio.wait((talk.begun, talk.over), return_when=asyncio.FIRST_COMPLETED)
                stdin.write(wired.stdin)
                stdin.close()
            await talk.over
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LEAVE):
                    await asyncio.shield(talk.exited)
        finally:
            if not talk.exited.done():
                transport.kill()
                await talk.exited
            # What is left in a pipe that nobody reads would keep it open.
            transport.close()
        return talk.heard[1], talk.heard[2], transport.get_returncode()


class _Talk(asyncio.SubprocessProtocol):
    """What a call's process says; a stream and a task for each of its pipes would cost as much."""

    def __init__(self, word: bytes) -> None:
        loop = asyncio.get_running_loop()
        #: By descriptor.
        self.heard = {1: Heard(word), 2: Heard(word)}
        #: The command reads what it is given.
        self.begun: asyncio.Future[None] = loop.create_future()
        #: All was said that will be.
        self.over: asyncio.Future[None] = loop.create_future()
        self.exited: asyncio.Future[None] = loop.create_future()
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        heard = self.heard[fd]
        over = heard.add(data)
        if heard.began and not self.begun.done():
            self.begun.set_result(None)
        if over:
            self._end(fd)
        elif len(heard) > MOST and not self.over.done():
            too_much = f"said more than {MOST >> 20} MiB"
            who = "a command" if heard.began else "login files of its user, which you can mend,"
            self.over.set_exception(CommandFailedError(f"{who} {too_much}"))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        del exc
        self._end(fd)

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def _end(self, fd: int) -> None:
        self._open.discard(fd)
        if not self._open and not self.over.done():
            self.over.set_result(None)


def _own_folder() -> Path:
    """Give the folder with the user's keys and configuration: OpenSSH does not go by HOME."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir) / ".ssh"
    except KeyError:
        # OpenSSH, too, will say that it knows no such user.
        return Path.home() / ".ssh"


def _private(folder: Path) -> Path:
    """Make a folder that nobody else can enter, or see that it is one.

    Raises:
        CommandFailedError: it is not.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise CommandFailedError(
            f"{folder} is not a folder of yours alone, so no connections are kept there: remove it"
        )
    return folder
