"""The store's thread: no wait for a disk stops the loop."""

import threading
from collections.abc import Callable
from queue import SimpleQueue


class StoreThread:
    """Does what it is told, in that order.

    Less than an executor: every claim of a task pays for the way there and back.
    """

    def __init__(self) -> None:
        """Prepare it; it starts with the first thing that it is told."""
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def tell(self, call: Callable[[], None]) -> None:
        """Let it do something, which raises nothing, after all that it was told before."""
        if self._thread is None:
            # What was not awaited when the interpreter ends was promised to nobody.
            self._thread = threading.Thread(target=self._work, name="jobman-store", daemon=True)
            self._thread.start()
        self._calls.put(call)

    def stop(self) -> None:
        """End it once all that it was told is done, and wait for that."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
