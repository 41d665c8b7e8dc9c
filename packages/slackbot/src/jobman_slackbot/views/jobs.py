"""Jobs: the list, and all about one."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from jobman_core.models.attempt import Attempt
from jobman_core.models.listing import JobView
from jobman_core.models.slice import Slice
from jobman_core.models.view import JobDetail
from jobman_slackbot import blocks, text
from jobman_slackbot.blocks import Block, Column, View
from jobman_slackbot.views import words
from jobman_slackbot.views.paging import Place, paged, summary

_LIST: Final = (
    Column("ID", 8),
    Column("USER", 24),
    Column("NAME", 48),
    Column("TYPE", 16),
    Column("ZONE", 24),
    Column("STATUS", 16),
    Column("WHAT", 120, wrapped=True),
)
_ATTEMPTS: Final = (
    Column("RUN", 8, right=True),
    Column("WHAT", 48),
    Column("STARTED", 16),
    Column("LASTED", 12, right=True),
    Column("OUTCOME", 16),
    Column("CAUSE", 120, wrapped=True),
)
#: So many of the newest attempts and events are shown.
_NEWEST: Final = 10
_REASON: Final = 1000
_FACT: Final = 120
_EVENT: Final = 200
_ZONES: Final = 12


def jobs(views: Sequence[JobView], place: Place) -> View:
    """Give the list of jobs, newest first."""
    rows = [
        (
            view.id,
            view.user,
            view.name,
            view.accelerator,
            view.zone,
            words.status(view.status),
            _what(view),
        )
        for view in reversed(views)
    ]
    title = summary(len(views), "job", (view.status for view in views))
    return paged(title, _LIST, rows, place, below=_cores(views))


def no_jobs(scope: str, *, deleted: bool) -> View:
    """Say that there are none.

    Args:
        scope: the list that was asked for.
        deleted: there are some that were deleted.
    """
    none = "no jobs of yours" if scope == "mine" else "no jobs"
    if deleted:
        return View(f"{none} but deleted ones: `/jobman list all` shows them")
    return View(f"{none}: `jobman create job.yaml` on the lab's machine makes one")


def job(detail: JobDetail, now: datetime, queue: str | None = None) -> View:
    """Give all about a job.

    Args:
        detail: the job.
        now: when it is read.
        queue: what people call the queue that it takes tasks from.
    """
    view = detail.job
    title = f"{text.code(view.id, 20)} {text.mrkdwn(view.name, _FACT)} is {view.status}"
    shown = [blocks.header(f"{view.id} {view.name}")]
    reason = f"{words.status(view.status)}  {view.reason}"
    shown += [blocks.paragraph(reason, _REASON), _facts(detail, now, queue)]
    if detail.attempts:
        rows = [_attempt(one, now) for one in reversed(detail.attempts[-_NEWEST:])]
        shown += [_newest("Attempts", len(detail.attempts))]
        shown += blocks.tables(_ATTEMPTS, rows)[:1]
    if detail.events:
        lines = [
            f"{words.moment(event.at)}  {text.mrkdwn(event.kind, 40)}  "
            f"{text.mrkdwn(event.text, _EVENT)}"
            for event in reversed(detail.events[-_NEWEST:])
        ]
        shown += [_newest("Timeline", len(detail.events)), *blocks.sections(lines)]
    return View(title, tuple(shown))


def cause(one: Attempt) -> str:
    """Say why an attempt ended."""
    if one.outcome is None:
        return f"is being ended: {one.end_cause}" if one.end_cause else ""
    return one.outcome.detail or one.outcome.cause


def _what(view: JobView) -> str:
    """Say what a job runs, or why it does not."""
    running = {None: "", "command": "its command"}.get(view.running, f"task {view.running}")
    # The reason of a running job begins with what it runs.
    return view.reason or running


def _cores(views: Sequence[JobView]) -> list[Block]:
    cores: Counter[str] = Counter()
    for view in views:
        cores[view.zone] += view.cores
    held = [f"{text.mrkdwn(zone, 40)} {number}" for zone, number in sorted(cores.items()) if number]
    if not held:
        return []
    total = f" ({sum(cores.values()):,} in all)" if len(held) > 1 else ""
    return [blocks.context(f"cores held: {words.joined(held, _ZONES)}{total}")]


def _facts(detail: JobDetail, now: datetime, queue: str | None) -> Block:
    view = detail.job
    facts = {
        "owner": view.user,
        "place": f"{view.accelerator} in {view.zone}",
        "wanted": view.desired,
        "controller": view.controller,
        "slices lost": f"{view.recoveries:,}",
    }
    if queue:
        facts["queue"] = queue
    pairs = [(label, text.mrkdwn(value, _FACT)) for label, value in facts.items()]
    pairs.append(("created", words.moment(view.submitted)))
    if detail.slice:
        pairs.append(("slice", _slice(detail.slice, now)))
    hosts = [f"{host.index}: {host.ip or text.NOTHING}" for host in detail.hosts]
    if hosts:
        pairs.append(("hosts", text.mrkdwn(words.joined(hosts, 4), _FACT)))
    return blocks.fields(pairs)


def _slice(found: Slice, now: datetime) -> str:
    state = text.mrkdwn(found.state, _FACT)
    if found.gone_at:
        state = f"gone since {words.moment(found.gone_at)}"
    elif found.withdrawn:
        state += ", being given back"
    elif found.costs and found.ready_at:
        held = words.span((now - found.ready_at).total_seconds())
        state += f" for {held}, and costs while it stands"
    detail = f" ({text.mrkdwn(found.detail, _FACT)})" if found.detail else ""
    return f"{text.code(found.identity.name, _FACT)} {state}{detail}"


def _attempt(one: Attempt, now: datetime) -> tuple[str, ...]:
    started = one.started_at or one.claimed_at
    return (
        str(one.number),
        f"task {one.task}" if one.task else "command",
        f"{words.span((now - started).total_seconds())} ago",
        words.span(((one.ended_at or now) - started).total_seconds()),
        words.status(one.outcome.kind if one.outcome else "running"),
        cause(one),
    )


def _newest(title: str, number: int) -> Block:
    more = f" (the last {_NEWEST} of {number:,})" if number > _NEWEST else ""
    return blocks.section(f"*{title}*{more}")
