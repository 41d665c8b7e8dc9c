"""``jobman clean``: delete jobs, and their folders as well."""

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman clean 000001
$ jobman clean 1 2 3 --yes
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("clean", epilog=_EXAMPLES)(clean)


def clean(ctx: typer.Context, jobs: arguments.Jobs, yes: arguments.Yes = False) -> None:
    """Delete jobs, and remove their folders with their logs.

    Logs of tasks stay: they belong to the queue.
    """
    several.on_each(
        front_of(ctx),
        jobs,
        lambda app, job: app.clean(job),
        "cleaning",
        question=None if yes else "give back, and remove with all its logs, {}?".format,
    )
