"""``jobman resume``: start the controllers of jobs."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

if TYPE_CHECKING:
    from jobman_core.app import App
    from jobman_core.models.view import Done

_EXAMPLES = """
$ jobman resume 000001 000002
$ jobman resume --all
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume", epilog=_EXAMPLES)(resume)


def resume(
    ctx: typer.Context,
    jobs: arguments.JobsOrNone = None,
    *,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Every job that should be running and has no controller."),
    ] = False,
    force: arguments.Force = False,
    force_prefix: arguments.ForcePrefix = False,
    reload: arguments.Reload = False,
    yes: arguments.Yes = False,
) -> None:
    """Start jobs again, or take up again what still runs.

    A program that went on without its controller is not disturbed: its job takes it up where it
    is. One whose controller runs is left alone.

    What was edited in a job's config.yaml counts from then on. With --reload it is replaced by the
    file that the job was created from; name and number stay. A slice that the file does not ask for
    any more is given back, after a question.
    """
    front = front_of(ctx)
    if bool(jobs) == everything:
        from jobman_core.errors import InvalidInputError

        msg = "resume what: give ids, or --all" if not jobs else "--all and ids: give one of them"
        raise InvalidInputError(msg)
    of_one = {"--reload": reload, "--force": force, "--force-prefix": force_prefix}
    if everything and any(of_one.values()):
        from jobman_core.errors import InvalidInputError

        option = next(name for name, given in of_one.items() if given)
        msg = f"{option} is for jobs that are named: give ids instead of --all"
        raise InvalidInputError(msg)
    agreed = yes or front.stdin.isatty()

    async def act(app: "App", job: str) -> "Done":
        if everything:
            # What one of these lacks may also be the end that somebody asked for.
            return await app.bring_back(job)
        return await app.resume(
            job, force=force, force_prefix=force_prefix, reload=reload, agreed=agreed
        )

    found = jobs or front.run(lambda app: app.unattended())
    if everything and not found:
        front.note("no job that should be running lacks its controller")
    several.on_each(
        front,
        found,
        act,
        "resuming",
        losses=None if yes or everything else lambda app, job: app.losses(job, reload=reload),
        report=everything or None,
    )
