"""``jobman attach``: the session in which a job's controller lives."""

import typer

from jobman_cli import arguments
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman attach 000001
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("attach", epilog=_EXAMPLES)(attach)


def attach(ctx: typer.Context, job: arguments.Job) -> None:
    """Enter the session of a job's controller.

    Ctrl-B and then D leaves it again in tmux, Ctrl-A and then D in screen. With --json the command
    that enters it is printed instead.
    """
    front = front_of(ctx)
    argv = front.run(lambda app: app.attach(job))
    if front.json:
        front.document({"argv": argv})
        return
    if not (front.stdin.isatty() and front.stdout.isatty()):
        from jobman_core.errors import InvalidInputError

        msg = f"this is no terminal: use one, or `jobman attach --json {job}` for the command"
        raise InvalidInputError(msg)
    # A session within another is what tmux refuses while it knows of it.
    env = {name: value for name, value in front.env.items() if name != "TMUX"}
    front.become(argv, env)
