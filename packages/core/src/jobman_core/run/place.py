"""Where to ask for a slice next: the core's own answer to the hook ``jobman_place``."""

from typing import Final

from jobman_core.models.place import GiveUp, Place, PlaceContext, Refusal, Wait

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0


def wait_after(refusal: Refusal) -> float:
    """Give the seconds to leave a place alone: one at first, doubled each time, at most 60."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (refusal.times - 1))


def place(context: PlaceContext) -> Place | Wait | GiveUp:
    """Ask the first candidate that has not refused lately; wait while all of them have."""
    soonest: tuple[float, str] | None = None
    reasons: list[str] = []
    for index, request in enumerate(context.candidates):
        refusal = context.refusals.get(index)
        if refusal is None:
            return Place(request, index)
        reasons.append(refusal.reason)
        if refusal.permanent:
            continue
        left = refusal.at + wait_after(refusal) - context.now
        if left <= 0:
            return Place(request, index)
        if soonest is None or left < soonest[0]:
            soonest = (left, refusal.reason)
    if soonest is None:
        return GiveUp("; ".join(reasons))
    return Wait(soonest[0], soonest[1])
