"""``jobman show``: all about one job."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

import typer

from jobman_cli import arguments, documents, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from jobman_core.models.attempt import Attempt
    from jobman_core.models.slice import Slice
    from jobman_core.models.view import HostView, JobDetail

_EXAMPLES = """
$ jobman show 000001
$ jobman show 1 --json
"""
#: So many of the newest attempts and events are shown; ``--json`` has all attempts, and as many
#: of the newest events as the core gives.
_NEWEST: Final = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show", epilog=_EXAMPLES)(show)


def show(ctx: typer.Context, job: arguments.Job) -> None:
    """Show all about a job, and why it is in its status.

    Settings, slice, hosts, attempts, and a timeline of what happened.
    """
    front = front_of(ctx)
    detail = front.run(lambda app: app.show(job))
    if front.json:
        front.document(documents.detail(detail))
    else:
        front.say(*_lines(front, detail))


def _lines(front: Front, detail: "JobDetail") -> list[str]:
    view, now, paint = detail.job, front.now(), front.paint
    status = output.status_cell(str(view.status))
    head = f"{paint(view.id, 'bold')}  {paint(output.clean(view.name), 'bold')}"
    lines = [f"{head}  {paint(status.text, status.colour)}"]
    if view.reason:
        lines += ["  " + line for line in output.wrap(output.clean(view.reason), front.room or 999)]
    settings = [
        ("owner", view.user),
        ("created", output.moment(view.submitted, now)),
        ("wanted", str(view.desired)),
        ("controller", str(view.controller)),
        ("slices lost", str(view.recoveries)),
        *(pair for pair in detail.settings.items() if pair[0] not in ("wanted", "submitted")),
        ("folder", str(detail.folder)),
    ]
    lines += _section(front, "Settings", output.facts(settings, front.room))
    if detail.slice:
        lines += _section(front, "Slice", output.facts(_slice(detail.slice, now), front.room))
    lines += _section(front, "Hosts", [_host(host) for host in detail.hosts])
    lines += _attempts(front, detail, now)
    return lines + _events(front, detail, now)


def _section(front: Front, title: str, lines: list[str]) -> list[str]:
    return ["", front.paint(title, "bold"), *lines] if lines else []


def _slice(found: "Slice", now: datetime) -> list[tuple[str, str]]:
    state = found.state
    if found.gone_at:
        state = f"gone since {output.moment(found.gone_at, now)}"
    elif found.withdrawn:
        state += ", being given back"
    elif found.costs and found.ready_at:
        held = output.span((now - found.ready_at).total_seconds())
        state += f" for {held}, and costs while it stands"
    pairs = [
        ("name", found.identity.name),
        ("state", state),
        ("place", f"{found.request.accelerator} in {found.request.zone}, {found.request.pricing}"),
        ("detail", found.detail),
    ]
    return [pair for pair in pairs if pair[1]]


def _host(host: "HostView") -> str:
    words = {True: "answers", False: "does not answer", None: ""}[host.reachable]
    return f"  {host.index}  {output.clean(host.ip or output.NOTHING)}  {words}".rstrip()


def _attempts(front: Front, detail: "JobDetail", now: datetime) -> list[str]:
    table = output.Table("RUN", "WHAT", "STARTED", "LASTED", "OUTCOME", "CAUSE", shrink=("WHAT",))
    for one in detail.attempts[-_NEWEST:]:
        started = one.started_at or one.claimed_at
        table.add(
            str(one.number),
            f"task {one.task}" if one.task else "command",
            output.moment(started, now),
            output.span(((one.ended_at or now) - started).total_seconds()),
            output.status_cell(str(one.outcome.kind) if one.outcome else "running"),
            cause(one),
        )
    lines = table.lines(front.room, front.paint, "  ") if detail.attempts else []
    return _section(front, _newest("Attempts", len(detail.attempts)), lines)


def cause(one: "Attempt") -> str:
    """Say why an attempt ended."""
    if one.outcome is None:
        return f"is being ended: {one.end_cause}" if one.end_cause else ""
    return one.outcome.detail or str(one.outcome.cause)


def _events(front: Front, detail: "JobDetail", now: datetime) -> list[str]:
    table = output.Table("TIME", "EVENT", "WHAT")
    for one in detail.events[-_NEWEST:]:
        table.add(output.moment(one.at, now), one.kind, one.text)
    # Times and texts need no heads.
    lines = table.lines(front.room, front.paint, "  ")[1:] if detail.events else []
    return _section(front, _newest("Timeline", len(detail.events)), lines)


def _newest(title: str, number: int) -> str:
    return f"{title} (the last {_NEWEST} of {number})" if number > _NEWEST else title
