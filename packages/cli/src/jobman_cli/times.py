"""Moments as people write them on a command line."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_SPAN: Final = re.compile(r"(\d{1,6})([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")


def moment(text: str, now: datetime, option: str, *, whole: bool = False) -> datetime:
    """Read a moment: ``7d`` ago, a day like ``2025-03-01``, or one with a time of day.

    Args:
        text: what was written.
        now: in the zone that people of the home read times in.
        option: that it was written for.
        whole: a day stands for its end, else for its beginning.

    Raises:
        InvalidInputError: it is none.
    """
    try:
        if span := _SPAN.fullmatch(text.strip()):
            ago = timedelta(**{_UNITS[span[2]]: int(span[1])})
            # Hours are hours, on the day as well on which clocks are put; a day is one of any.
            of_clock = span[2] in "mh"
            return (now.astimezone(UTC) - ago).astimezone(now.tzinfo) if of_clock else now - ago
        found = datetime.fromisoformat(text.strip())
        if whole and _DAY.fullmatch(text.strip()):
            found += timedelta(days=1)
        return _in_zone(found, now)
    except (ValueError, OverflowError) as error:
        from jobman_core.errors import InvalidInputError

        ways = "write 12h, 7d, a day like 2025-03-01, or 2025-03-01T14:30"
        msg = f"{option} {text!r} is no moment: {ways}"
        raise InvalidInputError(msg) from error


def between(since: str, until: str | None, now: datetime) -> tuple[datetime, datetime]:
    """Read from when to when, by ``--since`` and ``--until``; without the latter, to now.

    Raises:
        InvalidInputError: one of them is no moment.
    """
    first = moment(since, now, "--since")
    return first, moment(until, now, "--until", whole=True) if until else now


def spoken(since: datetime, until: datetime, now: datetime) -> str:
    """Say from when to when."""
    end = "now" if until >= now else f"{until:%Y-%m-%d %H:%M}"
    return f"from {since:%Y-%m-%d %H:%M} to {end}"


def _in_zone(found: datetime, now: datetime) -> datetime:
    """Take a time without a zone for one of the home's; where it has none, for the machine's."""
    if found.tzinfo is not None:
        return found.astimezone(now.tzinfo)
    from zoneinfo import ZoneInfo

    if isinstance(now.tzinfo, ZoneInfo):
        return found.replace(tzinfo=now.tzinfo)
    return found.astimezone()
