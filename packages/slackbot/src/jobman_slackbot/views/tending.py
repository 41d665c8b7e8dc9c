"""What the bot did by itself for the slices of a lab: lines of markup."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from jobman_core.models.reap import Dead, Fate
from jobman_slackbot import text
from jobman_slackbot.views import words

_NAME: Final = 80
_LINE: Final = 300
#: Things of one fate that are named; of more there is the number.
_SHOWN: Final = 10

#: How a heading calls what becomes of things, and what people can do about it. Deletions are
#: events of the home, and come as notices; what is kept, or only seen, is no news.
_FATES: Final = {
    Fate.DUE: (
        ":test_tube: *Dry run*: {} would have been deleted; `reap: delete` in bot.yaml has it done"
    ),
    Fate.REFUSED: ":warning: {} could not be deleted, and may hold quota",
    Fate.REPORTED: (
        ":information_source: {} not made by this home: left alone; `keep` and `ignore` below "
        "`reap` in jobman.yaml say what is not to be told of"
    ),
}


def worth_telling(dead: Dead) -> bool:
    """Tell whether people are to hear of it."""
    return dead.fate in _FATES


def reaped(news: Sequence[Dead], now: datetime) -> list[str]:
    """Name dead things, by what becomes of them."""
    lines: list[str] = []
    for fate, heading in _FATES.items():
        alike = [dead for dead in news if dead.fate is fate]
        if not alike:
            continue
        lines.append(heading.format(words.count(len(alike), "dead thing")))
        lines += [f"• {_dead(dead, now)}" for dead in alike[:_SHOWN]]
        if len(alike) > _SHOWN:
            lines.append(f"and {len(alike) - _SHOWN:,} more: `/jobman reap` shows them")
    return lines


def kept(news: Sequence[str]) -> list[str]:
    """Say what was done to keep slices alive."""
    return [f":recycle: {text.mrkdwn(line, _LINE)}" for line in news]


def trouble(place: str, why: str) -> str:
    """Say that a place cannot be looked at."""
    shown = text.mrkdwn(place, _NAME)
    return f":warning: {shown} cannot be looked at, and nothing is done there: {_said(why)}"


def well(place: str, seconds: float) -> str:
    """Say that a place can be looked at again."""
    shown = text.mrkdwn(place, _NAME)
    return f":white_check_mark: {shown} can be looked at again, after {words.span(seconds)}"


def _dead(dead: Dead, now: datetime) -> str:
    owner = f" of {text.mrkdwn(dead.owner, _NAME)}" if dead.owner else ""
    since = words.span((now - dead.since).total_seconds())
    trouble = f": {_said(dead.trouble)}" if dead.trouble else ""
    return (
        f"{text.code(dead.name, _NAME)}{owner} in {text.mrkdwn(dead.zone, _NAME)}: "
        f"{text.mrkdwn(dead.why, _LINE)}, for {since}{trouble}"
    )


def _said(why: str) -> str:
    return text.mrkdwn(why, _LINE)
