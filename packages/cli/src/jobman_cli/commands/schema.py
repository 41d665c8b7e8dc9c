"""``jobman schema``: what editors complete and check files by."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobman_cli.front import front_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobman_core.app import App

_EXAMPLES = """
$ jobman schema job > job.schema.json
$ jobman schema tasks | jq '.properties | keys'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema", epilog=_EXAMPLES)(schema)


def schema(
    ctx: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="job|tasks|settings",
            help="Of job files, of tasks files, or of jobman.yaml.",
            autocompletion=lambda: ["job", "tasks", "settings"],
        ),
    ],
) -> None:
    """Print the JSON Schema of a kind of file, for editors.

    The keys of the plugins that are installed here are in it.
    """
    import json

    front = front_of(ctx)

    async def body(app: "App") -> "Mapping[str, Any]":
        return app.schema(file)

    front.say(json.dumps(front.run(body), indent=2))
