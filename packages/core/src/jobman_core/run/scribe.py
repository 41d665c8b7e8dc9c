"""Writes what people read, on a thread of its own: logs, copies of output, meta files.

A disk that hangs holds up this thread alone, neither the loop nor the store.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

#: How many pieces of writing may wait for a disk before newer ones are let go.
ROOM: Final = 10_000
#: Seconds that the last ones get when the process ends.
FAREWELL: Final = 5.0


class Scribe:
    """Does one piece of writing after the other, in the order in which they came."""

    def __init__(self) -> None:
        """Begin with nothing to write; the thread starts with the first piece."""
        self._pieces: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        #: So many were let go since there was room.
        self._let_go = 0

    def soon(self, piece: Callable[[], None]) -> None:
        """Write something for which nobody waits; it sees to its own errors."""
        if self._pieces.qsize() >= ROOM:
            self._let_go += 1
            return
        if self._let_go:
            _log.warning("%d lines were let go: the disk was too slow for them", self._let_go)
            self._let_go = 0
        self._put(piece)

    async def do(self, piece: Callable[[], _T]) -> _T:
        """Write something, and give its result; who is cancelled leaves it to be done all the same.

        Raises:
            OSError: whatever the writing raises.
        """
        done: Future[_T] = Future()
        # So that one who is cancelled does not take it off the list.
        done.set_running_or_notify_cancel()

        def work() -> None:
            try:
                done.set_result(piece())
            except BaseException as error:  # noqa: BLE001 - whoever waits raises it
                done.set_exception(error)

        self._put(work)
        return await asyncio.wrap_future(done)

    async def aclose(self) -> None:
        """Finish what is open, for some seconds at most."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._pieces.put(None)
        await asyncio.to_thread(thread.join, FAREWELL)

    def _put(self, piece: Callable[[], None]) -> None:
        self._pieces.put(piece)
        if self._thread is None:
            # A daemon: a disk that hangs must not keep the process from ending.
            self._thread = threading.Thread(
                target=self._write_on, name="jobman-scribe", daemon=True
            )
            self._thread.start()

    def _write_on(self) -> None:
        while (piece := self._pieces.get()) is not None:
            try:
                piece()
            except Exception:  # noqa: BLE001 - one piece's fault is not the next one's
                _log.exception("something could not be written")
