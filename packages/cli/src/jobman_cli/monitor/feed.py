"""Looking at the home again and again, no more often than it is worth."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jobman_core.app import App
    from jobman_core.models.overview import Overview

#: Seconds after which one looks though nothing was written down: controllers die silently.
_STALE: Final = 10.0
#: The part of the time that looking, and laying out what was seen, may take.
_SHARE: Final = 0.01
#: Seconds between two looks at most, however long one takes.
_LONGEST: Final = 10.0


def pause(every: float, cost: float) -> float:
    """Give how long to wait for the next look.

    Args:
        every: seconds that somebody wishes between looks, or more.
        cost: seconds of a processor that the last one took.
    """
    return max(every, min(cost / _SHARE, _LONGEST))


class Feed:
    """Gives the home as it stands, where that may have changed."""

    def __init__(
        self,
        app: "App",
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look through an app; the clock is the machine's, unless a test has its own."""
        self._app = app
        self._monotonic = monotonic
        self._changes: int | None = None
        self._looked = 0.0
        self._known: Overview | None = None

    async def look(self, *, anyway: bool = False) -> "Overview | None":
        """Give the home as it stands; None: as before.

        Args:
            anyway: look even if nothing seems to have changed.

        Raises:
            JobmanError: it cannot be read now.
        """
        changes = await self._app.changes()
        stale = self._monotonic() - self._looked >= _STALE
        if changes == self._changes and not stale and not anyway:
            return None
        self._known = await self._app.overview(self._known)
        # What was written meanwhile is seen with the next look.
        self._changes, self._looked = changes, self._monotonic()
        return self._known
