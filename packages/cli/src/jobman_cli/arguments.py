"""Arguments and options that several commands take."""

from pathlib import Path
from typing import Annotated

import typer

from jobman_cli import completion

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
Until = Annotated[
    str | None,
    typer.Option(
        "--until", metavar="WHEN", help="To the end of that day, or to that moment; else now."
    ),
]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE.png", help="Draw it as a chart as well.")
]
Csv = Annotated[bool, typer.Option("--csv", help="Print it for a spreadsheet.")]
Reload = Annotated[
    bool,
    typer.Option(
        "--reload", help="Take in the file that the job was created from, as it stands now."
    ),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Prepare the hosts again: also what is done there already.",
    ),
]
ForcePrefix = Annotated[
    bool,
    typer.Option(
        "--force-prefix",
        help="Run the prefix scripts again, also where they ran already.",
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
