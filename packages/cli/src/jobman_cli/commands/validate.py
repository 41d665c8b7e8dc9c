"""``jobman validate``: check job and task files."""

from pathlib import Path
from typing import Annotated

import typer

from jobman_cli import documents, output
from jobman_cli.front import front_of

_EXAMPLES = """
$ jobman validate job.yaml tasks.yaml
$ jobman validate *.yaml && git commit
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("validate", epilog=_EXAMPLES)(validate)


def validate(
    ctx: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Job and task files.")],
) -> None:
    """Check job and task files, with no cloud needed.

    Every fault is told, with its line and what to write instead.
    """
    front = front_of(ctx)
    faults = front.run(lambda app: app.validate(files))
    if front.json:
        front.document([documents.fault(fault) for fault in faults])
    elif not faults:
        front.say(*(f"{output.clean(str(path))}: ok" for path in files))
    if faults:
        from jobman_core.errors import ConfigError

        raise ConfigError(faults)
