"""``jobman create``: check a job file, record the job, start it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import documents, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from jobman_core.app import App
    from jobman_core.models.view import Created, Plan

_EXAMPLES = """
$ jobman create job.yaml
$ jobman create worker.yaml --count 4
$ jobman create job.yaml --dry-run
$ id=$(jobman create -q job.yaml)
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("create", epilog=_EXAMPLES)(create)


def create(
    ctx: typer.Context,
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="The job file.")],
    *,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Only show what would be asked of the cloud and run."),
    ] = False,
    no_start: Annotated[
        bool, typer.Option("--no-start", help="Record the job, and leave the start to `resume`.")
    ] = False,
    count: Annotated[
        int | None,
        typer.Option("--count", metavar="N", help="Create so many alike, instead of one."),
    ] = None,
    force_region: Annotated[
        bool,
        typer.Option(
            "--force-region", help="Go on with buckets that are far away, missing or forbidden."
        ),
    ] = False,
) -> None:
    """Create a job from a file, and start it.

    The id is all that is printed on standard output. All faults of a file are shown at once, and
    then nothing is created.
    """
    front = front_of(ctx)
    if count is not None and count < 1:
        from jobman_core.errors import InvalidInputError

        msg = f"--count {count}: create at least 1 job"
        raise InvalidInputError(msg)
    waived = ("--force-region",) if force_region else ()
    if dry_run:
        plan = front.run(lambda app: app.plan(config, waived=waived))
        _show_plan(front, plan, 1 if count is None else count)
        return

    async def body(app: "App") -> "list[Created]":
        many = 1 if count is None else count
        return await app.create(config, count=many, start=not no_start, waived=waived)

    made = front.run(body, make=True)
    for note in dict.fromkeys(note for one in made for note in one.notes):
        front.note(f"note: {output.clean(note)}")
    if front.json:
        found = [documents.created(one) for one in made]
        front.document(found if count is not None else found[0])
    else:
        front.say(*(one.job.id for one in made))
    _tell_what_next(front, made, started=not no_start)


def _tell_what_next(front: Front, made: "list[Created]", *, started: bool) -> None:
    ids = " ".join(one.job.id for one in made)
    if not started:
        front.note(f"not started: `jobman resume {ids}` does that")
    elif len(made) > 1:
        front.note("see them with `jobman list`")
    else:
        front.note(f"`jobman logs -f {ids}` follows it, `jobman show {ids}` has all about it")


def _show_plan(front: Front, plan: "Plan", count: int) -> None:
    for note in plan.notes:
        front.note(f"note: {output.clean(note)}")
    if front.json:
        front.document(documents.plan(plan))
        return
    times = f", {count} times, each:" if count > 1 else ""
    front.say(front.paint(output.clean(plan.name), "bold") + times, "", "on the cloud:")
    front.say(*(f"  {output.clean(line)}" for line in plan.cloud))
    for title, hosts, script in plan.steps:
        on = f", on {output.clean(hosts)}:" if hosts else ""
        front.say("", f"{output.clean(title)}{on}")
        front.say(*(f"  {output.clean(line)}" for line in script.expandtabs().splitlines()))
    front.note("", "nothing was created: this was a dry run")
