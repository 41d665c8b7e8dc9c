"""The local copies of what programs say: one file a host and attempt."""

import errno
import os
from pathlib import Path
from typing import IO, Final

from jobman_core.group import opener
from jobman_core.home import make_inside

#: How much of the end of the output is kept in mind, for people and for judging plugins.
TAIL_BYTES: Final = 4096
#: What a person mends while the output waits on the host; all else may pass by itself.
_REMEDIES: Final = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EROFS: "mount its disk so that it can be written",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.ENOENT: "put its folder back",
    errno.ENOTDIR: "move away what lies in its folder's place",
    errno.EEXIST: "move away what lies in its folder's place",
    errno.EISDIR: "move away what lies in its place",
    errno.EMFILE: "let more files be open at once (`ulimit -n`)",
    errno.ENFILE: "let more files be open at once (`sysctl fs.file-max`)",
    errno.EIO: "check its disk",
    errno.ESTALE: "check its disk",
}


class OutputFile:
    """A copy whose length is the place in the host's output up to which it has come.

    Whoever opens it next goes on from there: no gap, no repeat. What is skipped on purpose is a
    hole in the file that begins with a line saying so.
    """

    def __init__(self, path: Path) -> None:
        """Find out how far the copy has come."""
        self.path = path
        self.offset = 0
        self.tail = b""
        #: Why copying stands still; None while it works.
        self.stuck: str | None = None
        try:
            self._look()
        except OSError as error:
            self._stall(error)

    def write(self, offset: int, data: bytes) -> None:
        """Add output that begins at this place in the host's; what is there already is passed over.

        A full disk leaves the copy where it is, as does whatever else hinders the writing: the same
        output is asked for again later. So is all of it where somebody removed the copy.
        """
        try:
            self._write(offset, data)
        except OSError as error:
            self._stall(error)

    def _look(self) -> None:
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                kept = min(size, TAIL_BYTES)
                file.seek(size - kept)
                self.tail = file.read(kept)
        except FileNotFoundError:
            size, self.tail = 0, b""
        self.offset = size

    def _write(self, offset: int, data: bytes) -> None:
        asked = self.offset
        if self.stuck or not self.path.exists():
            self._look()
        if self.offset < asked:
            self.stuck = f"{self.path} is gone: copies the output anew"
            return
        fresh = data[max(0, self.offset - offset) :]
        if fresh:
            self.tail = (self.tail + fresh)[-TAIL_BYTES:]
            start = max(offset, self.offset)
            make_inside(self.path.parent)
            how = "r+b" if self.path.exists() else "w+b"
            with open(self.path, how, buffering=0, opener=opener) as file:
                if start > self.offset:
                    self._mark_gap(file, start)
                file.seek(start)
                view = memoryview(fresh)
                while view:
                    view = view[file.write(view) :]
            self.offset = self.path.stat().st_size
        self.stuck = None

    def _stall(self, error: OSError) -> None:
        remedy = _REMEDIES.get(error.errno or 0, "it is tried again")
        self.stuck = f"{self.path} cannot be written ({error.strerror or error}): {remedy}"

    def _mark_gap(self, file: IO[bytes], start: int) -> None:
        file.seek(self.offset)
        note = f"\n[jobman: {start - self.offset} bytes left out: the link was too slow]\n".encode()
        file.write(note[: start - self.offset])
