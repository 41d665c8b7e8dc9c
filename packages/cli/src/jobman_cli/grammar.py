"""The shape of the command line: options of every command, sections of help, nearest names."""

import os
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from jobman_cli.front import front_of

if TYPE_CHECKING:
    # Typer's own names for these are private, and only needed to check types.
    from typer._click import Command as AnyCommand
    from typer._click import Context, HelpFormatter, Parameter

_F = TypeVar("_F", bound=Callable[..., Any])

#: What every command takes, before its name as well as after it.
_COMMON = (
    (("--home",), "DIR", "The home folder; else JOBMAN_HOME, else the nearest one upward."),
    (("--json",), None, "Print one JSON document and nothing else on standard output."),
    (("--no-color",), None, "Print no colours (NO_COLOR does the same)."),
    (("-v", "--verbose"), None, "Tell more; twice, everything."),
    (("-q", "--quiet"), None, "Leave out notes."),
)
_COMMON_LINE = "Every command takes --home, --json, --no-color, -v and -q: see `jobman --help`."


def _remember(ctx: typer.Context, param: typer.CallbackParam, value: str | int | None) -> None:
    """Keep one of the options of every command; what is not given changes nothing."""
    front = front_of(ctx)
    match param.name:
        case "home" if value:
            front.home = Path(os.path.expanduser(str(value)))  # noqa: PTH111 - Path's own raises
        case "json" | "no_color" | "quiet" if value:
            setattr(front, param.name, True)
        case "verbose" if value:
            front.verbose += int(value)


def _common_options(*, hidden: bool, taken: set[str]) -> "list[Parameter]":
    """Make the options of every command, without those whose names a command has itself."""
    options: list[Parameter] = []
    for names, metavar, text in _COMMON:
        free = [name for name in names if name not in taken]
        if not free:
            continue
        counted = "-v" in names
        options.append(
            TyperOption(
                param_decls=[names[-1].strip("-").replace("-", "_"), *free],
                metavar=metavar,
                type=str if metavar else int if counted else None,
                is_flag=None if metavar or counted else True,
                count=counted,
                # A flag that is not given must leave what was given before the command.
                default=0 if counted else None if metavar else False,
                callback=_remember,
                expose_value=False,
                hidden=hidden,
                show_default=False,
                help=text,
            )
        )
    return options


def _taken(params: "list[Parameter]") -> set[str]:
    return {name for param in params for name in param.opts}


class Command(TyperCommand):
    """A command that takes the options of every command, and shows its examples as they are."""

    def __init__(self, name: str | None, **settings: Any) -> None:  # noqa: ANN401 - typer's own
        """Add the options of every command."""
        super().__init__(name, **settings)
        self.params += _common_options(hidden=True, taken=_taken(self.params))

    def collect_usage_pieces(self, ctx: "Context") -> list[str]:
        """Give the pieces of the usage line, without braces around what is required."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def format_epilog(self, ctx: object, formatter: "HelpFormatter") -> None:  # noqa: ARG002 - given
        """Write the examples, whose lines must not be filled."""
        if self.epilog:
            with formatter.section("Examples"):
                for line in textwrap.dedent(self.epilog).strip().splitlines():
                    formatter.write(f"  {line}".rstrip() + "\n")
        formatter.write(f"\n{_COMMON_LINE}\n")


class Group(TyperGroup):
    """All commands, in sections; those of plugins are loaded when they are asked for."""

    #: Title and names, in the order of help.
    sections: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Loads the commands of plugins.
    load_more: Callable[[], "Mapping[str, AnyCommand]"] | None = None

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - typer's own
        """Add the options of every command."""
        super().__init__(**settings)
        self.params += _common_options(hidden=False, taken=_taken(self.params))

    def get_command(self, ctx: object, cmd_name: str) -> "AnyCommand | None":  # noqa: ARG002 - given
        """Find a command, in plugins as well where jobman itself has none of that name."""
        if cmd_name not in self.commands:
            self._load()
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002 - given
        """Give the names of all commands."""
        self._load()
        return list(self.commands)

    def resolve_command(
        self, ctx: "Context", args: list[str]
    ) -> "tuple[str | None, AnyCommand | None, list[str]]":
        """Find the command that the arguments begin with.

        Raises:
            InvalidInputError: there is none; the message names the nearest.
        """
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            from jobman_core.errors import InvalidInputError, nearest

            meant = nearest(args[0], list(self.commands))
            hint = f"did you mean {meant}?" if meant else "see `jobman --help`"
            msg = f"there is no command {args[0]!r}: {hint}"
            raise InvalidInputError(msg)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the commands in sections; those in none came with plugins."""
        names = self.list_commands(ctx)
        known = {name for _, members in self.sections for name in members}
        others = tuple(name for name in names if name not in known)
        size = max(len(name) for name in names)
        for title, members in (*self.sections, ("Plugins", others)):
            commands = {name: self.commands[name] for name in members if name in self.commands}
            rows = [
                (name.ljust(size), command.get_short_help_str(formatter.width - size - 6))
                for name, command in commands.items()
                if not command.hidden
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _load(self) -> None:
        load, self.load_more = self.load_more, None
        if load is not None:
            for name, command in load().items():
                self.commands.setdefault(name, command)


class App(typer.Typer):
    """A Typer whose commands take the options of every command; what plugins get to fill."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - typer's own
        """Switch Rich off: it costs more than the rest of a start."""
        settings.setdefault("add_completion", False)
        settings.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
        super().__init__(rich_markup_mode=None, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_F], _F]:  # noqa: ANN401
        """Register a command."""
        settings.setdefault("cls", Command)
        return super().command(name, **settings)
