"""Log files: read on as they grow, from their beginning or near their end."""

import errno
import glob
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from jobman_core.models.view import LogChunk

_CHUNK: Final = 1 << 20
#: Begins the names of the logs of a job's command, which lie beside those of its steps.
_OF_COMMAND: Final = re.compile(r"command_run_\d+")


@attrs.frozen
class Tail:
    """How much of a log is read: its end."""

    lines: int
    #: Bytes, of each file; a line may be of any length. None: whatever the lines have.
    most: int | None = None


@attrs.define
class Reader:
    """One file, read on from where it was left."""

    path: Path
    #: Makes a chunk of its bytes, and whether they are the first.
    make: Callable[[bytes, bool], LogChunk]
    offset: int = 0
    started: bool = False
    #: Which file it was.
    _inode: int | None = None

    def skip_to_tail(self, tail: Tail) -> None:
        """Begin before the end, without reading what stands before that."""
        try:
            with self.path.open("rb") as file:
                self._inode = os.fstat(file.fileno()).st_ino
                end = file.seek(0, os.SEEK_END)
                least = 0 if tail.most is None else max(0, end - tail.most)
                found, position = 0, end
                while position > least and found <= tail.lines:
                    step = min(_CHUNK // 16, position)
                    position -= step
                    file.seek(position)
                    block = file.read(step)
                    # The newline at the very end begins no line.
                    place = step - 1 if position + step == end else step
                    while (place := block.rfind(b"\n", 0, place)) >= 0:
                        found += 1
                        if found == tail.lines:
                            self.offset = max(position + place + 1, least)
                            return
        except FileNotFoundError:
            return
        self.offset = end if tail.lines == 0 else least

    def read(self) -> LogChunk | None:
        """Give what is new, a piece at a time; None where nothing is."""
        try:
            with self.path.open("rb") as file:
                self._begin_again(os.fstat(file.fileno()))
                try:
                    # What was left out of a copy is a hole.
                    self.offset = os.lseek(file.fileno(), self.offset, os.SEEK_DATA)
                except OSError as error:
                    if error.errno != errno.ENXIO:
                        raise
                    return None
                file.seek(self.offset)
                data = file.read(_CHUNK)
        except FileNotFoundError:
            return None
        if not data:
            return None
        self.offset += len(data)
        first, self.started = not self.started, True
        return self.make(data, first)

    def _begin_again(self, status: os.stat_result) -> None:
        """Go back to the beginning where somebody emptied the file, or put another in its place."""
        if status.st_size < self.offset or self._inode not in (None, status.st_ino):
            self.offset = 0
        self._inode = status.st_ino


class Source:
    """The files that hosts write to in one attempt or step; new ones come as a host speaks."""

    def __init__(
        self,
        folder: Path,
        prefix: str,
        worker: int | None,
        *,
        task: str | None = None,
        number: int = 0,
        hosts: int = 1,
    ) -> None:
        """Say what is read.

        Args:
            folder: has the files.
            prefix: what their names begin with.
            worker: the host whose file is read; None: those of all.
            task: the task's id; None: a job's command or step.
            number: of the attempt.
            hosts: how many may speak.
        """
        self.hosts = hosts
        self._folder = folder
        self._pattern = f"{glob.escape(prefix)}_worker_{'*' if worker is None else worker}.log"
        self._one = worker is not None
        self._task, self._number = task, number
        self._readers: dict[int, Reader] = {}

    def skip_to_tail(self, tail: Tail) -> None:
        """Begin before the end of each file."""
        self._find()
        for reader in self._readers.values():
            reader.skip_to_tail(tail)

    def read(self) -> Iterator[LogChunk]:
        """Give what is new on all hosts."""
        self._find()
        for _, reader in sorted(self._readers.items()):
            while chunk := reader.read():
                yield chunk

    def _find(self) -> None:
        for path in self._folder.glob(self._pattern):
            worker = path.stem.rpartition("_")[2]
            if worker.isdecimal() and int(worker) not in self._readers:
                self._readers[int(worker)] = Reader(path, partial(self._chunk, int(worker)))

    def _chunk(self, worker: int, data: bytes, first: bool) -> LogChunk:
        hosts = 1 if self._one else self.hosts
        return LogChunk(self._task, self._number, worker, data, first, hosts=hosts)


def steps_in(folder: Path) -> list[str]:
    """Give the steps of preparing hosts that have logs in a job's folder of them, newest last."""
    found: dict[str, float] = {}
    for path in folder.glob("*_worker_*.log"):
        name, _, worker = path.stem.rpartition("_worker_")
        if worker.isdecimal() and not _OF_COMMAND.fullmatch(name):
            found[name] = max(found.get(name, 0.0), path.stat().st_mtime)
    return sorted(found, key=lambda name: found[name])
