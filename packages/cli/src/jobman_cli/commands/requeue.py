"""``jobman requeue``: let a queue worker put its task back and take another."""

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman requeue 000001
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("requeue", epilog=_EXAMPLES)(requeue)


def requeue(ctx: typer.Context, jobs: arguments.Jobs) -> None:
    """Put a queue worker's task back, and let it take another.

    The task ends as interrupted, which does not count as a failure.
    """
    several.on_each(front_of(ctx), jobs, lambda app, job: app.requeue(job), "requeueing")
