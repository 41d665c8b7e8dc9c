"""Start a command that outlives its starter, through the shim."""

import asyncio
import json
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs

from jobman_core.errors import CommandFailedError
from jobman_core.process import shim

#: How much of a log's end is looked at for the last lines.
_TAIL_BYTES = 4096
_TAIL_LINES = 5

_T = TypeVar("_T")


def shim_argv(*arguments: str) -> tuple[str, ...]:
    """Give the command that runs the shim: no site packages, no settings of the user's Python."""
    return (sys.executable, "-I", "-S", "-X", "utf8", shim.__file__, *arguments)


@attrs.frozen
class Launch:
    """What the shim is told to start."""

    #: The session's.
    name: str
    argv: tuple[str, ...]
    #: The command's whole environment.
    env: Mapping[str, str] = attrs.field(repr=False)
    cwd: Path
    #: Standard output and error are appended to it.
    log: Path
    #: Where the process's identity is written before it is exec'ed.
    record: Path
    #: Seconds during which an end of the command is still the starter's to report.
    settle: float

    def encode(self) -> bytes:
        """Write it as the shim reads it; it holds secrets."""
        spec = {
            "name": self.name,
            "argv": self.argv,
            "env": dict(self.env),
            "cwd": str(self.cwd),
            "log": str(self.log),
            "record": str(self.record),
            "settle": self.settle,
        }
        return json.dumps(spec).encode()

    def failed(self, reason: str, offset: int = 0) -> CommandFailedError:
        """Make the error for a session that is not there, with what it said last."""
        lines = self._tail(offset)
        said = f"; it said: {lines}" if lines else ""
        return CommandFailedError(
            f"session {self.name!r} did not start: {reason}{said}: see {self.log}"
        )

    def _tail(self, offset: int) -> str:
        """Give the last lines that came into the log from an offset on."""
        try:
            with self.log.open("rb") as log:
                size = log.seek(0, 2)
                log.seek(max(offset, size - _TAIL_BYTES))
                text = log.read().decode("utf-8", "replace")
        except OSError as error:
            return f"(the log cannot be read: {error.strerror})"
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " | ".join(lines[-_TAIL_LINES:])


@attrs.frozen
class Report:
    """How a start went."""

    #: Where the output of this start begins in the log.
    offset: int
    #: Why the command could not be exec'ed.
    error: str | None
    #: The exit code, as a shell gives it, of a command that ended within its first moments.
    code: int | None

    @classmethod
    def decode(cls, raw: bytes) -> "Report | None":
        """Read what the shim reported; None: it died before it could."""
        if not raw.strip():
            return None
        fields = json.loads(raw)
        return cls(fields["offset"], fields["error"], fields["code"])

    def check(self, launch: Launch) -> None:
        """Accept a command that lives, or that had nothing more to do (exit code 0).

        Raises:
            CommandFailedError: it could not be started, or failed at once.
        """
        if self.error is not None:
            # Its words stand in the log already.
            raise CommandFailedError(
                f"session {launch.name!r} did not start: {self.error}: check the command, then "
                f"see {launch.log}"
            )
        if self.code:
            raise launch.failed(
                f"its command ended at once with exit code {self.code}", self.offset
            )


async def start_detached(launch: Launch) -> None:
    """Start a command that belongs to nobody here: no terminal, no parent that waits for it.

    Returns when it has been exec'ed and has lived through its first moments. A caller that is
    cancelled waits for that as well, since only then its record is sure to be there.

    Raises:
        CommandFailedError: it could not be started, or failed at once.
    """
    report = await unhurried(_run_shim(launch))
    report.check(launch)


async def unhurried(work: Coroutine[Any, Any, _T]) -> _T:
    """Do something short to its end, even if the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            # Looked at, so that asyncio does not report it: the caller wants no answer any more.
            task.exception()
        raise


async def _run_shim(launch: Launch) -> Report:
    process = await asyncio.create_subprocess_exec(
        *shim_argv("detached"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out, err = await process.communicate(launch.encode())
    report = Report.decode(out)
    if report is None:
        said = err.decode("utf-8", "replace").strip().splitlines()
        raise CommandFailedError(
            f"session {launch.name!r} did not start: the starter itself failed "
            f"({said[-1] if said else f'exit code {process.returncode}'}): try again"
        )
    return report
