"""Files and folders that are still there after a power cut, whole."""

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from jobman_core import group

#: What file systems answer that cannot sync a folder, and need not.
_NO_SUCH_SYNC: Final = (errno.EINVAL, errno.ENOTSUP)


def put(path: Path, text: str, *, secret: bool = True) -> None:
    """Put a file in its place, whole or not at all, for its owner alone.

    It is on the disk when this returns, under its name.

    Args:
        path: its place.
        text: what it holds.
        secret: the group of a shared folder gets no part in it.

    Raises:
        OSError: it cannot be written.
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # It may hold secrets: nobody else reads it, not even for an instant.
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if not secret:
            group.follow(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(path.parent)


def digest(path: Path) -> str:
    """Give what a file's content is known by: its SHA-256.

    Raises:
        OSError: it cannot be read.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_folder(folder: Path, mode: int = 0o777, *, own: bool = False) -> None:
    """Make a folder and what it lies in, where that is missing, so that it stays.

    Args:
        folder: to be made.
        mode: what it is where no group shares the folder that it lies in.
        own: a group that does may look into it and no more.

    Raises:
        OSError: it cannot be made.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=mode, exist_ok=True)
        # What is for its owner alone is a group's only where all of a folder is.
        if mode & stat.S_IRWXG or group.is_shared(path.parent):
            group.follow(path, own=own and path == folder)
        sync_folder(path.parent)


def sync_folder(folder: Path, sync: Callable[[int], None] = os.fsync) -> None:
    """Let what a folder lists be on the disk.

    Raises:
        OSError: it cannot be.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        sync(handle)
    except OSError as error:
        if error.errno not in _NO_SUCH_SYNC:
            raise
    finally:
        os.close(handle)
