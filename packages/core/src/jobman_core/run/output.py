"""The local copies of what programs say: one file a host and attempt."""

import errno
from pathlib import Path
from typing import BinaryIO, Final

#: How much of the end of the output is kept in mind, for people and for judging plugins.
TAIL_BYTES: Final = 4096


class OutputFile:
    """A copy whose length is the place in the host's output up to which it has come.

    Whoever opens it next goes on from there: no gap, no repeat. What is skipped on purpose is a
    hole in the file that begins with a line saying so.
    """

    def __init__(self, path: Path) -> None:
        """Find out how far the copy has come."""
        self.path = path
        self.tail = b""
        #: Why copying stands still; None while it works.
        self.stuck: str | None = None
        try:
            self.offset = path.stat().st_size
        except FileNotFoundError:
            self.offset = 0
        if self.offset:
            with path.open("rb") as file:
                file.seek(max(0, self.offset - TAIL_BYTES))
                self.tail = file.read()

    def write(self, offset: int, data: bytes) -> None:
        """Add output that begins at this place in the host's; what is there already is passed over.

        A full disk leaves the copy where it is: the same output is asked for again later.
        """
        fresh = data[max(0, self.offset - offset) :]
        if not fresh:
            return
        self.tail = (self.tail + fresh)[-TAIL_BYTES:]
        start = max(offset, self.offset)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("r+b" if self.path.exists() else "w+b", buffering=0) as file:
                if start > self.offset:
                    self._mark_gap(file, start)
                file.seek(start)
                view = memoryview(fresh)
                while view:
                    view = view[file.write(view) :]
            self.stuck = None
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES):
                raise
            self.stuck = f"{self.path} cannot be written ({error.strerror}): free some space"
        self.offset = self.path.stat().st_size if self.path.exists() else 0

    def _mark_gap(self, file: BinaryIO, start: int) -> None:
        file.seek(self.offset)
        note = f"\n[jobman: {start - self.offset} bytes left out: the link was too slow]\n".encode()
        file.write(note[: start - self.offset])
