"""The screens of one home, driven through the program ``screen`` and known by their sockets."""

import asyncio
import os
import re
import socket
import stat
import struct
import tempfile
from pathlib import Path
from typing import Final, Self

import attrs

from jobman_core.errors import CommandFailedError
from jobman_core.process import unhurried

#: What a screen needs of our environment, and its windows would have for ever: no more.
_KEEP: Final = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "USER"})
#: Nobody's settings are read, utmp is left alone, and what is shown is UTF-8.
_OPTIONS: Final = ("-U", "-c", os.devnull, "-ln")
#: Of a socket: the process that listens to it, and its session.
_SOCKET: Final = re.compile(r"(?P<pid>\d+)\.(?P<name>.+)")
_VERSION: Final = re.compile(r"\d+\.\d+\S*")
#: pid, uid and gid of whoever listens (SO_PEERCRED, unix(7)).
_CREDENTIALS: Final = struct.Struct("3i")


@attrs.frozen
class Screens:
    """A folder of sockets: screen finds a session by the beginning of its name, this exactly."""

    #: ``SCREENDIR``; only its owner may enter it.
    folder: Path

    @classmethod
    def of_home(cls, home_id: str) -> Self:
        """Give the screens of a home, wherever and whenever it is asked for them."""
        # Not the runtime directory: it goes when its user logs out, while screens stay.
        return cls(Path(f"/tmp/jobman-screen-{os.getuid()}-{home_id[:8]}"))  # noqa: S108 - short

    def installed(self) -> bool:
        """Tell whether screen is on PATH."""
        import shutil

        return shutil.which("screen") is not None

    async def open(self, name: str, argv: tuple[str, ...]) -> None:
        """Start a screen that nobody looks at yet; it says nothing about what becomes of it.

        Raises:
            CommandFailedError: screen refused, or the folder is not the user's alone.
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self._is_safe()
        # What screen was asked to do it does: whoever is cancelled has to know that it is done.
        said = await unhurried(
            asyncio.to_thread(_run, self.folder, (*_OPTIONS, "-dmS", name, *argv))
        )
        if said is not None:
            raise CommandFailedError(
                f"screen could not start session {name!r}: {said}: check that {self.folder} is a "
                "folder that you can write to"
            )

    async def has(self, name: str) -> bool:
        """Tell whether there is a session of exactly this name.

        Raises:
            CommandFailedError: the folder is not the user's alone.
        """
        return bool(self._listening(name))

    async def pids(self, name: str) -> list[int]:
        """Give the processes of a session's windows, and that which keeps them.

        Raises:
            CommandFailedError: the folder is not the user's alone.
        """
        keepers = self._listening(name)
        return [pid for keeper in keepers for pid in (*_children(keeper), keeper)]

    async def close(self, name: str) -> None:
        """Remove the sockets that a killed screen left behind.

        Raises:
            CommandFailedError: the folder is not the user's alone.
        """
        for path in self._sockets(name):
            if _listener(path) is None:
                path.unlink(missing_ok=True)

    async def trial(self) -> str:
        """Keep a screen for a moment in a folder of its own; give the version of screen.

        Raises:
            CommandFailedError: screen refused, or this one's folder is not the user's alone.
        """
        self._is_safe()
        # It ends with its program, at once.
        with tempfile.TemporaryDirectory(prefix="jobman-screen-", dir="/tmp") as folder:
            await Screens(Path(folder)).open("trial", ("true",))
        said = await asyncio.to_thread(_said, ("--version",))
        found = _VERSION.search(said)
        return found[0] if found else said

    def attach_argv(self, name: str) -> tuple[str, ...]:
        """Give the arguments that show a session, beside whoever else looks at it.

        Raises:
            CommandFailedError: the folder is not the user's alone.
        """
        # With its process the name is whole: another one that begins with it is not meant.
        pid = next(iter(self._listening(name)), 0)
        return ("screen", *_OPTIONS, "-x", f"{pid}.{name}")

    def _listening(self, name: str) -> list[int]:
        return [pid for path in self._sockets(name) if (pid := _listener(path)) is not None]

    def _sockets(self, name: str) -> list[Path]:
        if not self._is_safe():
            return []
        matches = ((path, _SOCKET.fullmatch(path.name)) for path in self.folder.iterdir())
        return [path for path, match in matches if match and match["name"] == name]

    def _is_safe(self) -> bool:
        """Tell whether the folder is there; it must be the user's alone, as screen demands."""
        try:
            found = self.folder.lstat()
        except FileNotFoundError:
            return False
        private = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
        if not private or found.st_uid != os.getuid():
            raise CommandFailedError(
                f"{self.folder} is not a folder that is yours alone (0700), so no screen can be "
                "kept in it: look at what made it, then remove it"
            )
        return True


def _listener(path: Path) -> int | None:
    """Give the process that listens to a socket; None: nobody does any more."""
    with socket.socket(socket.AF_UNIX) as asking:
        # One that is halted lets others in only as long as there is room.
        asking.setblocking(False)
        try:
            asking.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        except BlockingIOError:
            return int(path.name.partition(".")[0])
        raw = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(raw)[0])


def _children(pid: int) -> list[int]:
    """Give the children of a process; none where it has ended."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _said(arguments: tuple[str, ...]) -> str:
    """Give what screen says that only has to speak."""
    import sh

    found = sh.Command("screen")(*arguments, _ok_code=list(range(256)), _tty_out=False)
    return str(found).strip()


def _run(folder: Path, arguments: tuple[str, ...]) -> str | None:
    """Call screen, as if from outside of any screen that the user may be in; give its complaint."""
    import sh

    env = {key: value for key, value in os.environ.items() if key in _KEEP or key.startswith("LC_")}
    result = sh.Command("screen")(
        *arguments,
        _env={**env, "SCREENDIR": str(folder), "SYSSCREENRC": os.devnull},
        # It stays where it was started: that must not be a folder that someone removes.
        _cwd="/",
        _in=None,
        _tty_out=False,
        _ok_code=list(range(256)),
        _return_cmd=True,
    )
    if result.exit_code == 0:
        return None
    said = (result.stderr or result.stdout).decode().strip().splitlines()
    return said[-1] if said else f"exit code {result.exit_code}"
