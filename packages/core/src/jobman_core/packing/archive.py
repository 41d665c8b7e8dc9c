"""Archives of what a folder ships: the same content gives the same bytes."""

import contextlib
import gzip
import hashlib
import os
import secrets
import stat
import tarfile
from pathlib import Path
from typing import IO, Final

import attrs

from jobman_core.errors import InvalidInputError
from jobman_core.files import make_folder, sync_folder
from jobman_core.group import follow
from jobman_core.packing.listing import Listing

#: When all that is packed was last changed: 2 January 1980. Zip files, and so wheels that are built
#: of it, know no time before that year.
_MOMENT: Final = 315_619_200
#: Seconds after which nobody still writes what has not changed.
_ABANDONED: Final = 86400.0
#: Larger levels cost more time than a link saves.
_LEVEL: Final = 6
_MODES: Final = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO


@attrs.frozen
class Archive:
    """A ``.tar.gz`` that is named after its content."""

    path: Path
    #: Of its bytes (SHA-256, hex).
    snapshot: str


def archive_in(folder: Path, snapshot: str) -> Archive:
    """Name an archive that lies, or will lie, in a folder."""
    return Archive(folder / f"{snapshot}.tar.gz", snapshot)


def pack(listing: Listing, folder: Path, *, secret: bool = True) -> Archive:
    """Pack what a folder ships; it is on the disk, whole, when this returns.

    Args:
        listing: what to pack.
        folder: gets the archive; made where it is missing.
        secret: the group of a shared folder gets no part in it.

    Raises:
        InvalidInputError: something of it cannot be read, or changed meanwhile.
        OSError: the archive cannot be written.
    """
    aside = pack_aside(listing, folder)
    archive = archive_in(folder, aside.snapshot)
    if not secret:
        follow(aside.path)
    aside.path.replace(archive.path)
    sync_folder(folder)
    return archive


def pack_aside(listing: Listing, folder: Path) -> Archive:
    """Do the same under another name, for the caller to remove.

    Raises:
        InvalidInputError: as above.
        OSError: as above.
    """
    make_folder(folder, mode=0o700)
    aside = folder / f".{secrets.token_hex(8)}.tmp"
    try:
        # It may hold secrets.
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            _write(listing, file)
            file.flush()
            os.fsync(file.fileno())
            _tidy(folder, os.fstat(handle).st_mtime)
        with aside.open("rb") as file:
            return Archive(aside, hashlib.file_digest(file, "sha256").hexdigest())
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def _tidy(folder: Path, now: float) -> None:
    """Remove what is left of those who were killed while they packed."""
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if now - path.stat().st_mtime > _ABANDONED:
                path.unlink()


def _write(listing: Listing, file: IO[bytes]) -> None:
    with (
        gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed,
        tarfile.open(
            fileobj=packed,
            mode="w|",
            format=tarfile.GNU_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        ) as tar,
    ):
        for item in listing.items:
            _add(tar, listing.folder / item.path, item.path)


def _add(tar: tarfile.TarFile, place: Path, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.mtime = _MOMENT
    if target := _target(place):
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, target, 0o777
        tar.addfile(info)
        return
    with _open(place) as content:
        seen = os.fstat(content.fileno())
        info.mode, info.size = stat.S_IMODE(seen.st_mode) & _MODES, seen.st_size
        try:
            tar.addfile(info, content)
        except OSError as error:
            if error.errno is not None:
                raise
            # The archive has no such trouble of its own.
            msg = f"{place} became shorter while it was packed: try again when nothing writes it"
            raise InvalidInputError(msg) from error


def _target(place: Path) -> str | None:
    """Give what a link says; None: it is none."""
    try:
        return os.readlink(place)  # noqa: PTH115 - a Path would tidy it up
    except OSError:
        return None


def _open(place: Path) -> IO[bytes]:
    try:
        # Should a pipe have taken its place, nobody waits for a writer.
        return os.fdopen(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError as error:
        raise InvalidInputError(
            f"{place} cannot be read ({error.strerror}): make it readable, or exclude it"
        ) from error
