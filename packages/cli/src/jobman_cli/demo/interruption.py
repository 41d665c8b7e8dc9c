"""Ctrl-C in the demo: the first one ends the play, and what tidies up hears of no other."""

import asyncio
import signal
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self


class Interruption:
    """Takes SIGINT for as long as the block lasts."""

    def __init__(self) -> None:
        """Begin with none."""
        self.happened = False
        self._before: Any = None
        self._stop: Callable[[], object] | None = None

    def __enter__(self) -> Self:
        """Take the signal; asyncio leaves a handler alone that is not Python's own."""
        self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the signal back."""
        signal.signal(signal.SIGINT, self._before)

    async def ends(self, course: Coroutine[Any, Any, None], heard: Callable[[], None]) -> None:
        """Wait until a course is over, or is ended by Ctrl-C.

        Args:
            course: what to do.
            heard: called at once when Ctrl-C comes.
        """
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(course)

        def stop() -> None:
            if not task.done():
                heard()
                task.cancel()

        # A handler may not do more than wake the loop: it comes in the middle of anything.
        self._stop = lambda: loop.call_soon_threadsafe(stop)
        if self.happened:
            stop()
        try:
            await asyncio.wait([task])
        finally:
            self._stop = None
        if not task.cancelled():
            task.result()

    def _hear(self, *_: object) -> None:
        if not self.happened and self._stop is not None:
            self._stop()
        self.happened = True
