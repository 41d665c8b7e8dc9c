"""The loop that front ends run in."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a front end's coroutine in a loop that waits for processes without a thread each."""
    found: list[_T] = []

    async def keep() -> None:
        # Not returned: when the loop ends, Python 3.11 writes out the main task's whole result, to
        # no end (its signal module makes a text of every handler that it is asked for).
        found.append(await main)

    if sys.version_info >= (3, 12):
        # It does so by itself where the kernel has pidfd.
        asyncio.run(keep())
        return found[0]
    policy = asyncio.get_event_loop_policy()
    before = policy.get_child_watcher()
    policy.set_child_watcher(asyncio.PidfdChildWatcher())
    try:
        asyncio.run(keep())
    finally:
        # Loops of other threads could start no process with ours.
        policy.set_child_watcher(before)
    return found[0]
