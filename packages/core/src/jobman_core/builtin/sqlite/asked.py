"""Work for the store's thread, and whoever waits for what comes of it."""

import asyncio
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Tx = TypeVar("_Tx")


class NotNeeded(Exception):  # noqa: N818 - an answer, and no error
    """A look showed that there is nothing to write."""


class Asked(Generic[_P, _T]):
    """A piece of work that somebody waits for.

    It is done on the store's thread. What came of it is kept here, and told on the loop: of a write
    only once it is known to last.
    """

    def __init__(self, work: Callable[_P, _T]) -> None:
        """Keep what to do, for the task that asks for it now."""
        self.answer: asyncio.Future[_T] = asyncio.get_running_loop().create_future()
        self._work = work
        self._came_of_it: Callable[[], object] = self.answer.cancel

    def do(self, *args: _P.args, **kwargs: _P.kwargs) -> None:
        """Do the work and keep its result; what it raises is left to the caller."""
        result = self._work(*args, **kwargs)
        self._came_of_it = lambda: self.answer.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Keep that nothing came of it."""
        self._came_of_it = lambda: self.answer.set_exception(error)

    def tell(self) -> None:
        """Tell whoever waits still; on the loop."""
        if not self.answer.done():
            self._came_of_it()


class Write(Asked[[_Tx], _T], Generic[_Tx, _T]):
    """A piece of work that writes, together with others in one transaction."""

    def __init__(
        self,
        work: Callable[[_Tx], _T],
        *,
        synced: bool,
        counted: bool = True,
        needed: Callable[[_Tx], bool] | None = None,
    ) -> None:
        """Keep what to do, for the task that asks for it now.

        Args:
            work: what to do.
            synced: it has to be on the disk before it is told.
            counted: those who ask for the version are to see it.
            needed: tells, by reading alone, whether to do it; None: it is in any case.
        """
        super().__init__(work)
        self.synced = synced
        self.counted = counted
        self.needed = needed
