"""The files of a database: which ones they are, what keeps them from being written, reading them.

SQLite knows its files by descriptors. Where a person moves, replaces or removes one under a running
worker, what is written afterwards would go where nobody looks: so each use begins with a look
whether they are still the ones that were opened.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from jobman_core.errors import StoreError

#: Bytes on a disk below which it counts as full: a commit, or a new side file, takes some pages.
_ROOM: Final = 64 * 1024

#: Device and inode of the database and its side files; None for one that is not there.
Marks = tuple[tuple[int, int] | None, ...]

#: What every database begins with.
_MAGIC: Final = b"SQLite format 3\0"


@attrs.frozen
class Files:
    """A database file, and the side files that SQLite makes beside it."""

    path: Path
    #: The log, and the memory that its users share.
    wal: Path = attrs.field(init=False)
    shm: Path = attrs.field(init=False)

    @wal.default
    def _wal(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")

    @shm.default
    def _shm(self) -> Path:
        return self.path.with_name(f"{self.path.name}-shm")

    def marks(self) -> Marks:
        """Tell which files are there now; a database with nothing in it counts as none.

        Raises:
            OSError: they cannot be looked at.
        """
        return _mark(self.path, least=1), _mark(self.wal), _mark(self.shm)

    def hindrance(self) -> str:
        """Say why nothing can be written, as far as a look at disk and rights shows; else empty."""
        folder = self.path.parent
        try:
            disk = os.statvfs(folder)
        except OSError as error:
            return f"{folder} cannot be used ({error.strerror}): put it back, or check its disk"
        free = disk.f_bfree if os.geteuid() == 0 else disk.f_bavail
        if disk.f_flag & os.ST_RDONLY:
            return (
                f"the disk of {folder} is mounted read-only: see `dmesg` for why, and mount it "
                "so that it can be written"
            )
        if free * disk.f_frsize < _ROOM:
            return f"the disk of {folder} is full: free some space"
        if disk.f_files and not (disk.f_ffree if os.geteuid() == 0 else disk.f_favail):
            return f"the disk of {folder} has no room for more files: remove some"
        for path in (folder, self.path, self.wal, self.shm):
            if path.exists() and not os.access(path, os.W_OK):
                return f"{path} cannot be written: check its permissions"
        return ""

    def connect_to_read(self, timeout: float) -> sqlite3.Connection:
        """Open a database whose files cannot be written or made.

        SQLite reads the log only through shared memory, which it must find or be able to make.
        Where it can do neither the database is read as it is if no log is there to be read, else
        from a copy.

        Raises:
            sqlite3.Error: it cannot be read.
            OSError: the same.
        """
        try:
            return self._connect(self.path, "mode=ro", timeout)
        except sqlite3.OperationalError:
            if not self.wal.exists() or self.wal.stat().st_size == 0:
                return self._connect(self.path, "immutable=1", timeout)
        # Start-up is paid by everybody, and this is rare.
        import shutil
        import tempfile

        with tempfile.TemporaryDirectory(prefix="jobman-") as folder:
            copy = Path(folder) / self.path.name
            shutil.copyfile(self.path, copy)
            shutil.copyfile(self.wal, copy.with_name(self.wal.name))
            # Once it has been read from, its files stay open, whatever their folder does.
            return self._connect(copy, "mode=rw", timeout)

    @staticmethod
    def _connect(path: Path, how: str, timeout: float) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?{how}",
            uri=True,
            timeout=timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def spared(self, opened: Marks | None) -> Iterator[None]:
        """Close a connection inside: side files that are not its own survive that.

        SQLite removes them by their names, which may mean those of another database by now.

        Args:
            opened: the files that were there when it was opened; None: it never was, whole.
        """
        kept: list[tuple[Path, Path]] = []
        for path, mark in zip((self.wal, self.shm), opened[1:] if opened else (), strict=False):
            # What cannot even be looked at, or linked, SQLite cannot remove either.
            with contextlib.suppress(OSError):
                if _mark(path) not in (None, mark):
                    aside = path.with_name(f"{path.name}.{os.getpid()}.kept")
                    aside.hardlink_to(path)
                    kept.append((path, aside))
        try:
            yield
        finally:
            for path, aside in kept:
                with contextlib.suppress(FileExistsError):
                    path.hardlink_to(aside)
                aside.unlink()


def check_head(descriptor: int, path: Path) -> None:
    """Refuse a database that was written over; SQLite may have a page of it in mind for long.

    Args:
        descriptor: of the database, opened before SQLite's and closed after: to close one makes
            the system forget the locks that this process has on the file.
        path: the database, for the message.

    Raises:
        StoreError: it is none any more.
        OSError: it cannot be read.
    """
    if os.pread(descriptor, len(_MAGIC), 0) not in (_MAGIC, b""):
        raise StoreError(
            f"the database {path} cannot be used (something was written over it): "
            f"it is damaged: {put_back(path)}"
        )


def put_back(path: Path) -> str:
    """Say what to do about a database that is lost.

    To start afresh takes all of ``jobs``: new jobs have numbers, and so folders, that old ones had.
    """
    return f"put a copy of it back; to start afresh without it, move {path.parent.parent} away"


def _mark(path: Path, least: int = 0) -> tuple[int, int] | None:
    try:
        # With every transaction: a Path would take longer than the look itself.
        stat = os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (stat.st_dev, stat.st_ino) if stat.st_size >= least else None
