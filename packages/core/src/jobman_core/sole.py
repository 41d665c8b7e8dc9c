"""Being the only process that does something for a home, like serving its Slack."""

import json
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobman_core.clock import Clock, to_text
from jobman_core.errors import HeldError
from jobman_core.queue.lock import try_lock


@contextmanager
def sole(path: Path, what: str, clock: Clock) -> Iterator[None]:
    """Hold a lock for the length of a block; it is free once the process is gone, however it went.

    Args:
        path: the lock, a file that says who has it.
        what: what is done, for people: ``a Slack bot``.
        clock: tells since when.

    Raises:
        HeldError: another process has it; the message says which.
        OSError: the file cannot be written.
    """
    with try_lock(path) as taken:
        if not taken:
            msg = f"{what} serves this home already ({_holder(path)}): stop that one first"
            raise HeldError(msg)
        who = {"pid": os.getpid(), "machine": platform.node(), "since": to_text(clock.now())}
        path.write_text(json.dumps(who), encoding="utf-8")
        yield


def _holder(path: Path) -> str:
    """Name who has a lock, for people."""
    try:
        who = json.loads(path.read_bytes())
        return f"process {who['pid']} on {who['machine']}, since {who['since']}"
    except (OSError, ValueError, TypeError, KeyError):
        # It was taken this very moment.
        return "another process"
