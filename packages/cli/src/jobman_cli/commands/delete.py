"""``jobman delete``: stop jobs, give their slices back, and forget all but the record."""

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman delete 000001
$ jobman delete 1 2 3 --yes
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("delete", epilog=_EXAMPLES)(delete)


def delete(ctx: typer.Context, jobs: arguments.Jobs, yes: arguments.Yes = False) -> None:
    """Stop jobs, give their slices back, take them off the list.

    Their records stay for reports, and `jobman list --all` shows them; their logs stay too.
    """
    several.on_each(
        front_of(ctx),
        jobs,
        lambda app, job: app.delete(job),
        "deleting",
        question=None if yes else "stop and give back {}?".format,
    )
