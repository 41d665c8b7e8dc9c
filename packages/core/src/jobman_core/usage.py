"""What was used: from slices and attempts to chip-hours. Pure.

Every moment of a slice, from its request to its end, is one of four things:

* **waiting**: from the request to READY, or to its end where it never got there. Not paid for.
* **preparing**: from READY to the claim of its first attempt, and of each attempt from its claim
  to its start on the hosts (its code is checked out, it is launched).
* **running**: from an attempt's start to its end. Where two overlap, the moment is the first's.
* **idle**: all else from READY to the loss, or to the moment when it was seen to be gone.

The books do not say when hosts were ready. So a worker that was prepared and waited for its first
task counts as preparing until it got one, and a slice that never had an attempt counts as idle,
unless its job prepares it now: one that only holds, and one that was lost while it was prepared,
look alike. Nor do they say when the cloud began and stopped to count: what is paid for is what
jobman saw.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple

import attrs

from jobman_core.errors import InvalidInputError, instead
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.outcome import OutcomeKind
from jobman_core.models.slice import SliceRequest
from jobman_core.models.usage import WAYS, Run, Share, SliceLife, Usage, Used
from jobman_core.prices import Tariff
from jobman_core.queue.policy import kind_of

#: What of a report by task belongs to none.
NO_TASK: Final = "(no task)"

#: What a share is of: its name, and what people call it besides.
_Name = tuple[str, str]
_NOBODY: Final = ("", "")


class Part(StrEnum):
    """What a moment of a slice is."""

    WAITING = "waiting"
    PREPARING = "preparing"
    RUNNING = "running"
    IDLE = "idle"


class Stretch(NamedTuple):
    """A part of a slice's life; there is no gap and no overlap between those of one slice."""

    part: Part
    start: datetime
    end: datetime
    #: Whose part it is, where there was an attempt.
    run: Run | None = None


def life_of(slice_: SliceLife, runs: Iterable[Run], now: datetime) -> Iterator[Stretch]:
    """Give the parts of a slice's life until now, whatever a clock that jumped wrote down.

    Args:
        slice_: one generation.
        runs: attempts on it; those that are left out leave it idle.
        now: nothing is known of what comes later.
    """
    ends = (slice_.lost_at, slice_.gone_at, now)
    end = min(moment for moment in ends if moment is not None)
    ready = min(slice_.ready_at or end, end)
    yield from _stretch(Part.WAITING, slice_.requested_at, ready)
    if slice_.ready_at is None:
        return
    at = ready
    if slice_.began_at is not None:
        at = min(max(slice_.began_at, ready), end)
        yield from _stretch(Part.PREPARING, ready, at)
    elif slice_.preparing:
        yield from _stretch(Part.PREPARING, ready, end)
        return
    for run in sorted(runs, key=lambda run: run.claimed_at):
        over = min(run.ended_at or end, end)
        claimed = min(max(run.claimed_at, at), end)
        started = min(max(run.started_at or over, claimed), max(over, claimed))
        yield from _stretch(Part.IDLE, at, claimed)
        yield from _stretch(Part.PREPARING, claimed, started, run)
        yield from _stretch(Part.RUNNING, started, over, run)
        at = max(started, over)
    yield from _stretch(Part.IDLE, at, end)


def _stretch(
    part: Part, start: datetime, end: datetime, run: Run | None = None
) -> Iterator[Stretch]:
    if end > start:
        yield Stretch(part, start, end, run)


@attrs.define
class _Sum:
    """A share that is being added up."""

    parts: dict[Part, float] = attrs.field(factory=lambda: dict.fromkeys(Part, 0.0))
    cost: float = 0.0
    #: There are hours without a price.
    unpriced: bool = False
    preemptions: int = 0
    finished: int = 0
    failed: int = 0

    def share(self, name: _Name = _NOBODY) -> Share:
        """Give what it came to."""
        parts = self.parts
        return Share(
            name=name[0],
            hours=parts[Part.RUNNING] + parts[Part.PREPARING] + parts[Part.IDLE],
            running=parts[Part.RUNNING],
            preparing=parts[Part.PREPARING],
            idle=parts[Part.IDLE],
            waiting=parts[Part.WAITING],
            cost=None if self.unpriced else self.cost,
            preemptions=self.preemptions,
            finished=self.finished,
            failed=self.failed,
            note=name[1],
        )


def usage_of(
    used: Used,
    since: datetime,
    until: datetime,
    *,
    by: str,
    tariff: Tariff,
    now: datetime,
    zone: tzinfo | None = None,
) -> Usage:
    """Add up what was used in a span of time.

    Args:
        used: what the store knows of it; what lies outside is left out.
        since: the first moment.
        until: the first moment that is not part of it.
        by: one of :data:`WAYS`.
        tariff: what a chip-hour costs.
        now: where slices end that are there still.
        zone: whose days they are; None: this machine's.

    Raises:
        InvalidInputError: there is no such way to split it, or the span ends before it begins.
    """
    if by not in WAYS:
        raise InvalidInputError(f"a report by {by!r} is not known: {instead(by, WAYS)}")
    if until < since:
        raise InvalidInputError("a report ends before it begins: let --until come after --since")
    # Between two moments of one zone Python counts the hours on the wall.
    borders = (since.astimezone(UTC), until.astimezone(UTC))
    days = by == "day"
    book = _days_book(*borders, tariff, zone) if days else _Book(borders, tariff, _NAMES[by])
    for slice_, runs in _with_runs(used):
        book.add_slice(slice_, life_of(slice_, runs, now))
    for run in used.runs:
        book.add_end(run)
    shares = [found.share(name) for name, found in book.sums.items()]
    return Usage(
        since=since,
        until=until,
        by=by,
        shares=tuple(shares if days else sorted(shares, key=_rank)),
        total=book.total.share(),
        prices=tariff.prices,
        recovery=_recovery(used.slices, *borders),
        notes=tuple(sorted(book.notes)),
    )


def day_of(day: date, zone: tzinfo | None) -> tuple[datetime, datetime]:
    """Give the first moments of a day and of the next: 23, 24 or 25 hours in most zones.

    Args:
        day: of the calendar.
        zone: whose day it is; None: this machine's.
    """
    first, next_ = (datetime.combine(day + timedelta(days), time(), zone) for days in (0, 1))
    return first.astimezone(UTC), next_.astimezone(UTC)


def _with_runs(used: Used) -> Iterator[tuple[SliceLife, Sequence[Run]]]:
    """Give each slice with the attempts on it."""
    runs: dict[tuple[str, int], list[Run]] = {}
    for run in used.runs:
        runs.setdefault((run.job, run.generation), []).append(run)
    for slice_ in used.slices:
        yield slice_, runs.get((slice_.job, slice_.generation), ())


@attrs.define
class _Book:
    """Shares of a span of time that are being added up."""

    #: The first moment, those where a stretch is cut, and the first that is not part of it.
    borders: Sequence[datetime]
    tariff: Tariff
    #: Gives the share that a moment of something belongs to.
    name: Callable[[SliceLife | Run, Run | None, datetime], _Name]
    sums: defaultdict[_Name, _Sum] = attrs.field(factory=lambda: defaultdict(_Sum))
    total: _Sum = attrs.field(factory=_Sum)
    notes: set[str] = attrs.field(factory=set)

    def add_slice(self, slice_: SliceLife, life: Iterable[Stretch]) -> None:
        """Add what of a slice's life lies in the span."""
        chips, rate = chips_of(slice_.accelerator), _rate(slice_, self.tariff)
        if chips is None:
            chips = 1
            self.notes.add(f"{slice_.accelerator} is no TPU type that is known: counted as 1 chip")
        for stretch in life:
            paid = stretch.part is not Part.WAITING
            for start, end in self._pieces(stretch):
                hours = (end - start).total_seconds() / 3600 * chips
                for found in self._sums(self.name(slice_, stretch.run, start)):
                    found.parts[stretch.part] += hours
                    if paid:
                        found.unpriced |= rate is None
                        found.cost += hours * (rate or 0.0)
                if paid and rate is None:
                    self.notes.add(_without_price(slice_))
        lost = slice_.lost_at
        if slice_.ready_at is not None and lost is not None and self._holds(lost):
            for found in self._sums(self.name(slice_, None, lost)):
                found.preemptions += 1

    def _pieces(self, stretch: Stretch) -> Iterator[tuple[datetime, datetime]]:
        """Give what of a stretch lies between two borders each."""
        place = max(bisect_right(self.borders, stretch.start) - 1, 0)
        for first, last in pairwise(self.borders[place:]):
            start, end = max(stretch.start, first), min(stretch.end, last)
            if start >= end:
                return
            yield start, end

    def add_end(self, run: Run) -> None:
        """Count what a task or a command came to, if that was in the span."""
        ended = run.ended_at
        if not run.final or ended is None or not self._holds(ended):
            return
        for found in self._sums(self.name(run, run, ended)):
            found.finished += run.outcome is OutcomeKind.SUCCEEDED
            found.failed += run.outcome is OutcomeKind.FAILED

    def _holds(self, moment: datetime) -> bool:
        return self.borders[0] <= moment < self.borders[-1]

    def _sums(self, name: _Name) -> tuple[_Sum, _Sum]:
        return self.sums[name], self.total


def _days_book(since: datetime, until: datetime, tariff: Tariff, zone: tzinfo | None) -> _Book:
    """Give a book with a share for each day, also for those without anything."""
    borders = [since]
    while borders[-1] < until:
        _, next_ = day_of(borders[-1].astimezone(zone).date(), zone)
        borders.append(min(next_, until))
    names = [(start.astimezone(zone).date().isoformat(), "") for start in borders[:-1]]

    def name(_of: SliceLife | Run, _run: Run | None, at: datetime) -> _Name:
        return names[min(bisect_right(borders, at), len(names)) - 1]

    sums = defaultdict(_Sum, {name: _Sum() for name in names})
    return _Book(borders if names else (since, until), tariff, name, sums)


def chips_of(accelerator: str) -> int | None:
    """Say how many chips a type has; None: it is not known."""
    try:
        return Accelerator.parse(accelerator).chips
    except ValueError:
        return None


def hourly_cost(what: SliceRequest, tariff: Tariff) -> float | None:
    """Say what a slice costs for an hour; None: it is not known."""
    rate = _rate(what, tariff)
    return None if rate is None else rate * (chips_of(what.accelerator) or 1)


def _rate(what: SliceLife | SliceRequest, tariff: Tariff) -> float | None:
    return tariff.rate(what.cloud, _family(what.accelerator), what.zone, what.pricing)


def _family(accelerator: str) -> str:
    return kind_of(accelerator).partition("-")[0]


def _without_price(slice_: SliceLife) -> str:
    what = f"{_family(slice_.accelerator)}, {slice_.pricing}, in {slice_.zone}"
    return f"no price is known of {what}: write one into `prices` of jobman.yaml"


def _recovery(slices: Iterable[SliceLife], since: datetime, until: datetime) -> float | None:
    """Give the mean seconds from a loss in the span to the job's next attempt's start."""
    took = [
        max(0.0, (slice_.resumed_at - slice_.lost_at).total_seconds())
        for slice_ in slices
        if slice_.lost_at is not None and slice_.ready_at is not None
        if slice_.resumed_at is not None and since <= slice_.lost_at < until
    ]
    return sum(took) / len(took) if took else None


def _rank(share: Share) -> tuple[float, float, str, str]:
    return -share.hours, -share.waiting, share.name, share.note


def _task(of: SliceLife | Run, run: Run | None, _at: datetime) -> _Name:
    if run is None:
        return NO_TASK, ""
    return (run.task, run.queue or "") if run.task else (f"command of job {of.job}", of.name)


#: What shares are called, by the way of the split.
_NAMES: Final[Mapping[str, Callable[[SliceLife | Run, Run | None, datetime], _Name]]] = {
    "user": lambda of, _run, _at: (of.user, ""),
    "accelerator": lambda of, _run, _at: (kind_of(of.accelerator), ""),
    "job": lambda of, _run, _at: (of.job, of.name),
    "task": _task,
}
