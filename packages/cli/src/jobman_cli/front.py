"""What a command has at hand: the streams, the options of every command, and the core's App."""

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO, TypeVar

import typer

from jobman_cli import faults, output

if TYPE_CHECKING:
    from jobman_core.app import App

_T = TypeVar("_T")

#: Makes this process another program, as ``os.execvpe`` does.
Become = Callable[[str, list[str], Mapping[str, str]], object]


class OpenApp(Protocol):
    """Opens the core for one home, as ``App.at`` does."""

    def __call__(
        self, home: Path | None, *, make: bool, echo: Callable[[str], None] | None
    ) -> "App":
        """Give the App, to be entered with ``async with``."""


def open_core(home: Path | None, *, make: bool, echo: Callable[[str], None] | None) -> "App":
    """Open the real one."""
    from jobman_core.app import App

    return App.at(home, make=make, echo=echo)


class Front:
    """One call of jobman: where its words go, and how."""

    def __init__(
        self,
        *,
        stdin: TextIO,
        stdout: TextIO,
        stderr: TextIO,
        env: Mapping[str, str],
        open_app: OpenApp = open_core,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        become: Become = os.execvpe,
    ) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.env = env
        self._now = now
        self._become = become
        #: That times are shown in; None: the machine's.
        self._zone: str | None = None
        self._open_app = open_app
        #: The options of every command.
        self.home: Path | None = None
        self.json = False
        self.no_color = False
        self.verbose = 0
        self.quiet = False

    @property
    def terminal(self) -> bool:
        """Whether a person reads the results as they come."""
        return self.stdout.isatty() and not self.json

    @property
    def room(self) -> int | None:
        """How wide results may be; None in a pipe, where every row is one line."""
        return output.columns(self.env) if self.terminal else None

    @property
    def program(self) -> str:
        """What a person types to get here; ``./dev run`` says so by JOBMAN_COMMAND."""
        return self.env.get("JOBMAN_COMMAND") or "jobman"

    @property
    def paint(self) -> output.Paint:
        """How results are coloured."""
        if not self.no_color and output.may_colour(self.stdout, self.env):
            return output.colourful
        return output.plain

    def say(self, *lines: str) -> None:
        """Print lines of the result."""
        for line in lines:
            print(line, file=self.stdout)

    def document(self, value: object) -> None:
        """Print the one JSON document; for a person's eyes, or fast."""
        import json

        indent = 2 if self.stdout.isatty() else None
        print(json.dumps(value, indent=indent), file=self.stdout)

    def note(self, *lines: str) -> None:
        """Tell something beside the result, unless nobody wants to know."""
        if self.quiet:
            return
        for line in lines:
            self._tell(line)

    def warn(self, text: str) -> None:
        """Tell something that should not be missed, and is no error."""
        self._mark("warning:", "yellow", text)

    def fail(self, error: BaseException, about: str = "") -> int:
        """Print an error, with what it is about where its words do not say; give its code."""
        from jobman_core.errors import is_bug, leaves, lines_of

        found = leaves(error)
        for leaf in found:
            for line in lines_of(leaf):
                mark, colon, text = line.partition("error: ")
                if mark or not colon:
                    self._tell(output.clean(line))
                else:
                    self._mark(colon.strip(), "red", text, about)
            if self.verbose and is_bug(leaf):
                self._traceback(leaf)
        return faults.exit_code(found[0])

    def ask(self, question: str) -> bool:
        """Ask for a yes on the terminal.

        Raises:
            InvalidInputError: there is nobody to ask.
            KeyboardInterrupt: the answer was Ctrl-C.
        """
        if not self.stdin.isatty():
            from jobman_core.errors import InvalidInputError

            msg = "this needs a yes, and there is no terminal to ask on: add --yes"
            raise InvalidInputError(msg)
        answer = self._hear(f"{question} [y/N] ")
        if answer.strip().lower() in ("y", "yes"):
            return True
        self.note("nothing was done")
        return False

    def ask_for(self, question: str, usual: str) -> str:
        """Ask for a word on the terminal; no answer is the usual one.

        Raises:
            KeyboardInterrupt: the answer was Ctrl-C.
        """
        return self._hear(f"{question} [{usual}] ").strip() or usual

    def _hear(self, question: str) -> str:
        """Give the line that follows a question; empty: there is no more input."""
        answer = ""
        try:
            # From before the question is seen: the answer may be there at once.
            with _interruptible():
                print(question, end="", file=self.stderr, flush=True)
                answer = self.stdin.readline()
        finally:
            if not answer:
                print(file=self.stderr, flush=True)
        return answer

    def need_home(self) -> None:
        """Refuse a home that was named and is not there: it would look like an empty one.

        Raises:
            NotFoundError: it is not there, or no folder.
        """
        named = self.home or self.env.get("JOBMAN_HOME")
        if not named or (home := Path(os.path.expanduser(named))).is_dir():  # noqa: PTH111 - it raises
            return
        from jobman_core.errors import NotFoundError

        how = "--home" if self.home else "JOBMAN_HOME"
        wrong = "is no folder" if home.exists() else "does not exist"
        msg = f"the home {home} {wrong}: check {how}, or let `jobman create` make a home there"
        raise NotFoundError(msg)

    def become(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        """Be another program from here on.

        Args:
            argv: its command; no shell reads it.
            env: its whole environment; None: this one's.

        Raises:
            CommandFailedError: there is no such program.
        """
        self.stdout.flush()
        try:
            self._become(argv[0], [*argv], self.env if env is None else env)
        except FileNotFoundError as error:
            from jobman_core.errors import CommandFailedError

            msg = f"this machine has no program {argv[0]!r}: install it"
            raise CommandFailedError(msg) from error

    def now(self) -> datetime:
        """Give the time, in the zone that people of this home read it in."""
        if self._zone is None:
            return self._now().astimezone()
        from zoneinfo import ZoneInfo

        return self._now().astimezone(ZoneInfo(self._zone))

    def run(
        self,
        body: Callable[["App"], Awaitable[_T]],
        *,
        make: bool = False,
        echo: Callable[[str], None] | None = None,
        home: Path | None = None,
        settings: bool = True,
    ) -> _T:
        """Open the home, do something with it, and close it.

        Args:
            body: what to do.
            make: make the home where there is none.
            echo: gets the lines of a controller that runs here.
            home: another home than the one that the options say.
            settings: times are shown as they say; without them faults of theirs are no matter.
        """
        from jobman_core.app import run

        gc.enable()
        self._hear_the_log()

        async def whole() -> _T:
            async with self._open_app(home or self.home, make=make, echo=echo) as app:
                self._zone = app.time_zone if settings else None
                try:
                    return await body(app)
                finally:
                    for warning in app.warnings:
                        self.warn(warning)
                    if app.made and home is None:
                        shared = f", which group {app.group} shares" if app.group else ""
                        self.note(f"made {output.clean(str(app.home))} a home of jobman{shared}")

        return run(whole())

    def _mark(self, mark: str, colour: str, text: str, about: str = "") -> None:
        colours = not self.no_color and output.may_colour(self.stderr, self.env)
        if about and about not in text:
            text = f"{about}: {text}"
        shown = output.colourful(mark, colour) if colours else mark
        self._tell(output.clean(text), f"{mark} ", f"{shown} ")

    def _tell(self, text: str, start: str = "", shown: str | None = None) -> None:
        """Print a line on standard error; a terminal gets it broken between words."""
        self.stdout.flush()
        room = output.columns(self.env) if self.stderr.isatty() else None
        for line in output.hanging(start, text, room, shown):
            print(line, file=self.stderr, flush=True)

    def _traceback(self, error: BaseException) -> None:
        import traceback

        print("".join(traceback.format_exception(error)), file=self.stderr, end="", flush=True)

    def _hear_the_log(self) -> None:
        """Let what the core logs come out on standard error, as far as it is asked for."""
        import logging

        front = self

        class Told(logging.Handler):
            """Tells it as warnings are told: what is in it may come from a file."""

            def emit(self, record: logging.LogRecord) -> None:
                text = record.getMessage()
                if record.levelno == logging.WARNING:
                    front.warn(text)
                else:
                    front._tell(output.clean(text), f"{record.levelname.lower()}: ")
                if record.exc_info and record.exc_info[1]:
                    front._traceback(record.exc_info[1])

        levels = [logging.WARNING, logging.INFO, logging.DEBUG]
        logger = logging.getLogger("jobman_core")
        logger.handlers[:] = [Told()]
        logger.setLevel(levels[min(self.verbose, 2)])


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end what waits here; asyncio's own handler would only tell a task of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        if _cancelled():
            # It came a moment ago, and asyncio told the task, which has not waited since.
            raise KeyboardInterrupt
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _cancelled() -> bool:
    """Tell whether the task that runs here, if one does, was told to end."""
    import asyncio

    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


def front_of(ctx: typer.Context) -> Front:
    """Give what the command that runs has at hand."""
    front: object = ctx.obj
    if not isinstance(front, Front):  # pragma: no cover - main always sets it
        msg = f"a command ran without its Front, with {front!r}"
        raise TypeError(msg)
    return front


def system_front() -> Front:
    """Give the real one, whose streams print anything in any locale."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    # Whoever starts a program with a stream closed wants to hear nothing of it.
    null = os.devnull
    return Front(
        stdin=sys.stdin or open(null, encoding="utf-8"),  # noqa: PTH123 - for good
        stdout=sys.stdout or open(null, "w", encoding="utf-8"),  # noqa: PTH123 - the same
        stderr=sys.stderr or open(null, "w", encoding="utf-8"),  # noqa: PTH123 - the same
        env=os.environ,
    )
