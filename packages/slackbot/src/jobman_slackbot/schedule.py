"""When the day is told, and of which days: pure, given the time that it is."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import attrs

_DAY = timedelta(days=1)
#: By so many days the last one told can be ahead when people move to a zone further west.
_AHEAD = 2
#: Of more days nobody is told at once: a clock that was decades behind may have written the last.
_MOST = 92


@attrs.frozen
class Daily:
    """A time of day at which the day before is told."""

    at: time
    #: None: the machine's.
    zone: ZoneInfo | None = None

    def due_at(self, day: date) -> datetime:
        """Say when a day is told: at the set time of the day after it, in UTC.

        A time that comes twice, when clocks are put back, is taken the first time; one that is
        left out, when they are put forward, is as long after midnight as it would have been.
        """
        return datetime.combine(day + _DAY, self.at, self.zone).astimezone(UTC)

    def newest(self, now: datetime) -> date:
        """Give the newest day that is due; never an older one than for an earlier moment."""
        day = now.astimezone(self.zone).date() + _DAY
        while self.due_at(day) > now:
            day -= _DAY
        return day

    def settled(self, last: date | None, now: datetime) -> date:
        """Give the newest day of which nothing more is told.

        Args:
            last: what was remembered of it; None: nothing was told ever, and nothing is told of
                the past. One far ahead was written by a clock that was wrong, and counts no more.
            now: the moment.
        """
        newest = self.newest(now)
        if last is None or last > newest + _AHEAD * _DAY:
            return newest
        return last

    def due(self, last: date, now: datetime) -> Sequence[date]:
        """Give the days that are to be told now, oldest first: more than one after an outage.

        Of a longer one than a quarter of a year, the newest.
        """
        newest = self.newest(now)
        missed = min((newest - last).days, _MOST)
        return [newest - count * _DAY for count in reversed(range(missed))]
