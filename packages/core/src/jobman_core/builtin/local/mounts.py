"""What is mounted in the folder of a slice: let go of before the folder is removed.

What is in it is somebody's bucket or disk, and of a mount whose server has ended with the slice
nothing can be removed.
"""

import contextlib
import os
import re
import subprocess
from pathlib import Path
from typing import Final

#: Mounts of FUSE are their user's to undo, all others root's. What is in use goes once it is not.
_WAYS: Final = (("fusermount3", "-u", "-z"), ("fusermount", "-u", "-z"), ("umount", "-c", "-l"))
#: Seconds for one of these.
_LIMIT: Final = 20.0
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def let_go(folder: Path) -> list[Path]:
    """Unmount what is mounted below a folder; give what stays."""
    # What was mounted last may be inside of the others.
    for place in reversed(_mounted(folder)):
        for way in _WAYS:
            if place not in _mounted(folder):
                break
            with contextlib.suppress(FileNotFoundError, subprocess.TimeoutExpired):
                subprocess.run(
                    (*way, "--", str(place)),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=_LIMIT,
                    check=False,
                )
    return _mounted(folder)


def _mounted(folder: Path) -> list[Path]:
    """List what is mounted below a folder, in the order in which it was (proc(5))."""
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    places = [Path(os.fsdecode(_ESCAPED.sub(_plain, line.split()[4]))) for line in lines]
    above = folder.resolve()
    return [place for place in places if place.is_relative_to(above) and place != above]


def _plain(escaped: re.Match[bytes]) -> bytes:
    return bytes([int(escaped[1], 8)])
