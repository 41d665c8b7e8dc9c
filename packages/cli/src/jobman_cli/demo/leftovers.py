"""Which processes of a demo still run: seen from the outside, with no word of jobman's taken."""

import os
import time
from pathlib import Path
from typing import Final

#: Seconds for the last processes to be gone.
_PATIENCE: Final = 5.0


def wait_for_none(home: Path) -> list[str]:
    """Give the processes of a demo that are still there after a moment."""
    deadline = time.monotonic() + _PATIENCE
    while (found := processes_of(home)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def processes_of(home: Path) -> list[str]:
    """Give the processes that have a demo's folder in their environment or arguments."""
    mark = os.fsencode(home)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            argv = (entry / "cmdline").read_bytes()
            if mark in argv or mark in (entry / "environ").read_bytes():
                words = argv.replace(b"\0", b" ").decode("utf-8", "replace").strip()
                found.append(f"process {entry.name} ({words[:60]}) still runs")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            # It has just ended, or is another user's.
            continue
    return found
