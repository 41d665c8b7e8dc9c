"""``jobman cancel``: stop jobs and give their slices back."""

from typing import Annotated

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman cancel 000001
$ jobman cancel 1 2 3
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cancel", epilog=_EXAMPLES)(cancel)


def cancel(
    ctx: typer.Context,
    jobs: arguments.Jobs,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Accepted, and ignored: cancel never asks.")
    ] = False,
) -> None:
    """Stop jobs and give their slices back; they stay listed.

    Their status is CANCELLED. `jobman delete` takes them off the list as well.
    """
    del yes  # Jobs stay listed, and can be resumed: nothing is lost that needs a question.
    several.on_each(front_of(ctx), jobs, lambda app, job: app.cancel(job), "cancelling")
