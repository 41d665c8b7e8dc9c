"""Times, spans and numbers as people read them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from jobman_slackbot import text

#: The one thing about a status that is seen from afar; the word is always beside it.
_DOTS: Final = {
    "RUNNING": "🟢",
    "IDLE": "🟡",
    "QUEUEING": "🟡",
    "PREPARING": "🟡",
    "PREEMPTED": "🟠",
    "RETRY": "🟠",
    "FAILED": "🔴",
    "PREFIX_FAIL": "🔴",
    "DEAD": "🔴",
    "BLOCKED": "🔴",
    "failed": "🔴",
    "DONE": "🔵",
    "succeeded": "🔵",
}


def status(word: str) -> str:
    """Give a status of a job, a task or an attempt as it stands in a table."""
    return f"{_DOTS.get(word, '⚪')} {word}"


def span(seconds: float) -> str:
    """Give a duration in the two units that matter."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    units = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    first = next((place for place, (number, _) in enumerate(units) if number), len(units) - 1)
    return " ".join(f"{number}{unit}" for number, unit in units[first : first + 2])


def moment(at: datetime) -> str:
    """Give a time in markup, which everybody reads in the zone of their own."""
    fallback = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"<!date^{int(at.timestamp())}^{{date_num}} {{time_secs}}|{fallback}>"


def count(number: int, noun: str) -> str:
    """Give a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def joined(words: Sequence[str], limit: int = 8) -> str:
    """Give words with commas between, and how many more there are."""
    more = len(words) - limit
    return ", ".join([*words[:limit], f"and {more} more"] if more > 0 else words)


def tally(statuses: Iterable[str]) -> str:
    """Say how many there are of each status, the most first."""
    counted = Counter(statuses).most_common()
    return ", ".join(f"{number:,} {word.lower()}" for word, number in counted)


def hours(number: float) -> str:
    """Give chip-hours."""
    return f"{number:,.1f}"


def share(part: float | None) -> str:
    """Give a part of a whole."""
    return text.NOTHING if part is None else f"{part:.0%}"


def money(cost: float | None, currency: str) -> str:
    """Give a cost; unknown is a dash."""
    return text.NOTHING if cost is None else f"{cost:,.2f} {currency}"
