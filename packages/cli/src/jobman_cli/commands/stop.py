"""``jobman stop``: end what jobs run, and keep their slices."""

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman stop 000001
$ jobman stop 1 2 3
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stop", epilog=_EXAMPLES)(stop)


def stop(ctx: typer.Context, jobs: arguments.Jobs) -> None:
    """End what jobs run, on every host, and keep their slices.

    Returns when every host has confirmed the end. A slice that is kept still costs: `jobman delete`
    and `jobman cancel` give it back.
    """
    several.on_each(
        front_of(ctx),
        jobs,
        lambda app, job: app.stop(job),
        "waiting for all hosts to confirm the end of",
    )
