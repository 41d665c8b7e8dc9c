"""The hook of the command line. Plugins implement it with ``from jobman_core import hookimpl``."""

import pluggy
import typer

hookspec = pluggy.HookspecMarker("jobman")

#: The entry-point group of plugins that bring commands; the only one that ``--help`` loads.
GROUP = "jobman.cli"


@hookspec
def jobman_cli_commands(app: typer.Typer) -> None:
    """Add commands, with ``@app.command()``; they take the options of every command as well.

    A name that jobman has already is refused. Heavy modules belong inside the functions: each
    ``jobman --help`` imports the plugin.
    """
    raise NotImplementedError
