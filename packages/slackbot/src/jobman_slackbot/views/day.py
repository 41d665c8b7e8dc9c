"""The day: what was used, what went well and what did not, and what costs for nothing."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final

from jobman_core.models.usage import Day, IdleSlice, Share, Usage
from jobman_slackbot import blocks, text
from jobman_slackbot.blocks import Block, View
from jobman_slackbot.views import reports, words

_NOTHING: Final = "nothing ran, and nothing costs"
_NAME: Final = 64
_LINE: Final = 200
#: Lines of one sort that are shown; of more there is the number.
_LINES: Final = 8
#: Days that are shown, a line each, after an outage; those before are in the total.
_DAYS: Final = 31


def day(found: Day, now: datetime) -> View:
    """Give one day; of one on which nothing was, a line.

    Args:
        found: the day.
        now: when it is read.
    """
    title = f"*{_date(found.day)}*"
    if found.empty:
        return View(f"{title}: {_NOTHING}")
    told = f"{title}: {_summary(found.users.total, found.users)}"
    shown = [
        blocks.section(told),
        *reports.shares(found.users),
        *_types(found.accelerators),
        *_reaped(found.reaped),
        *_idle(found.idle, found.users.prices.currency, now),
        reports.small(reports.remarks(found.users)),
    ]
    return View(told, tuple(shown))


def missed(days: Sequence[Day], whole: Usage, now: datetime) -> View:
    """Give several days that nobody told of when they were over, a line each.

    Args:
        days: these, oldest first.
        whole: what was used in all of them.
        now: when it is read.
    """
    first, last = days[0], days[-1]
    title = f"*{len(days)} days, {_date(first.day)} to {_date(last.day)}*, told late"
    if all(one.empty for one in days):
        return View(f"{title}: {_NOTHING}")
    total = f"{title}: {_summary(whole.total, whole)}"
    lines = [f"• {_date(one.day)}: {_brief(one)}" for one in days[-_DAYS:]]
    before = len(days) - len(lines)
    if before:
        lines.insert(0, f"{words.count(before, 'day')} before these are in the total")
    shown = [
        blocks.section(total),
        *blocks.sections(lines),
        *reports.shares(whole),
        *_reaped([line for one in days for line in one.reaped]),
        *_idle(last.idle, whole.prices.currency, now),
        reports.small(reports.remarks(whole)),
    ]
    return View(total, tuple(shown))


def _summary(total: Share, usage: Usage) -> str:
    """Say what a time came to."""
    said = [_hours(total, usage)]
    if total.hours:
        parts = [("preparing", total.preparing), ("idle", total.idle)]
        said += [f"{part / total.hours:.0%} {name}" for name, part in parts]
    if total.waiting:
        said.append(f"{words.hours(total.waiting)} more were waited for")
    return "; ".join([*said, *_ends(total)])


def _brief(one: Day) -> str:
    """Say in a line how a day went."""
    if one.empty:
        return "nothing"
    total = one.users.total
    reaped = [f"{len(one.reaped):,} reaped"] if one.reaped else []
    return "; ".join([_hours(total, one.users), *_ends(total), *reaped])


def _hours(total: Share, usage: Usage) -> str:
    said = f"{words.hours(total.hours)} chip-hours"
    if total.hours:
        cost = _money(total.cost, usage.prices.currency)
        said += f", {words.share(total.goodput)} of them ran"
        said += f", about {cost}" if total.cost is not None else ""
    return said


def _ends(total: Share) -> list[str]:
    said = [f"{total.finished:,} finished, {total.failed:,} failed for good"]
    if total.preemptions:
        said.append(words.count(total.preemptions, "preemption"))
    return said


def _types(usage: Usage) -> list[Block]:
    """Give the hours of each type of accelerator."""
    said = [
        f"{text.mrkdwn(share.name, _NAME)} {words.hours(share.hours)}" for share in usage.shares
    ]
    return [blocks.section(f"*By type*: {words.joined(said)}")] if said else []


def _reaped(lines: Sequence[str]) -> list[Block]:
    shown = [text.mrkdwn(line, _LINE) for line in lines]
    return _listed(f"*Reaped*: {len(lines):,}", shown)


def _idle(idle: Sequence[IdleSlice], currency: str, now: datetime) -> list[Block]:
    """Name the slices on which nothing runs now, the dearest first."""
    known = [one.cost_per_hour for one in idle if one.cost_per_hour is not None]
    about = "about" if len(known) == len(idle) else "at least"
    costs = f", {about} {_money(sum(known), currency)} an hour" if known else ""
    title = f":money_with_wings: *Idle now*: {words.count(len(idle), 'slice')}{costs}"
    dearest = sorted(idle, key=lambda one: -(one.cost_per_hour or 0.0))
    return _listed(title, [_idle_line(one, currency, now) for one in dearest])


def _idle_line(one: IdleSlice, currency: str, now: datetime) -> str:
    name, user = text.mrkdwn(one.name, _NAME), text.mrkdwn(one.user, _NAME)
    place = f"{text.mrkdwn(one.accelerator, _NAME)} in {text.mrkdwn(one.zone, _NAME)}"
    since = words.span((now - one.since).total_seconds())
    cost = one.cost_per_hour
    costs = "" if cost is None else f", {_money(cost, currency)} an hour"
    return f"{text.code(one.job, _NAME)} {name} ({user}), {place}: for {since}{costs}"


def _listed(title: str, lines: Sequence[str]) -> list[Block]:
    if not lines:
        return []
    more = [f"and {len(lines) - _LINES:,} more"] if len(lines) > _LINES else []
    return blocks.sections([title, *(f"• {line}" for line in lines[:_LINES]), *more])


def _date(day: date) -> str:
    return f"{day:%a} {day.day} {day:%b %Y}"


def _money(cost: float | None, currency: str) -> str:
    return text.mrkdwn(words.money(cost, currency), _NAME)
