"""Where to ask for a slice next: the core's own answer to the hook ``jobman_place``."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from jobman_core.models.place import (
    GiveUp,
    Place,
    PlaceContext,
    Refusal,
    Stockout,
    Wait,
    Where,
)
from jobman_core.models.slice import SliceRequest

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0
#: More of them change nothing; two to the power of a week of refusals is no number any more.
_DOUBLINGS: Final = 10
#: For how long a place that had no capacity is tried after others.
BAD_NEWS: Final = timedelta(minutes=10)


def wait_after(refusal: Refusal) -> float:
    """Give the seconds to leave a place alone: one at first, doubled each time, at most 60."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(refusal.times - 1, _DOUBLINGS))


def empty(
    candidates: Sequence[SliceRequest], stockouts: Mapping[Where, Stockout], now: datetime
) -> Mapping[int, str]:
    """Say which candidates had no capacity lately, and what was said there, by their index.

    What is of the future is of a clock that was wrong: nothing follows from it.
    """
    known = ((index, stockouts.get(Where.of(each))) for index, each in enumerate(candidates))
    return {
        index: stockout.reason
        for index, stockout in known
        if stockout is not None and timedelta(0) <= now - stockout.at < BAD_NEWS
    }


def place(context: PlaceContext) -> Place | Wait | GiveUp:
    """Ask the first candidate that has not refused lately; wait while all of them have.

    One of which there is bad news, this job's or another's, comes after those without.
    """
    due: list[Place] = []
    waits: list[tuple[float, str]] = []
    reasons: list[str] = []
    for index, request in enumerate(context.candidates):
        refusal = context.refusals.get(index)
        if refusal is None:
            due.append(Place(request, index))
            continue
        reasons.append(refusal.reason)
        if refusal.permanent:
            continue
        left = refusal.at + wait_after(refusal) - context.now
        if left > 0:
            waits.append((left, refusal.reason))
        else:
            due.append(Place(request, index))
    if due:
        return min(due, key=lambda place: place.index in context.empty)
    if not waits:
        return GiveUp("; ".join(reasons))
    seconds, reason = min(waits, key=lambda wait: wait[0])
    return Wait(seconds, reason)
