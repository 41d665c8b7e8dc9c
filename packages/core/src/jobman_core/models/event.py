"""Events: what happened, written in the transaction of the change that they tell of."""

from datetime import datetime

import attrs


@attrs.frozen
class Event:
    """One thing that happened. The store's events are the outbox that front ends read on from."""

    #: Rises; never used again.
    id: int
    at: datetime
    #: A dotted word, like ``slice.preempted`` or ``task.failed``.
    kind: str
    #: One line for people.
    text: str
    job: str | None = None
    queue: str | None = None
    task: str | None = None
