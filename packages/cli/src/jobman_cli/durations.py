"""How long things take: what has passed of them, and what is left until they are tried again."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from jobman_cli import output

if TYPE_CHECKING:
    from jobman_core.models.listing import JobView

#: Seconds for which a moment that has come is still announced: whoever tries is about to.
_DUE_FOR: Final = 10.0
#: Seconds that are written as such, not as minutes.
_FEW: Final = 100.0


def since(begin: datetime | None, now: datetime) -> str:
    """Give how long ago something began."""
    return output.NOTHING if begin is None else output.span((now - begin).total_seconds())


def total(view: "JobView", now: datetime) -> str:
    """Give how long ago a job was submitted; of one that has ended, until then."""
    return since(view.submitted, view.ended or now)


def ran(view: "JobView", now: datetime) -> str:
    """Give how long programs of a job ran in all, what runs now included."""
    running = (now - view.began).total_seconds() if view.began else 0.0
    seconds = view.ran + max(0.0, running)
    return output.span(seconds) if seconds else output.NOTHING


def countdown(next_try: datetime | None, now: datetime) -> str:
    """Say how long it is until the next try; empty: nobody knows."""
    if next_try is None:
        return ""
    left = (next_try - now).total_seconds()
    if left <= -_DUE_FOR:
        return ""
    if left < 1:
        return "next try now"
    return f"next try in {f'{left:.0f} s' if left < _FEW else output.span(left)}"


def waiting(reason: str, next_try: datetime | None, now: datetime) -> str:
    """Give a reason with how long it is until the next try."""
    return ", ".join(words for words in (reason, countdown(next_try, now)) if words)
