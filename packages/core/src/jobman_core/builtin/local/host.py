"""One host of a local slice: a folder with a HOME of its own, and processes that can be found."""

import asyncio
import os
import secrets
import sys
import tempfile
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from jobman_core.builtin.local import keeper
from jobman_core.command import Command, Exit
from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.interfaces.host import Entry, Host, HostFacts

#: The environment variable that holds the slice's boot id; nothing else has that value.
SLICE: Final = "JOBMAN_LOCAL_SLICE"
#: In a slice's folder: new with each creation, as a machine's boot id is with each start.
BOOT_ID: Final = "boot_id"

_KEEPER: Final = (sys.executable, "-I", "-S", keeper.__file__)
#: What a command gets of the controller's environment; the rest may hold secrets.
_PASSED: Final = frozenset({"USER", "LOGNAME", "SHELL", "PATH", "LANG", "TZ"})
_SHELL: Final = "/bin/bash"
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Leaves its identity where whoever ends the slice looks, then becomes the command. A slice that is
# down kills it: it either sees that, or its identity is found.
_TRANSIENT: Final = """
read -r stat < /proc/$$/stat; stat=${stat##*) }; n=0
while [ $n -lt 19 ]; do stat=${stat#* }; n=$((n+1)); done
: > "$1/$$.${stat%% *}.$3" && [ -e "$2" ] || kill -KILL $$
cd "$4" || exit 127
shift 4
exec "$@"
"""


class LocalHost(Host):
    """A folder below a slice's, on this machine."""

    def __init__(self, index: int, slice_folder: Path, environ: Mapping[str, str]) -> None:
        """Name a host; nothing is touched yet.

        Args:
            index: its index in the slice.
            slice_folder: the slice's.
            environ: the controller's environment, of which little is passed on.
        """
        self.index = index
        self.home = slice_folder / "hosts" / str(index)
        self._slice = slice_folder
        self._passed = {
            name: value
            for name, value in environ.items()
            if name in _PASSED or name.startswith("LC_")
        }
        self._terminal = {"TERM": environ["TERM"]} if "TERM" in environ else {}
        self.facts = HostFacts(
            boot_id_file=str(slice_folder / BOOT_ID), own_machine=False, ender=(*_KEEPER, "end")
        )

    async def run(self, command: Command, *, limit: float) -> Exit:
        """Run a command below a keeper of its own; a transient one without.

        A transient command that is given up on is ended: nobody would ever look at it again.

        Raises:
            HostUnreachableError: the slice is gone, or there was no answer in time.
        """
        try:
            env = self._environment(command.env)
            if command.transient:
                return await self._run_transient(command, env, limit)
            return await self._run_kept(command, env, limit)
        except FileNotFoundError as error:
            raise self._unreachable("its slice is gone") from error
        except PermissionError as error:
            raise self._unreachable("it is another account's") from error
        except TimeoutError as error:
            raise self._unreachable(f"no answer within {limit:g} s") from error

    async def put(self, content: bytes, path: str, *, mode: int = 0o600) -> None:
        """Write a file, whole or not at all.

        Raises:
            HostUnreachableError: the slice is gone.
            CommandFailedError: the file system refused.
        """
        if not self._up():
            raise self._unreachable("its slice is gone")
        try:
            await asyncio.to_thread(_write, self.home, path, content, mode)
        except FileNotFoundError as error:
            raise self._unreachable("its folder is gone") from error
        except OSError as error:
            if not self._up():
                raise self._unreachable("its slice is gone") from error
            raise CommandFailedError(
                f"host {self.index} cannot write {path}: {error.strerror}"
            ) from error

    async def enter(self, argv: Sequence[str] = ()) -> Entry:
        """Give what becomes a shell, or a command, in the host's folder; the slice's end ends it.

        Raises:
            HostUnreachableError: the slice is gone.
        """
        if not self._up():
            raise self._unreachable("its slice is gone")
        inside = self._transient(".", argv or (_SHELL, "--login"))
        return Entry(inside, self._environment(self._terminal))

    def _up(self) -> bool:
        return (self._slice / keeper.UP).exists()

    def _unreachable(self, why: str) -> HostUnreachableError:
        return HostUnreachableError(
            f"host {self.index} of slice {self._slice.name} cannot be reached: {why}"
        )

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        return {
            "PATH": _PATH,
            "SHELL": _SHELL,
            **self._passed,
            "HOME": str(self.home),
            "TMPDIR": str(self.home / "tmp"),
            SLICE: (self._slice / BOOT_ID).read_text(encoding="ascii").strip(),
            **extra,
        }

    async def _run_transient(self, command: Command, env: dict[str, str], limit: float) -> Exit:
        process = await asyncio.create_subprocess_exec(
            *self._transient(command.cwd or ".", command.argv),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            cwd=self.home,
            env=env,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(limit):
                out, err = await process.communicate(command.stdin)
        finally:
            if process.returncode is None:
                _kill_group(process.pid)
                await process.wait()
            for path in (self._slice / keeper.ROOTS).glob(f"{process.pid}.*"):
                path.unlink(missing_ok=True)
        return Exit(self._code(process.returncode or 0), out, err)

    def _transient(self, cwd: str, argv: Sequence[str]) -> tuple[str, ...]:
        """Give what becomes a command without a keeper."""
        roots, up = self._slice / keeper.ROOTS, self._slice / keeper.UP
        around = ("/bin/sh", "-c", _TRANSIENT, "sh", str(roots), str(up), keeper.boot())
        return (*around, str(self.home / cwd), *argv)

    async def _run_kept(self, command: Command, env: dict[str, str], limit: float) -> Exit:
        # Files, not pipes: what the command leaves behind may hold them open for ever.
        with (
            tempfile.TemporaryFile() as stdin,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            stdin.write(command.stdin)
            stdin.seek(0)
            folder = str(self.home / (command.cwd or "."))
            caller = await asyncio.create_subprocess_exec(
                *(*_KEEPER, "run", str(self._slice), folder, *command.argv),
                stdin=stdin,
                stdout=out,
                stderr=err,
                cwd=self.home,
                env=env,
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(limit):
                    code = await caller.wait()
            finally:
                if caller.returncode is None:
                    # Only the process that waits; the command and its keeper stay.
                    caller.kill()
                    await caller.wait()
            if code < 0:
                said = _content(err).decode("utf-8", "replace").strip().rpartition("\n")[2]
                why = "its slice or the command's keeper was killed"
                raise self._unreachable(f"{why} ({said})" if said else why)
            return Exit(code, _content(out), _content(err))

    def _code(self, code: int) -> int:
        """Tell a command that a signal ended from a slice that was taken away."""
        if code >= 0:
            return code
        if not self._up():
            raise self._unreachable("its slice was taken away")
        return 128 - code


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, 9)
    except ProcessLookupError:
        return


def _write(home: Path, path: str, content: bytes, mode: int) -> None:
    target = home / path
    # Not the home itself: a folder that was deleted must not come back.
    for folder in reversed(target.relative_to(home).parents[:-1]):
        (home / folder).mkdir(mode=0o700, exist_ok=True)
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        fd = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            os.fchmod(fd, mode)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
