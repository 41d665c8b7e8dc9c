"""What statements get from outside: they neither make up names nor look at a clock."""

from collections.abc import Callable

import attrs


@attrs.frozen
class Fresh:
    """The moment of a change, and names that are unique for ever."""

    at: str
    new_id: Callable[[], str]
