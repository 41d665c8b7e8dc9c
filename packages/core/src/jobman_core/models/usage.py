"""What was used, and what it came to: from slices and attempts to chip-hours."""

from datetime import date, datetime
from typing import Final

import attrs

from jobman_core.models.event import Event
from jobman_core.models.outcome import OutcomeKind

#: The ways to split a report.
WAYS: Final = ("user", "accelerator", "job", "task", "day")


@attrs.frozen
class SliceLife:
    """One generation of a job's slice, with what reports need of its job."""

    job: str
    #: The job's name and owner.
    name: str
    user: str
    generation: int
    cloud: str
    accelerator: str
    zone: str
    pricing: str
    requested_at: datetime
    ready_at: datetime | None = None
    lost_at: datetime | None = None
    gone_at: datetime | None = None
    #: When its first attempt was claimed, ever; None: there was none.
    began_at: datetime | None = None
    #: Of one that was lost: when the job's next attempt on a later one started.
    resumed_at: datetime | None = None
    #: Its hosts are being prepared now.
    preparing: bool = False


@attrs.frozen
class Run:
    """One attempt, as far as reports need it."""

    job: str
    generation: int
    #: Of the job.
    name: str
    user: str
    accelerator: str
    claimed_at: datetime
    queue: str | None = None
    task: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: OutcomeKind | None = None
    #: With it its task, or its job's command, was done or had failed for good.
    final: bool = False


@attrs.frozen
class Used:
    """What the store knows of a span of time."""

    #: Those that were on the books at some moment of it.
    slices: tuple[SliceLife, ...] = ()
    #: Those that were live at some moment of it, oldest first.
    runs: tuple[Run, ...] = ()
    #: What was reaped in it, oldest first.
    reaped: tuple[Event, ...] = ()


@attrs.frozen
class Prices:
    """What a chip-hour costs, for estimates: a table that people edit."""

    #: The day that the table was put together; None: the lab does not say.
    of: date | None
    currency: str = "USD"
    #: Where the numbers come from, for people; empty: all of them are the lab's own.
    source: str = ""


@attrs.frozen
class Share:
    """One line of a usage report. Hours are chip-hours: hours times the slice's chips."""

    #: A user, an accelerator, a job, a task or a day; empty for the total.
    name: str
    #: What was paid for.
    hours: float = 0.0
    #: Of those: attempts ran, hosts were prepared, nothing ran.
    running: float = 0.0
    preparing: float = 0.0
    idle: float = 0.0
    #: What was asked for and not there yet; not paid for.
    waiting: float = 0.0
    #: An estimate; None: no price is known for some of it.
    cost: float | None = None
    preemptions: int = 0
    #: Tasks (and commands of jobs) that succeeded, and that failed for good.
    finished: int = 0
    failed: int = 0
    #: What people call it besides: a job's name, the tasks file of a task.
    note: str = ""

    @property
    def goodput(self) -> float | None:
        """What part of the paid hours ran attempts; None: nothing was paid for."""
        return self.running / self.hours if self.hours else None

    @property
    def empty(self) -> bool:
        """Tell whether there is nothing to tell of it."""
        counted = self.preemptions or self.finished or self.failed
        return not (self.hours or self.waiting or counted)


@attrs.frozen
class Usage:
    """What was used in a span of time, split one way."""

    since: datetime
    until: datetime
    #: ``user``, ``accelerator``, ``job``, ``task`` or ``day``.
    by: str
    #: The most hours first; days in their order.
    shares: tuple[Share, ...]
    total: Share
    prices: Prices
    #: Mean seconds from the loss of a slice to the next attempt's start; None: none was lost.
    recovery: float | None = None
    #: What the reader should know, a line each: a family without a price.
    notes: tuple[str, ...] = ()


@attrs.frozen
class IdleSlice:
    """A slice that costs, and on which nothing runs."""

    job: str
    user: str
    name: str
    accelerator: str
    zone: str
    #: Since when nothing runs there.
    since: datetime
    #: An estimate; None: no price is known.
    cost_per_hour: float | None = None


@attrs.frozen
class Day:
    """One day of a home, as it is told in the evening or the morning after."""

    day: date
    #: IANA name of the zone whose day it is.
    zone: str
    users: Usage
    accelerators: Usage
    #: Slices that stand idle now.
    idle: tuple[IdleSlice, ...] = ()
    #: What was reaped that day, a line each.
    reaped: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Tell whether there is nothing to tell of it."""
        return self.users.total.empty and not (self.idle or self.reaped)
