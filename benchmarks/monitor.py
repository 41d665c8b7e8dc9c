"""What the live view costs: a share of a core, and bytes on the line."""

import asyncio
import fcntl
import os
import pty
import struct
import sys
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.listing import FEW, running
from benchmarks.table import Row
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note

#: Seconds until it has drawn all and rests, and for which it is measured then.
_WARM_UP = 8.0
_MEASURED = 30.0
#: Changes a second, as a queue makes them whose tasks are short.
_CHANGES = 5
_SMALL, _LARGE = (80, 24), (200, 50)


def measure(folder: Path) -> Sequence[Row]:
    """Measure views of 200 running jobs: quiet ones, and ones with changes all the time."""
    running(folder, FEW)
    rows = []
    for what, size, changes in (
        ("quiet, 80 by 24", _SMALL, 0),
        (f"{_CHANGES} changes a second, 80 by 24", _SMALL, _CHANGES),
        (f"{_CHANGES} changes a second, 200 by 50", _LARGE, _CHANGES),
    ):
        share, rate = asyncio.run(_watched(folder, size, changes))
        rows += [
            Row(f"`jobman monitor` of {FEW} jobs, {what}", share, "% of a core", at_most=3.0),
            Row("the same on the line", rate, "bytes/s", at_most=8_000),
        ]
    return rows


async def _watched(home: Path, size: tuple[int, int], changes: int) -> tuple[float, float]:
    """Let somebody watch a home; gives per cent of a core, and bytes a second."""
    pid, terminal = pty.fork()
    if not pid:
        state = {"TERM": "xterm-256color", "XDG_STATE_HOME": str(home / "state")}
        argv = [sys.executable, "-m", "jobman_cli", "--home", str(home), "monitor"]
        os.execve(argv[0], argv, {**os.environ, **state})  # noqa: S606 - no shell is wanted
    columns, lines = size
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    os.set_blocking(terminal, False)
    read = 0

    def take() -> None:
        nonlocal read
        try:
            read += len(os.read(terminal, 1 << 20))
        except OSError:
            # Its other side is closed: the view has ended before it was told to.
            loop.remove_reader(terminal)
            raise

    loop = asyncio.get_running_loop()
    loop.add_reader(terminal, take)
    try:
        await _change(home, changes, _WARM_UP)
        spent, before, began = _spent(pid), read, time.monotonic()
        await _change(home, changes, _MEASURED)
        passed = time.monotonic() - began
        return 100 * (_spent(pid) - spent) / passed, (read - before) / passed
    finally:
        loop.remove_reader(terminal)
        os.close(terminal)
        await asyncio.to_thread(os.waitpid, pid, 0)


async def _change(home: Path, rate: int, seconds: float) -> None:
    """Change something so many times a second."""
    store = SqliteStore(Context(home, "", SystemClock()))
    await store.open()
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        if rate:
            number += 1
            note = Note("task.claimed", f"task {number} is claimed")
            await store.add_event(note, job=f"{number % FEW + 1:06d}")
        await asyncio.sleep(1 / (rate or 1))
    await store.aclose()


def _spent(pid: int) -> float:
    """Give the seconds of a processor that a process has taken (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
