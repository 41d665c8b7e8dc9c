"""Start a command in a terminal that some program keeps, through the shim."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from jobman_core.process.launch import Launch, Report, shim_argv, unhurried

#: Seconds that the shim may take to say that the command was started.
_REPORT_LIMIT = 20.0


async def start_in_pane(
    launch: Launch, open_pane: Callable[[tuple[str, ...]], Awaitable[None]]
) -> None:
    """Start a command below the shim, which shows in its terminal what goes into the log.

    The shim takes what to start, environment and all, from a 0600 file that it deletes. A caller
    that is cancelled waits for the start, since only then its record is sure to be there.

    Args:
        launch: what to start.
        open_pane: opens a terminal with this argv as its program; what it raises is raised here.

    Raises:
        CommandFailedError: it could not be started, or failed at once.
    """
    import tempfile

    with tempfile.TemporaryDirectory(prefix="jobman-") as folder:
        file, fifo = _leave(folder, launch)
        argv = shim_argv("pane", str(file), str(fifo))
        report = await unhurried(_report(fifo, partial(open_pane, argv)))
    if report is None:
        raise launch.failed("it was given a terminal, but nothing was heard of it")
    report.check(launch)


async def _report(fifo: Path, open_pane: Callable[[], Awaitable[None]]) -> Report | None:
    """Open the terminal and hear from the shim in it how the command fares."""
    # Opened first, so that the shim finds someone to tell; it does not wait for a writer.
    pipe = os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        await open_pane()
        async with asyncio.timeout(_REPORT_LIMIT):
            # Until the shim closes its end, also by dying.
            return Report.decode(await reader.read())
    except TimeoutError:
        return None
    finally:
        transport.close()


def _leave(folder: str, launch: Launch) -> tuple[Path, Path]:
    """Leave what to start, and a way to report, in a folder that nobody else may enter."""
    file, fifo = Path(folder, "launch"), Path(folder, "report")
    file.touch(mode=0o600)
    file.write_bytes(launch.encode())
    os.mkfifo(fifo, 0o600)
    return file, fifo
