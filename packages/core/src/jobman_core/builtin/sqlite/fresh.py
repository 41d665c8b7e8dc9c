"""What statements get from outside: they neither make up names nor look at a clock."""

from collections.abc import Callable
from datetime import datetime, timedelta

import attrs

from jobman_core.builtin.sqlite.rows import stamp


@attrs.frozen
class Fresh:
    """The moment of a change, and names that are unique for ever."""

    now: datetime
    new_id: Callable[[], str]
    #: The moment as columns have it.
    at: str = attrs.field(init=False)

    @at.default
    def _at(self) -> str:
        return stamp(self.now)

    def before(self, span: timedelta) -> str:
        """Give an earlier moment as columns have it."""
        return stamp(self.now - span)
