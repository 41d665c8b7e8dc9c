"""Threads that nobody has to wait for."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


async def in_daemon(call: Callable[[], _T]) -> _T:
    """Do what blocks in a thread that the process can end without, unlike a pool's.

    Ctrl-C need not wait for it: for what asks a network, and leaves nothing half done.
    """
    done: Future[_T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            done.set_exception(error)
        else:
            done.set_result(result)

    threading.Thread(target=run, name="jobman-call", daemon=True).start()
    return await asyncio.wrap_future(done)
