"""``jobman ssh``: a shell, or a command, on a host of a job's slice."""

from typing import Annotated

import typer

from jobman_cli import arguments
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman ssh 000001
$ jobman ssh 000001 --worker 3
$ jobman ssh 000001 -- tail -n 50 train.log
$ jobman ssh 000001 -- sh -c 'ls *.log | wc -l'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ssh", epilog=_EXAMPLES)(ssh)


def ssh(
    ctx: typer.Context,
    job: arguments.Job,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="What to run there instead of a shell; its arguments arrive as they are.",
            show_default=False,
        ),
    ] = None,
    *,
    worker: Annotated[int, typer.Option(min=0, metavar="N", help="Which host.")] = 0,
) -> None:
    """Enter a host of a job's slice.

    It ends as the command did there, or with 255 where the host could not be reached. With --json
    what would be run on this machine is printed instead.
    """
    front = front_of(ctx)
    entry = front.run(lambda app: app.ssh(job, worker=worker, argv=command or ()))
    if front.json:
        front.document({"argv": [*entry.argv]})
        return
    front.become(entry.argv, entry.env)
