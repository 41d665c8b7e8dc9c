"""``jobman reboot``: start jobs afresh on the slices that they have."""

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman reboot 000001
$ jobman reboot 000001 000002
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reboot", epilog=_EXAMPLES)(reboot)


def reboot(
    ctx: typer.Context,
    jobs: arguments.Jobs,
    force: arguments.Force = False,
    force_prefix: arguments.ForcePrefix = False,
) -> None:
    """Stop jobs and start them afresh, on the slices that they have."""
    front = front_of(ctx)
    arguments.note_force(front, force=force, force_prefix=force_prefix)
    several.on_each(
        front,
        jobs,
        lambda app, job: app.reboot(job, force=force, force_prefix=force_prefix),
        "rebooting",
    )
