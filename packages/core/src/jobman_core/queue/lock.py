"""Locks on files, so that one process does what ten are about to do: nobody waits for them long."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

from jobman_core.clock import Clock
from jobman_core.group import opener

#: Seconds between two tries.
_RETRY: Final = 0.1


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Take a lock if nobody has it; yields whether it was taken, and gives it back.

    Raises:
        OSError: the file cannot be made.
    """
    import portalocker

    with open(path, "ab", opener=opener) as file:
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


@asynccontextmanager
async def locked(path: Path, clock: Clock, *, patience: float) -> AsyncIterator[bool]:
    """Take a lock, trying again for so many seconds; yields whether it was taken.

    Raises:
        OSError: the file cannot be made.
    """
    for left in reversed(range(1 + round(patience / _RETRY))):
        with ExitStack() as stack:
            if await asyncio.to_thread(stack.enter_context, try_lock(path)):
                yield True
                return
        if left:
            await clock.sleep(_RETRY)
    yield False
