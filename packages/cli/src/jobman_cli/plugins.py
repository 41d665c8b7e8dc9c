"""Commands that plugins bring: found by entry point, loaded one by one, isolated."""

import os
from collections.abc import Callable, Container, Iterable
from importlib import metadata
from typing import Any, NamedTuple

import typer

from jobman_cli import hookspecs
from jobman_cli.grammar import App


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
) -> tuple[dict[str, Any], list[CommandRow]]:
    """Load the commands of plugins.

    Args:
        points: the plugins.
        taken: the names of jobman's own commands, which no plugin may have.

    Returns:
        the commands by name, and a row for each command and each failure.
    """
    commands: dict[str, Any] = {}
    rows: list[CommandRow] = []
    for point in points:
        dist = (point.dist.name, point.dist.version) if point.dist else (None, None)
        try:
            found = _commands_of(point)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any plugin, any fault
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            rows.append(CommandRow("command", point.name, *dist, text))
            continue
        for name, command in found.items():
            if name in taken or name in commands:
                text = f"there is a command {name!r} already"
                rows.append(CommandRow("command", name, *dist, text))
                continue
            commands[name] = command
            rows.append(CommandRow("command", name, *dist))
    return commands, rows


def loader(taken: Container[str], complain: Callable[[str], None]) -> Callable[[], dict[str, Any]]:
    """Give what loads the commands of all plugins, telling of those that fail."""

    def load_all() -> dict[str, Any]:
        commands, rows = load(entry_points(), taken)
        for row in rows:
            if row.error:
                complain(f"plugin {row.name} of {row.distribution}: {row.error}")
        return commands

    return load_all


def _commands_of(point: metadata.EntryPoint) -> dict[str, Any]:
    """Load one plugin and let it fill an app of its own, so that it cannot spoil another's."""
    import pluggy

    manager = pluggy.PluginManager("jobman")
    manager.add_hookspecs(hookspecs)
    manager.register(point.load(), point.name)
    manager.check_pending()
    app = App()
    manager.hook.jobman_cli_commands(app=app)
    return dict(typer.main.get_group(app).commands)
