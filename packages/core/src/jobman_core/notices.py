"""What people are told of an event, and who: pure."""

from collections.abc import Mapping
from typing import Final

import attrs

from jobman_core.models.event import Event
from jobman_core.models.job import Job
from jobman_core.models.notice import USUAL, Audience, Notice, NoticeKind, NotifyRule

#: Events that people may want to hear of.
KINDS: Final[Mapping[str, NoticeKind]] = {
    "slice.preempted": NoticeKind.PREEMPTED,
    "slice.vanished": NoticeKind.PREEMPTED,
    "job.preempted": NoticeKind.PREEMPTED,
    "slice.ready": NoticeKind.RECOVERED,
    "job.failed": NoticeKind.FAILED,
    "task.given_up": NoticeKind.FAILED,
    "job.done": NoticeKind.FINISHED,
    "task.succeeded": NoticeKind.FINISHED,
    "job.prefix_fail": NoticeKind.PREFIX_FAILED,
    "job.stuck": NoticeKind.STUCK,
    "hosts.silent": NoticeKind.UNREACHABLE,
    "slice.reaped": NoticeKind.REAPED,
}
#: Each begins a trouble of its job, which lasts until a slice is ready or the job ends.
_BEGIN: Final = frozenset({"slice.preempted", "slice.vanished", "hosts.silent", "job.stuck"})
#: Each goes on with the trouble that its job has, and is its end.
_END: Final = frozenset({"slice.ready", "job.preempted"})
#: Each is the end of it, and a matter of its own.
_OVER: Final = frozenset(
    {"job.started", "job.stopped", "job.cancelled", "job.deleted"}
    | {"job.done", "job.failed", "job.prefix_fail"}
)


@attrs.frozen
class Facts:
    """What a notice takes besides its event."""

    #: Whose event it is; None: nobody's, or it is not known any more.
    job: Job | None = None
    #: What the event's queue says; None: nothing.
    queue: NotifyRule | None = None
    #: What the lab says; None: nothing.
    lab: NotifyRule | None = None


def about_of(event: Event, troubles: dict[str, str]) -> str | None:
    """Say what an event is about, and keep the book on what it begins or ends.

    Args:
        event: the next one of its home.
        troubles: by job, what those are about that are under way.

    Returns:
        None where it ends a trouble that nobody was told of.
    """
    alone = " ".join(filter(None, ("job", event.job, "event", str(event.id))))
    job = event.job
    if job is None:
        return alone
    if event.kind in _BEGIN:
        troubles[job] = alone
    elif event.kind in _END:
        # A first slice that is ready is no news; the end of a job is.
        return troubles.pop(job, None if event.kind == "slice.ready" else alone)
    elif event.kind in _OVER:
        troubles.pop(job, None)
    return alone


def notice_of(event: Event, about: str, facts: Facts) -> Notice | None:
    """Give what people are told; None: nobody wants to hear of it."""
    kind, rule = KINDS[event.kind], _rule(event, facts)
    if rule.to is Audience.NOBODY or kind not in rule.of:
        return None
    user = facts.job.user if facts.job else None
    return Notice(
        event=event.id,
        at=event.at,
        kind=kind,
        about=about,
        text=_text(event, facts.job),
        # What nobody owns is for all to see.
        to=rule.to if user else Audience.CHANNEL,
        user=user,
        job=event.job,
        queue=event.queue,
        task=event.task,
    )


def _rule(event: Event, facts: Facts) -> NotifyRule:
    """Ask the nearest that says something: of a task its queue, then its job, then the lab."""
    queue = facts.queue if event.task is not None else None
    job = facts.job.notify if facts.job else None
    return queue or job or facts.lab or USUAL


def _text(event: Event, job: Job | None) -> str:
    """Name the job, which most events of one leave to their place in its story."""
    if job is None or event.task is not None or event.kind == "slice.reaped":
        return event.text
    name = job.base_name if job.name.endswith(job.id) else job.name
    begins = f"job {job.id} "
    if event.text.startswith(begins):
        return f"{begins}({name}) {event.text.removeprefix(begins)}"
    return f"{begins}({name}): {event.text}"
