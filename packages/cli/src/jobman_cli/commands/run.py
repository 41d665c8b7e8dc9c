"""``jobman run``: the controller, in the foreground."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import arguments, documents, output
from jobman_cli.commands.list import what
from jobman_cli.front import front_of

if TYPE_CHECKING:
    from jobman_core.app import App
    from jobman_core.models.listing import JobView

_EXAMPLES = """
$ jobman run 000001
$ jobman run 000001 --cmd-only
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", epilog=_EXAMPLES)(run)


def run(
    ctx: typer.Context,
    job: arguments.Job,
    force: arguments.Force = False,
    force_prefix: arguments.ForcePrefix = False,
    cmd_only: Annotated[
        bool,
        typer.Option("--cmd-only", help="Only the command, on the slice as it is: no set-up."),
    ] = False,
) -> None:
    """Drive a job here, in the foreground, until it ends.

    `create` and `resume` do the same in a session of its own. Ends with 0 for a job that is DONE.
    Ctrl-C ends the driving only: what runs on the hosts goes on, and `jobman resume` takes it up
    again.
    """
    front = front_of(ctx)
    if cmd_only and (force or force_prefix):
        from jobman_core.errors import InvalidInputError

        msg = "--cmd-only prepares nothing, and --force prepares anew: give one of them"
        raise InvalidInputError(msg)

    async def body(app: "App") -> "JobView":
        return await app.run(job, force=force, force_prefix=force_prefix, cmd_only=cmd_only)

    def echo(line: str) -> None:
        if front.json:
            front.note(output.clean(line))
        else:
            front.say(output.clean(line))
            front.stdout.flush()

    try:
        view = front.run(body, echo=echo)
    except KeyboardInterrupt:
        front.note(
            f"no longer driven, and what runs on its hosts goes on: `jobman resume {job}` takes it"
            f" up again, `jobman stop {job}` ends it"
        )
        raise
    if front.json:
        front.document(documents.job(view))
    else:
        status = output.status_cell(str(view.status))
        why = output.clean(what(view, front.now()))
        words = [view.id, front.paint(status.text, status.colour), why]
        front.say("  ".join(word for word in words if word))
    if view.status != "DONE":
        raise typer.Exit(1)
