"""Arguments and options that several commands take."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import completion

if TYPE_CHECKING:
    from jobman_cli.front import Front

Job = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A job: its id, or the last digits of it.",
        show_default=False,
        autocompletion=completion.jobs,
    ),
]
Jobs = Annotated[
    list[str],
    typer.Argument(
        metavar="ID...",
        help="Jobs: their ids, or the last digits of them.",
        show_default=False,
        autocompletion=completion.jobs,
    ),
]
JobsOrNone = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[ID...]",
        help="Jobs: their ids, or the last digits of them.",
        show_default=False,
        autocompletion=completion.jobs,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Set the slice up again, also what is done already (in this version no difference).",
    ),
]
ForcePrefix = Annotated[
    bool,
    typer.Option(
        "--force-prefix",
        help="Run the prefix scripts again, done or not (in this version no difference).",
    ),
]
TasksFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[TASKS.yaml]",
        help="The tasks file; else queue_machines/tasks.yaml, tasks.yaml, or the home's one queue.",
        show_default=False,
    ),
]


def note_force(front: "Front", *, force: bool, force_prefix: bool) -> None:
    """Say that these options make no difference, where they are given."""
    given = [
        name
        for name, is_given in (("--force", force), ("--force-prefix", force_prefix))
        if is_given
    ]
    if given:
        verb = "makes" if len(given) == 1 else "make"
        front.note(
            f"{' and '.join(given)} {verb} no difference in this version: nothing on the hosts is "
            f"marked as prepared"
        )
