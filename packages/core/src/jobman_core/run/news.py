"""What a look at a slice changes on the books, and the word for it: pure."""

from datetime import datetime

import attrs

from jobman_core.errors import CloudError
from jobman_core.interfaces.store import Note
from jobman_core.models.slice import (
    ASKED,
    GONE,
    Absent,
    Observation,
    Present,
    Slice,
    SlicePhase,
    Unknown,
)

_LOST = (SlicePhase.LOST, SlicePhase.LOSING, SlicePhase.DELETING)


def refusal_of(slice_: Slice, seen: Observation) -> CloudError | None:
    """Give why a request came to nothing after the cloud had taken it on.

    What was ready once is lost as any other, whatever is said of it.
    """
    if isinstance(seen, Unknown) or slice_.ready_at is not None:
        return None
    return seen.refusal


def news_of(slice_: Slice, seen: Observation, now: datetime) -> tuple[Slice, Note] | None:
    """Give a slice as a look shows it, and what is to be told of that; None: nothing is new."""
    match seen:
        case Unknown():
            return None
        case Absent():
            # A request that never got there is nothing that was lost.
            if slice_.lost_at is not None or slice_.state == ASKED:
                return None
            news = attrs.evolve(slice_, phase=SlicePhase.LOST, state=GONE, lost_at=now)
            name = slice_.identity.name
            return news, Note(
                _loss(slice_, "slice.vanished"), f"slice {name} is not there any more"
            )
        case Present():
            news, note = _present(slice_, seen, now)
            return None if news == slice_ else (news, note)


def _present(slice_: Slice, seen: Present, now: datetime) -> tuple[Slice, Note]:
    name = slice_.identity.name
    news = attrs.evolve(
        slice_,
        phase=seen.phase,
        state=seen.state,
        detail=seen.detail or str(seen.refusal or ""),
        # A host that is not told of any more may run on: it is silent, or will say itself.
        hosts=seen.hosts if len(seen.hosts) >= len(slice_.hosts) else slice_.hosts,
    )
    if seen.phase is SlicePhase.READY:
        if slice_.phase is SlicePhase.READY:
            return news, _change(slice_, news)
        news = attrs.evolve(news, ready_at=news.ready_at or now)
        return news, Note("slice.ready", f"slice {name} is ready")
    if seen.phase in _LOST and slice_.lost_at is None:
        news = attrs.evolve(news, lost_at=now)
        kind = "slice.preempted" if seen.phase is not SlicePhase.DELETING else "slice.vanished"
        return news, Note(_loss(slice_, kind), f"slice {name} is lost: {seen.state}")
    return news, Note("slice.state", f"slice {name} is {seen.state}")


def _loss(slice_: Slice, kind: str) -> str:
    """Give the kind of a loss; what was given back, or never used, is none that people mind."""
    if slice_.withdrawn:
        return "slice.state"
    return kind if slice_.ready_at is not None else "slice.lost_early"


def _change(before: Slice, now: Slice) -> Note:
    """Say what is new about a slice that stays ready."""
    name = now.identity.name
    if before.hosts != now.hosts:
        addresses = ", ".join(host.ip or "unknown" for host in now.hosts)
        return Note("slice.hosts", f"slice {name} has hosts {addresses}")
    if before.state != now.state:
        return Note("slice.state", f"slice {name} is {now.state}")
    return Note("slice.health", f"slice {name}: {now.detail or 'nothing is wrong any more'}")
