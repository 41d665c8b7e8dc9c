"""Which processes of a demo still run: seen from the outside, with no word of jobman's taken."""

import os
from pathlib import Path


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
