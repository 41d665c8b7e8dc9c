"""Commands that plugins bring: found by entry point, loaded one by one, isolated."""

import os
from collections.abc import Callable, Container, Iterable
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple

import typer

from jobman_cli import hookspecs
from jobman_cli.grammar import App

if TYPE_CHECKING:
    from typer._click import Command as AnyCommand


class CommandRow(NamedTuple):
    """One line of ``jobman plugins``: a command, or why a plugin has none."""

    kind: str
    name: str
    distribution: str | None
    version: str | None
    error: str | None = None


def entry_points() -> Iterable[metadata.EntryPoint]:
    """Give the plugins that are installed and not switched off."""
    disabled = {name.strip() for name in os.environ.get("JOBMAN_DISABLED_PLUGINS", "").split(",")}
    points = metadata.entry_points(group=hookspecs.GROUP)
    return [point for point in points if point.name not in disabled]


def load(
    points: Iterable[metadata.EntryPoint], taken: Container[str]
) -> tuple["dict[str, AnyCommand]", list[CommandRow]]:
    """Load the commands of plugins.

    Args:
        points: the plugins.
        taken: the names of jobman's own commands, which no plugin may have.

    Returns:
        the commands by name, and a row for each command and each failure.
    """
    commands: dict[str, AnyCommand] = {}
    rows: list[CommandRow] = []
    for point in points:
        dist = point.dist.name if point.dist else None
        version = point.dist.version if point.dist else None
        try:
            found = _commands_of(point)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any plugin, any fault
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            rows.append(CommandRow("command", point.name, dist, version, text))
            continue
        for name, command in found.items():
            if name in taken or name in commands:
                text = f"there is a command {name!r} already"
                rows.append(CommandRow("command", name, dist, version, text))
                continue
            commands[name] = command
            rows.append(CommandRow("command", name, dist, version))
    return commands, rows


def load_all(taken: Container[str], complain: Callable[[str], None]) -> "dict[str, AnyCommand]":
    """Load the commands of all plugins, and tell of those that fail."""
    commands, rows = load(entry_points(), taken)
    for row in rows:
        if row.error:
            complain(f"plugin {row.name} of {row.distribution}: {row.error}")
    return commands


def _commands_of(point: metadata.EntryPoint) -> "dict[str, AnyCommand]":
    """Load one plugin and let it fill an app of its own, so that it cannot spoil another's."""
    import pluggy

    manager = pluggy.PluginManager("jobman")
    manager.add_hookspecs(hookspecs)
    manager.register(point.load(), point.name)
    manager.check_pending()
    app = App()
    manager.hook.jobman_cli_commands(app=app)
    return dict(typer.main.get_group(app).commands)
