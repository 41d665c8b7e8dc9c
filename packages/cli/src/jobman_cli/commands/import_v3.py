"""``jobman import-v3``: jobs, queues and logs of Jobman v3."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import documents, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from jobman_core.app import App
    from jobman_core.models.v3 import TakenOver

_EXAMPLES = """
$ jobman import-v3 ~/jobman --dry-run
$ jobman --home ~/lab import-v3 ~/jobman
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import-v3", epilog=_EXAMPLES)(import_v3)


def import_v3(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A checkout of v3, or its `jobs` folder.")
    ],
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be done.")
    ] = False,
) -> None:
    """Take over jobs, queues and logs of Jobman v3.

    Jobs come as stopped, with their ids where these are free; their TPUs stay as they are. DIR is
    only read, unless it is the home itself. What was taken over before is passed over. Ends with 1
    where something could not be taken over.
    """
    front = front_of(ctx)

    async def body(app: "App") -> "TakenOver":
        return await app.import_v3(folder, dry_run=dry_run)

    found = front.run(body, make=not dry_run)
    if front.json:
        front.document(documents.taken_over(found))
    else:
        _show(front, found)
    for note in found.notes:
        front.note(f"note: {output.clean(note)}")
    for problem in found.problems:
        front.warn(problem)
    if dry_run:
        front.note("nothing was written: this was a dry run")
    elif found.jobs:
        front.note("`jobman list` shows the jobs, and `jobman resume ID` starts one here")
    if found.problems:
        raise typer.Exit(1)


def _show(front: Front, found: "TakenOver") -> None:
    table = output.Table("V3", "ID", "USER", "NAME", shrink=("USER",))
    for job in found.jobs:
        table.add(job.old_id, job.id, job.user, job.name)
    if found.jobs:
        front.say(*table.lines(front.room, front.paint), "")
    front.say(*(f"queue {output.clean(str(path))}" for path in found.queues))
    sums = [output.count(len(found.jobs), "job"), output.count(len(found.queues), "queue")]
    sums.append(f"{output.count(found.files, 'log')} ({found.size / 1e6:.1f} MB)")
    known = f"; {found.known} taken over before" if found.known else ""
    front.say(f"{', '.join(sums)}{known}")
    if found.jobs:
        front.say("", "TPUs that v3 made may still be there, and cost. What is of no use any more:")
        front.say(*dict.fromkeys(f"  {output.clean(job.slice.remedy)}" for job in found.jobs))
