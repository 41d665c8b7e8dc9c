"""Reports: what was used, what the accounts hold, what is dead."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from jobman_core.models.quota import Quota
from jobman_core.models.reap import Dead, Fate, Reaped
from jobman_core.models.usage import Share, Usage
from jobman_slackbot import blocks, text
from jobman_slackbot.blocks import Block, Column, View
from jobman_slackbot.views import words

_NAME: Final = 64
_NOTE: Final = 300
_NOTES: Final = 6
#: Called as by ``jobman usage``, and in its order.
_HOURS: Final = (
    Column("HOURS", 16, right=True),
    Column("RUN", 12, right=True),
    Column("PREP", 12, right=True),
    Column("IDLE", 12, right=True),
    Column("WAITED", 16, right=True),
    Column("LOST", 12, right=True),
    Column("DONE", 12, right=True),
    Column("FAILED", 12, right=True),
    Column("COST", 24, right=True),
)
_HOLDINGS: Final = (
    Column("FAMILY", 16),
    Column("PRICING", 16),
    Column("ZONE", 24),
    Column("PROJECT", 48),
    Column("READY", 12, right=True),
    Column("WAITING", 12, right=True),
    Column("DEAD", 12, right=True),
    Column("LIMIT", 12, right=True),
)
#: Called as by ``jobman reap``.
_DEAD: Final = (
    Column("NAME", _NAME),
    Column("ZONE", 24),
    Column("WHOSE", 48),
    Column("SINCE", 16, right=True),
    Column("FATE", 24),
    Column("WHY", 160, wrapped=True),
)
_FATES: Final = {
    Fate.NOTED: "noted",
    Fate.DUE: "would be deleted",
    Fate.DELETED: "deleted",
    Fate.REPORTED: "not ours",
    Fate.KEPT: "kept",
    Fate.REFUSED: "not deleted",
}


def usage(found: Usage, span: str, *, whose: str = "") -> View:
    """Give what was used.

    Args:
        found: the report.
        span: the time that it is of, like ``the last 24 hours``.
        whose: the user whose it is; empty: everybody's.
    """
    of = f" of {text.mrkdwn(whose, _NAME)}" if whose else ""
    title = f"*Usage{of}*, {span}"
    table = shares(found)
    if not table:
        return View(f"{title}: nothing was used", ())
    return View(title, (blocks.section(title), *table, small(remarks(found))))


def shares(found: Usage) -> list[Block]:
    """Give the lines of a report as a table, with their sum; of no lines there is none."""
    currency = found.prices.currency
    rows = [_share(share, currency) for share in found.shares]
    if len(rows) > 1:
        rows.append(("total", *_share(found.total, currency)[1:]))
    return _table((Column(found.by.upper(), _NAME), *_HOURS), rows)


def remarks(found: Usage) -> list[str]:
    """Say what the reader of a report should know, a line each."""
    day = f" of {found.prices.of}" if found.prices.of is not None else ""
    whose = "prices" if found.prices.source else "the lab's own prices"
    told = [f"costs are estimates, by {whose}{day}", *found.notes]
    if found.recovery is not None:
        told.insert(0, f"from the loss of a slice to the next start: {words.span(found.recovery)}")
    return told


def quota(found: Quota) -> View:
    """Give what the accounts hold, the fullest first; of what they may hold, that alone."""
    title = "*Chips held*, by family, pricing and zone"
    seen = [one for one in found.holdings if not one.trouble and (one.held or one.uncounted)]
    unseen = [one for one in found.holdings if one.trouble]
    if not seen and not unseen:
        return View("nothing is held, as far as this home knows")
    rows = [
        (
            one.family or text.NOTHING,
            one.pricing or text.NOTHING,
            one.zone,
            one.project,
            str(one.ready),
            str(one.waiting),
            str(one.dead),
            text.NOTHING if one.limit is None else f"{one.used}/{one.limit}",
        )
        for one in sorted(seen, key=lambda one: -one.held)
    ]
    told = [f"nothing is known of {one.zone or one.cloud}: {one.trouble}" for one in unseen]
    told += [
        f"{words.count(one.uncounted, 'slice')} of type {one.family} in {one.zone} not counted"
        for one in seen
        if one.uncounted
    ]
    told += [
        f"all {each.limit} {each.what} of {each.place} are in use"
        for _, _, each in found.others
        if each.is_reached
    ]
    if any(one.dead for one in seen):
        told.append("what is dead counts as well: `/jobman reap` shows it")
    table = _table(_HOLDINGS, rows) if rows else []
    return View(title, (blocks.section(title), *table, *([small(told)] if told else [])))


def reaped(found: Reaped, now: datetime, *, more: Sequence[Block] = ()) -> View:
    """Give what is dead and what becomes of it.

    Args:
        found: what the reaper saw and did.
        now: when it is read.
        more: what stands below: a button.
    """
    if found.found:
        fates = words.tally(_FATES[one.fate] for one in found.found)
        title = f"*{words.count(len(found.found), 'dead thing')}*: {fates}"
    elif found.looked or found.unseen:
        looked = words.joined(found.looked) or "what could be looked at"
        title = f"nothing is dead in {text.mrkdwn(looked, _NOTE)}"
    else:
        title = "no zone to look at: no job of this home has had a slice yet"
    shown = [blocks.section(title)]
    shown += _table(_DEAD, [_dead(one, now) for one in found.found])
    unseen = [
        f"{zone} could not be looked at, and nothing is done there: {why}"
        for zone, why in found.unseen
    ]
    if unseen:
        shown.append(small(unseen))
    return View(title, (*shown, *more))


def _share(share: Share, currency: str) -> tuple[str, ...]:
    parts = (share.running, share.preparing, share.idle)
    return (
        share.name,
        words.hours(share.hours),
        *(words.share(part / share.hours if share.hours else None) for part in parts),
        words.hours(share.waiting),
        str(share.preemptions),
        str(share.finished),
        str(share.failed),
        words.money(share.cost, currency),
    )


def _dead(one: Dead, now: datetime) -> tuple[str, ...]:
    whose = [one.owner or "", f"job {one.job}" if one.job else ""]
    return (
        one.name,
        one.zone,
        ", ".join(filter(None, whose)) or text.NOTHING,
        words.span((now - one.since).total_seconds()),
        _FATES[one.fate],
        _why(one, now),
    )


def _why(one: Dead, now: datetime) -> str:
    """Say why it is of no use, and what is to be known of its fate."""
    if one.trouble:
        return f"{one.why}; {one.trouble}"
    if one.due is None or not one.ours:
        return one.why
    left = max((one.due - now).total_seconds(), 0.0)
    return f"{one.why}; to be deleted after {words.span(left)} more"


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[Block]:
    """Give what has room of a table, the first rows, and say how many there are more."""
    tables = blocks.tables(columns, rows)
    more = len(rows) - sum(len(table["rows"]) - 1 for table in tables[:1])
    told = [blocks.context(f"{text.MORE} and {more:,} more")] if more else []
    return [*tables[:1], *told]


def small(lines: Sequence[str]) -> Block:
    """Give lines as small print, the first few of them."""
    shown = [text.mrkdwn(line, _NOTE) for line in lines[:_NOTES]]
    if len(lines) > _NOTES:
        shown.append(f"{text.MORE} and {len(lines) - _NOTES} more")
    return blocks.context("\n".join(shown))
