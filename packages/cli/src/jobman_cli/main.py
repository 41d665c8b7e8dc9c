"""The program ``jobman``: parse, run one command, make a line and a code of what goes wrong."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from jobman_cli import faults
from jobman_cli.commands import SECTIONS
from jobman_cli.front import Front, front_of, system_front
from jobman_cli.grammar import App, Group

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typer._click import Command as AnyCommand

_HELP = """Run experiments on TPU slices that can vanish at any moment.

New here? `jobman demo` shows all of it on this machine, with no account. The usual way:
`jobman create job.yaml`, `jobman list`, `jobman logs -f ID`, `jobman delete ID`.
"""
#: How the completion scripts of shells call.
_COMPLETE = "_JOBMAN_COMPLETE"


def main() -> int:
    """Run the program; give its exit code."""
    return execute(sys.argv[1:], system_front())


def execute(argv: Sequence[str], front: Front) -> int:
    """Run one command line; everything that it needs of the world is in the front."""
    try:
        try:
            return _run(argv, front)
        finally:
            # A reader that went away is noticed here, not by the interpreter on its way out.
            front.stdout.flush()
    except BrokenPipeError:
        _forget(front)
        return faults.BROKEN_PIPE


def _run(argv: Sequence[str], front: Front) -> int:
    try:
        command = build(front)
        if _COMPLETE in os.environ:
            command.main(prog_name="jobman", complete_var=_COMPLETE, obj=front)
        with command.make_context("jobman", list(argv), obj=front) as context:
            command.invoke(context)
    except (typer.Exit, SystemExit) as stop:
        code = stop.exit_code if isinstance(stop, typer.Exit) else stop.code
        return code if isinstance(code, int) else int(code is not None)
    except KeyboardInterrupt:
        return faults.INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the one place where everything ends
        return _end(front, error)
    return 0


def build(front: Front) -> Group:
    """Give the whole command line."""
    app = App(cls=Group, help=_HELP, add_completion=True, no_args_is_help=True)
    app.callback()(_root)
    for _, names in SECTIONS:
        for name in names:
            import_module(f"jobman_cli.commands.{name.replace('-', '_')}").register(app)
    group = typer.main.get_command(app)
    assert isinstance(group, Group)  # noqa: S101 - as the app says
    group.sections = SECTIONS

    def load_more() -> "Mapping[str, AnyCommand]":
        from jobman_cli import plugins

        return plugins.load_all(tuple(group.commands), front.warn if front.verbose else _silent)

    group.load_more = load_more
    return group


def _print_version(ctx: typer.Context, *, given: bool) -> None:
    if given and not ctx.resilient_parsing:
        from importlib.metadata import version

        front_of(ctx).say(f"jobman {version('jobman-cli')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take what comes before a command; the group's own options do the work."""


def _silent(_text: str) -> None:
    """Say nothing: `jobman plugins` has it."""


def _end(front: Front, error: Exception) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        front.note(str(error))
        return faults.BAD_USAGE
    return front.fail(error)


def _forget(front: Front) -> None:
    """Let what nobody reads any more go nowhere, so that the interpreter does not stumble on it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, front.stdout.fileno())
