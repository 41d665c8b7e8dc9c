"""``jobman reboot``: start jobs afresh on the slices that they have."""

import typer

from jobman_cli import arguments, several
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman reboot 000001
$ jobman reboot 000001 000002
$ jobman reboot 000001 --reload
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reboot", epilog=_EXAMPLES)(reboot)


def reboot(
    ctx: typer.Context,
    jobs: arguments.Jobs,
    *,
    force: arguments.Force = False,
    force_prefix: arguments.ForcePrefix = False,
    reload: arguments.Reload = False,
    yes: arguments.Yes = False,
) -> None:
    """Stop jobs and start them afresh, on the slices that they have.

    What was edited in a job's config.yaml counts from then on, and is checked before anything is
    ended. With --reload it is replaced by the file that the job was created from; name and number
    stay. A slice that the file does not ask for any more is given back, after a question.
    """
    front = front_of(ctx)
    agreed = yes or front.stdin.isatty()
    several.on_each(
        front,
        jobs,
        lambda app, job: app.reboot(
            job, force=force, force_prefix=force_prefix, reload=reload, agreed=agreed
        ),
        "rebooting",
        losses=None if yes else lambda app, job: app.losses(job, reload=reload),
    )
