"""Files of v3 that come into the home: copied, or linked where they are large."""

import os
import shutil
import stat
from pathlib import Path
from typing import Final

import attrs

from jobman_core.files import make_folder
from jobman_core.group import follow
from jobman_core.v3.tree import entries

#: Bytes from which on a log that nobody writes any more is linked where that is possible.
_LARGE: Final = 256 << 20


@attrs.define
class Bringer:
    """Brings logs, and counts them."""

    #: Nothing is written.
    dry: bool
    problems: list[str]
    files: int = 0
    size: int = 0

    def logs(self, source: Path, target: Path) -> None:
        """Bring what a folder holds that is not there yet; what is no plain file is told."""
        if source.resolve() == target.resolve() or not source.exists():
            return
        for path in entries(source, self.problems):
            try:
                self._one(path, target / path.name)
            except OSError as error:
                self.problems.append(f"{path} was not copied: {error.strerror or error}")

    def _one(self, path: Path, target: Path) -> None:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            self.problems.append(f"{path} is no plain file: it stays where it is")
            return
        if os.path.lexists(target):
            return
        self.files += 1
        self.size += status.st_size
        if not self.dry:
            make_folder(target.parent)
            put_copy(path, target, link=status.st_size >= _LARGE and "_worker_" in path.name)


def put_copy(source: Path, target: Path, *, link: bool = False) -> None:
    """Copy a file, with its times, whole or not at all; ``link``: let both be the same.

    Raises:
        OSError: it cannot be copied.
    """
    if link:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError:
            # Of another disk, or of another owner.
            pass
        else:
            return
    # One process alone takes over: what lies there is of one that was killed.
    aside = target.with_name(f".{target.name}.import.tmp")
    aside.unlink(missing_ok=True)
    try:
        handle = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file, aside.open("xb") as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
            status = os.fstat(file.fileno())
            os.fchmod(copy.fileno(), stat.S_IMODE(status.st_mode))
        follow(aside)
        os.utime(aside, ns=(status.st_atime_ns, status.st_mtime_ns))
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
