"""Locks on files, so that one process does what ten are about to do: nobody waits for them long."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take a lock if nobody has it; yields whether it was taken, and gives it back.

    Raises:
        OSError: the file cannot be made.
    """
    import portalocker

    with path.open("ab") as file:
        try:
            flags = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
            portalocker.lock(file, flags)
        except portalocker.LockException:
            yield False
            return
        try:
            yield True
        finally:
            portalocker.unlock(file)
