"""``jobman emulator``: an emulated Cloud TPU on this machine, and the troubles of a real one."""

from typing import TYPE_CHECKING

import typer
from typer.core import TyperGroup

from jobman_core import hookimpl

if TYPE_CHECKING:
    from collections.abc import Mapping

    # Typer's own name for it is private, and only needed to check types.
    from typer._click import Command

_HELP = """An emulated Cloud TPU on this machine: no account, real SSH, and trouble on demand.

`jobman emulator up` prints variables; in a shell that has them jobman, gcloud and Google's Python
client (through its channel) meet the emulator. The other commands do to its slices what the real
cloud does when nobody wants it to. It listens on loopback only and is no security boundary.
"""

# The mark keeps the lines as they are.
_EXAMPLES = """\b
Examples:
  $ jobman emulator up
  $ jobman emulator capacity us-central2-b v4-8 2
  $ jobman emulator preempt train-000001-g1
"""


@hookimpl
def jobman_cli_commands(app: typer.Typer) -> None:
    """Bring the command ``emulator``; its verbs are made when somebody asks for them."""
    # Another app of the same kind: its commands, too, take the options of every command.
    kind = type(app)

    class Verbs(TyperGroup):
        """The verbs."""

        def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 - given
            """Give their names."""
            return list(self._made())

        def get_command(self, ctx: object, cmd_name: str) -> "Command | None":  # noqa: ARG002 - given
            """Find one."""
            return self._made().get(cmd_name)

        def _made(self) -> "Mapping[str, Command]":
            if not self.commands:
                from jobman_emulator import commands

                filled = kind()
                commands.fill(filled)
                self.commands = dict(typer.main.get_group(filled).commands)
            return self.commands

    app.add_typer(
        kind(cls=Verbs, help=_HELP, epilog=_EXAMPLES, no_args_is_help=True),
        name="emulator",
        short_help="A Cloud TPU on this machine, emulated, with real SSH.",
    )
