"""What can go wrong between an app and Slack, on demand and by rate."""

import time
from collections import defaultdict

import attrs


class ApiError(Exception):
    """An answer that is not ok: Slack's word for what is wrong, and what else it says."""

    def __init__(self, error: str, **more: object) -> None:
        super().__init__(error)
        self.error = error
        self.more = more


@attrs.define
class Trouble:
    """What befalls the next calls of a method."""

    #: ``*`` is any.
    method: str
    #: How many calls.
    times: int = 1
    #: Slack's word: ``fatal_error``.
    error: str | None = None
    #: The HTTP status, with no JSON behind it but for 429.
    status: int | None = None
    #: Seconds that a 429 asks for.
    retry_after: int = 1
    #: Seconds before the call is taken.
    delay: float = 0
    #: Seconds between taking the call and answering it.
    answer_after: float = 0
    #: The call is taken, and its answer never comes.
    lost: bool = False


@attrs.define
class Troubles:
    """Those that still wait for a call."""

    waiting: list[Trouble] = attrs.field(factory=list)

    def take(self, method: str) -> Trouble | None:
        """What befalls this call."""
        for trouble in self.waiting:
            if trouble.method in ("*", method):
                trouble.times -= 1
                if trouble.times <= 0:
                    self.waiting.remove(trouble)
                return trouble
        return None


@attrs.define
class Rate:
    """Slack's limit on messages: a steady number a second to each channel, and short bursts."""

    per_second: float = 1
    burst: int = 5
    _spent: dict[str, tuple[float, float]] = attrs.field(
        factory=lambda: defaultdict(lambda: (0, 0))
    )

    def wait(self, channel: str) -> int:
        """Whole seconds to wait before the next message; 0: it is taken, and counts."""
        now = time.monotonic()
        spent, at = self._spent[channel]
        spent = max(0.0, spent - (now - at) * self.per_second)
        if spent + 1 > self.burst:
            return max(1, round((spent + 1 - self.burst) / self.per_second))
        self._spent[channel] = (spent + 1, now)
        return 0
