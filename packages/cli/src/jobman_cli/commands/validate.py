"""``jobman validate``: check job and task files."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import documents, output
from jobman_cli.front import front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.view import Checked

_EXAMPLES = """
$ jobman validate job.yaml tasks.yaml
$ jobman validate job.yaml worker.yaml && git commit
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

    async def body(app: "App") -> "Sequence[Checked]":
        return await app.validate(files)

    looks = front.run(body)
    for note in dict.fromkeys(note for look in looks for note in look.notes):
        front.note(f"note: {output.clean(note)}")
    # A tasks file may be named, and be meant by a job file as well.
    faults = list(dict.fromkeys(fault for look in looks for fault in look.faults))
    if front.json:
        front.document([documents.fault(fault) for fault in faults])
    else:
        front.say(*(f"{output.clean(str(look.path))}: ok" for look in looks if not look.faults))
    if faults:
        from jobman_core.errors import ConfigError

        raise ConfigError(faults)
