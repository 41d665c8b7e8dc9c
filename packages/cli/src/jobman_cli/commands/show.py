"""``jobman show``: all about one job."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

import typer

from jobman_cli import arguments, attempts, documents, durations, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from jobman_core.models.slice import Slice
    from jobman_core.models.view import HostView, JobDetail

_EXAMPLES = """
$ jobman show 000001
$ jobman show 1 --json
"""
#: So many of the newest attempts and events are shown; ``--json`` has all attempts, and as many
#: of the newest events as the core gives.
_NEWEST: Final = 20
#: The colours of events by the end of their kind, as those of the statuses that they lead to.
_COLOURS: Final = {
    "ready": "green",
    "started": "green",
    "succeeded": "blue",
    "done": "blue",
    "failed": "red",
    "given_up": "red",
    "prefix_fail": "red",
    "died": "red",
    "no_capacity": "yellow",
    "refused": "yellow",
    "stuck": "yellow",
    "preempted": "magenta",
    "vanished": "magenta",
    "interrupted": "magenta",
}


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
        front.say(*lines(front, detail))


def lines(front: Front, detail: "JobDetail") -> list[str]:
    """Give all about a job as it is printed."""
    view, now, paint = detail.job, front.now(), front.paint
    status = output.status_cell(str(view.status))
    head = f"{paint(view.id, 'bold')}  {paint(output.clean(view.name), 'bold')}"
    lines = [f"{head}  {paint(status.text, status.colour)}"]
    if reason := durations.waiting(view.reason, view.next_try, now):
        lines += ["  " + line for line in output.wrap(output.clean(reason), front.room or 999)]
    lines += _section(front, "Times", output.facts(_times(detail, now), front.room))
    settings = [
        ("owner", view.user),
        ("wanted", str(view.desired)),
        ("controller", str(view.controller)),
        *(pair for pair in detail.settings.items() if pair[0] not in ("wanted", "submitted")),
        ("folder", str(detail.folder)),
    ]
    lines += _section(front, "Settings", output.facts(settings, front.room))
    if detail.slice:
        lines += _section(front, "Slice", output.facts(_slice(detail.slice, now), front.room))
    lines += _section(front, "Hosts", [_host(host) for host in detail.hosts])
    if detail.attempts:
        newest = attempts.by_task(front, detail.attempts[-_NEWEST:], now)
        lines += _section(front, _newest("Attempts", len(detail.attempts)), newest)
    return lines + _section(front, _newest("Timeline", len(detail.events)), _events(front, detail))


def _times(detail: "JobDetail", now: datetime) -> list[tuple[str, str]]:
    """Give how long all of it takes."""
    view = detail.job
    submitted = f"{output.moment(view.submitted, now)}, {durations.since(view.submitted, now)} ago"
    present = f", what runs now {durations.since(view.began, now)}" if view.began else ""
    done, tasks = view.progress or (0, 0)
    pairs = [
        ("submitted", submitted),
        (str(view.status), f"for {durations.since(view.since, now)}" if view.since else ""),
        ("ended", output.moment(view.ended, now) if view.ended else ""),
        ("total", durations.total(view, now)),
        ("programs ran", durations.ran(view, now) + present),
        ("prepared", _prepared(detail, now)),
        ("slices lost", str(view.recoveries)),
        ("its queue", f"{done} of {output.count(tasks, 'task')} done" if view.progress else ""),
    ]
    return [pair for pair in pairs if pair[1]]


def _prepared(detail: "JobDetail", now: datetime) -> str:
    """Say how long it took to prepare the hosts of the present slice; empty: nobody knows."""
    slice_ = detail.slice
    if slice_ is None or slice_.ready_at is None:
        return ""
    if detail.job.status == "PREPARING":
        return f"for {durations.since(slice_.ready_at, now)} until now"
    begun = [one.claimed_at for one in detail.attempts if one.generation == slice_.generation]
    return f"in {durations.since(slice_.ready_at, begun[0])}" if begun else ""


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


def _events(front: Front, detail: "JobDetail") -> list[str]:
    """Give what happened, with the time that passed before each."""
    if not detail.events:
        return []
    now, newest = front.now(), detail.events[-_NEWEST:]
    table = output.Table("TIME", "AFTER", "EVENT", "WHAT", right=("TIME", "AFTER"))
    before = [None, *(one.at for one in newest)]
    for one, last in zip(newest, before, strict=False):
        gap = "" if last is None else f"+{output.span((one.at - last).total_seconds())}"
        kind = output.Cell(one.kind, _COLOURS.get(one.kind.rpartition(".")[2], ""))
        table.add(output.moment(one.at, now), gap, kind, one.text)
    # Times and texts need no heads.
    return table.lines(front.room, front.paint, "  ")[1:]


def _newest(title: str, number: int) -> str:
    return f"{title} (the newest {_NEWEST}; --json has more)" if number > _NEWEST else title
