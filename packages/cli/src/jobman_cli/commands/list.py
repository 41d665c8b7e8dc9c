"""``jobman list``: every job with its status, and the cores that they hold."""

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import documents, durations, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.listing import JobView

_EXAMPLES = """
$ jobman list
$ jobman list --mine --refresh
$ jobman list --json | jq -r '.[] | select(.status == "FAILED") | .id'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list", epilog=_EXAMPLES)(list_jobs)


def list_jobs(
    ctx: typer.Context,
    mine: Annotated[bool, typer.Option("--mine", help="Only your own jobs.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Deleted jobs as well.")] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the cloud before telling what is known.")
    ] = False,
) -> None:
    """List jobs with their status, and the cores that they hold."""
    front = front_of(ctx)
    front.need_home()

    async def body(app: "App") -> "tuple[Sequence[JobView], str]":
        views = await app.list(mine=mine, deleted=everything, refresh=refresh)
        return views, "" if views else await _why_none(app, mine=mine, everything=everything)

    views, why_none = front.run(body)
    if front.json:
        front.document([documents.job(view) for view in views])
    elif views:
        front.say(*_lines(front, views))
    else:
        front.note(why_none)


async def _why_none(app: "App", *, mine: bool, everything: bool) -> str:
    """Say why the list is empty, and what there is to do."""
    none = "no jobs of yours" if mine else "no jobs"
    if not app.found:
        none = f"no jobman home in {output.clean(str(app.home))}"
    elif not everything and await app.list(mine=mine, deleted=True):
        return f"{none} but deleted ones: `jobman list --all` shows them"
    return f"{none}: `jobman create job.yaml` makes one, `jobman demo` shows how it works"


def what(view: "JobView", now: datetime) -> str:
    """Say what a job runs, or why it does not and when that is tried again."""
    running = {None: "", "command": "its command"}.get(view.running, f"task {view.running}")
    # The reason of a running job begins with what it runs.
    return durations.waiting(view.reason or running, view.next_try, now)


def _lines(front: Front, views: "Sequence[JobView]") -> "list[str]":
    now, order = front.now(), ("IP", "TOTAL", "RAN", "LOST", "DONE")
    table = output.Table(
        "ID",
        "USER",
        "NAME",
        "TYPE",
        "ZONE",
        "IP",
        "STATUS",
        "FOR",
        "TOTAL",
        "RAN",
        "LOST",
        "DONE",
        "WHAT",
        shrink=("USER", "NAME", "ZONE", "IP"),
        # `show` tells what is left out; a name says little that all jobs have in common.
        drop=("USER", *order) if len({view.user for view in views}) == 1 else (*order, "USER"),
        right=("FOR", "TOTAL", "RAN", "LOST", "DONE"),
    )
    for view in views:
        done, tasks = view.progress or (0, 0)
        table.add(
            view.id,
            view.user,
            view.name,
            view.accelerator,
            view.zone or output.NOTHING,
            view.ip or output.NOTHING,
            output.status_cell(str(view.status)),
            durations.since(view.since, now),
            durations.total(view, now),
            durations.ran(view, now),
            str(view.recoveries or output.NOTHING),
            f"{done}/{tasks}" if view.progress else output.NOTHING,
            what(view, now),
        )
    cores: Counter[str] = Counter()
    for view in views:
        cores[view.zone] += view.cores
    lines = table.lines(front.room, front.paint)
    held = {zone: number for zone, number in sorted(cores.items()) if number}
    if held:
        zones = ", ".join(f"{output.clean(zone)} {number}" for zone, number in held.items())
        total = f" ({sum(held.values())} in all)" if len(held) > 1 else ""
        lines += ["", f"cores held: {zones}{total}"]
    return lines
