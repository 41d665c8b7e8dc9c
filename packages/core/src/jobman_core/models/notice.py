"""Notices: what people are told of what happened, and who is told of what."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

import attrs


class NoticeKind(StrEnum):
    """What people want to hear of; everything else is for ``show`` and logs."""

    #: A job's slice was lost.
    PREEMPTED = "preempted"
    #: A job that had lost its slice has another.
    RECOVERED = "recovered"
    #: A job or a task failed for good.
    FAILED = "failed"
    #: A job or a task is done.
    FINISHED = "finished"
    #: A required prefix script failed.
    PREFIX_FAILED = "prefix_failed"
    #: A job has waited long for its slice.
    STUCK = "stuck"
    #: Hosts are silent under a slice that its cloud calls ready.
    UNREACHABLE = "unreachable"
    #: Something dead was deleted, or would have been.
    REAPED = "reaped"


class Audience(StrEnum):
    """Who is told."""

    CHANNEL = "channel"
    OWNER = "owner"
    NOBODY = "nobody"


@attrs.frozen
class NotifyRule:
    """Who is told of which notices: the ``notify`` of a job, a queue, a user or the lab."""

    to: Audience = Audience.CHANNEL
    of: tuple[NoticeKind, ...] = tuple(NoticeKind)

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Self:
        """Give a rule again that was kept as plain data."""
        return cls(Audience(data["to"]), tuple(map(NoticeKind, data["of"])))


#: What holds where nobody has said anything.
USUAL: Final = NotifyRule()


@attrs.frozen
class Notice:
    """One thing that people are told."""

    #: The event that it tells of; rises, and is never used again.
    event: int
    at: datetime
    kind: NoticeKind
    #: The same for all that is told of one thing, so that a message can be brought up to date
    #: instead of being repeated: ``job 000012 slice 3`` for a loss and what came of it.
    about: str
    #: One line for people.
    text: str
    to: Audience = Audience.CHANNEL
    #: The jobman user whose job or task it is.
    user: str | None = None
    job: str | None = None
    queue: str | None = None
    task: str | None = None
