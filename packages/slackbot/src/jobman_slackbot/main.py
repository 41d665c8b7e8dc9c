"""The program ``jobman-slackbot``: run the bot, check what it needs, print the app's manifest."""

import asyncio
import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from typer.core import TyperCommand

from jobman_core.app import run as run_loop
from jobman_core.errors import exit_code_of, is_bug, leaves, lines_of, printable
from jobman_slackbot.tokens import Redacting, redact, take_tokens

if TYPE_CHECKING:
    # Typer's own name for it is private, and only needed to check types.
    from typer._click import HelpFormatter

_HELP: Final = """See and steer jobman from Slack.

New here? docs/slack.md goes from nothing to a working bot in ten minutes. In short:
`jobman-slackbot manifest`, paste it into Slack; `jobman-slackbot check`; `jobman-slackbot run`.
"""
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_BAD_USAGE: Final = 2

Config = Annotated[Path, typer.Option("--config", metavar="FILE", help="The bot's settings.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell more.")]


class _Command(TyperCommand):
    """A command that shows its examples as they are."""

    def format_epilog(self, ctx: object, formatter: "HelpFormatter") -> None:  # noqa: ARG002 - given
        """Write the examples, whose lines must not be filled."""
        with formatter.section("Examples"):
            for line in (self.epilog or "").strip().splitlines():
                formatter.write(f"  {line}\n")


app = typer.Typer(
    help=_HELP,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> int:
    """Run the program; give its exit code."""
    return execute(sys.argv[1:])


def execute(argv: Sequence[str]) -> int:
    """Run one command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        found: Any = typer.main.get_command(app).main(
            list(argv), "jobman-slackbot", standalone_mode=False
        )
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # What nobody reads any more goes nowhere, or the interpreter stumbles on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 - the one place where everything ends
        return _end(error, verbose="-v" in argv or "--verbose" in argv)
    return found if isinstance(found, int) else 0


def _end(error: Exception, *, verbose: bool) -> int:
    """Say what went wrong; give the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return _BAD_USAGE
    found = leaves(error)
    for leaf in found:
        for line in lines_of(leaf):
            print(printable(redact(line)), file=sys.stderr)
        if verbose and is_bug(leaf):
            print(redact("".join(traceback.format_exception(leaf))), file=sys.stderr, end="")
    return exit_code_of(found[0])


def _print_version(given: bool) -> None:
    if given:
        from importlib.metadata import version

        print(f"jobman-slackbot {version('jobman-slackbot')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version."
        ),
    ] = False,
) -> None:
    """Take what comes before a command; the option does its work itself."""


@app.command(
    "run",
    cls=_Command,
    epilog="""
$ jobman-slackbot run
$ jobman-slackbot run --config ~/lab/bot.yaml
""",
)
def run(config: Config = Path("bot.yaml"), verbose: Verbose = False) -> None:
    """Serve a home, until SIGTERM or Ctrl-C.

    One process serves a home; it may be killed at any time and started again.
    """
    from jobman_slackbot.bot import run_bot
    from jobman_slackbot.config import load_config

    log_to_stderr(verbose=verbose)
    read = load_config(config)
    tokens = take_tokens(read.tokens, os.environ)

    async def serve() -> None:
        work = asyncio.ensure_future(run_bot(read, tokens))
        for told in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(told, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            # Who asked for the end gets it, and no error.
            return

    run_loop(serve())


@app.command(
    "check",
    cls=_Command,
    epilog="""
$ jobman-slackbot check
$ jobman-slackbot check --config ~/lab/bot.yaml && systemctl --user restart jobman-slackbot
""",
)
def check(config: Config = Path("bot.yaml"), verbose: Verbose = False) -> None:
    """Say what the bot needs and lacks: tokens, scopes, channels, people, the home.

    Nothing is posted, and a bot that runs is not disturbed. Ends with 1 if anything is wrong.
    """
    from jobman_slackbot.check import examine

    log_to_stderr(verbose=verbose)
    wrong: list[str] = []

    async def look() -> None:
        async for found in examine(config):
            mark = "ok   " if found.good else "wrong"
            print(f"{mark}  {found.what}: {printable(redact(found.said))}", flush=True)
            if not found.good:
                wrong.append(found.what)

    run_loop(look())
    if wrong:
        raise typer.Exit(1)


@app.command(
    "manifest",
    cls=_Command,
    epilog="""
$ jobman-slackbot manifest
$ jobman-slackbot manifest > app.yaml
""",
)
def manifest() -> None:
    """Print the manifest of the app, to paste into Slack."""
    from jobman_slackbot.manifest import manifest as text

    print(text(), end="")


def log_to_stderr(*, verbose: bool) -> None:
    """Write the log to standard error, without tokens, in UTC."""
    handler = logging.StreamHandler()
    form = Redacting("%(asctime)s %(levelname)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    form.converter = time.gmtime
    handler.setFormatter(form)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in ("jobman_core", "jobman_slackbot"):
        logging.getLogger(name).setLevel(logging.DEBUG if verbose else logging.INFO)
