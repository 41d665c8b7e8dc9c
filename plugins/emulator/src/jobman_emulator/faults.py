"""The troubles that a test orders: errors, delays, rate limits, and things that do not go on."""

from collections import deque
from typing import Final

import attrs
from google.rpc import code_pb2

from jobman_emulator.errors import ApiError

#: What can be ordered for the next time that it could happen, and what it means.
KINDS: Final = {
    "vanish-after-create": "a node is created, and then it is not there",
    "stuck-create": "the operation of a create never ends; what it makes is made",
    "stuck-delete": "a delete is taken on and never ends",
    "instant-delete": "what is deleted is not there from the answer on",
}
_MINUTE: Final = 60.0


@attrs.define
class _Planned:
    error: ApiError
    times: int
    #: Inside the operation, not as the answer.
    late: bool


@attrs.frozen
class Slowness:
    """Seconds that a call takes longer."""

    #: Before anything is done.
    before: float = 0.0
    #: After it was done: who gives up meanwhile does not know what became of the call.
    after: float = 0.0


@attrs.define
class _Rate:
    per_minute: int
    seen: deque[float] = attrs.field(factory=deque)


class Faults:
    """What is to go wrong. Calls are named as the API's methods are: ``CreateNode``."""

    def __init__(self) -> None:
        """Order nothing."""
        self._planned: dict[str, deque[_Planned]] = {}
        self._slow: dict[str, Slowness] = {}
        self._rates: dict[str, _Rate] = {}
        self._ordered: dict[str, int] = {}

    def fail_next(self, call: str, error: ApiError, times: int, *, late: bool) -> None:
        """Let the next calls fail; late ones are answered well, and their operation fails."""
        self._planned.setdefault(call, deque()).append(_Planned(error, times, late))

    def slow(self, call: str, slowness: Slowness) -> None:
        """Let every call of a kind take longer from now on."""
        self._slow[call] = slowness

    def rate_limit(self, call: str, per_minute: int | None) -> None:
        """Let so many calls a minute through; None: all."""
        self._rates.pop(call, None)
        if per_minute is not None:
            self._rates[call] = _Rate(per_minute)

    def order(self, kind: str, times: int) -> None:
        """Order one of :data:`KINDS` for the next times; 0 takes it back."""
        self._ordered[kind] = times

    def clear(self) -> None:
        """Let all go well again."""
        for orders in (self._planned, self._slow, self._rates, self._ordered):
            orders.clear()

    def slowness(self, call: str) -> Slowness:
        """Give how much longer a call takes."""
        return self._slow.get(call, Slowness())

    def admit(self, call: str, now: float) -> None:
        """Let a call pass, or not.

        Args:
            call: the method's name.
            now: seconds on any clock that does not go back.

        Raises:
            ApiError: what was ordered, or too many calls within a minute.
        """
        if error := self._take(call, late=False):
            raise error
        rate = self._rates.get(call)
        if rate is None:
            return
        while rate.seen and rate.seen[0] <= now - _MINUTE:
            rate.seen.popleft()
        if len(rate.seen) >= rate.per_minute:
            raise ApiError(
                code_pb2.RESOURCE_EXHAUSTED,
                f"Quota exceeded for quota metric '{call} requests' and limit '{call} requests "
                f"per minute' of service 'tpu.googleapis.com'.",
            )
        rate.seen.append(now)

    def late(self, call: str) -> ApiError | None:
        """Give the error that the operation of a call is to end with."""
        return self._take(call, late=True)

    def takes(self, kind: str) -> bool:
        """Tell whether one of :data:`KINDS` happens now."""
        left = self._ordered.get(kind, 0)
        if left:
            self._ordered[kind] = left - 1
        return left > 0

    def _take(self, call: str, *, late: bool) -> ApiError | None:
        for planned in self._planned.get(call, ()):
            if planned.late is late and planned.times:
                planned.times -= 1
                return planned.error
        return None
