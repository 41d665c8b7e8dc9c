"""``jobman plugins``: what is installed, and what failed to load."""

from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import completion, documents, output
from jobman_cli.commands import SECTIONS
from jobman_cli.front import front_of

if TYPE_CHECKING:
    from jobman_core.app import App

_EXAMPLES = """
$ jobman plugins
$ jobman plugins tmux --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plugins", epilog=_EXAMPLES)(plugins)


def plugins(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME...]",
            help="Only those of these names.",
            show_default=False,
            autocompletion=completion.plugins,
        ),
    ] = None,
) -> None:
    """List every plugin: what it provides, or why it failed to load."""
    from jobman_cli import plugins as commands

    front = front_of(ctx)
    taken = {name for _, members in SECTIONS for name in members}

    async def body(app: "App") -> list[documents.PluginRow]:
        return [*app.plugins(), *commands.load(commands.entry_points(), taken)[1]]

    rows = front.run(body)
    for name in names or ():
        if all(row.name != name for row in rows):
            from jobman_core.errors import NotFoundError

            msg = f"there is no plugin {name!r}: `jobman plugins` lists all"
            raise NotFoundError(msg)
    rows = [row for row in rows if not names or row.name in names]
    if front.json:
        front.document([documents.plugin(row) for row in rows])
        return
    table = output.Table("KIND", "NAME", "FROM", "VERSION", "PROBLEM")
    for row in rows:
        table.add(
            row.kind,
            row.name,
            row.distribution or output.NOTHING,
            row.version or output.NOTHING,
            output.Cell(row.error or "", "red"),
        )
    front.say(*table.lines(front.room, front.paint))
