"""Sessions in terminals that a program (tmux, screen, …) keeps for later."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol

from jobman_core import process
from jobman_core.errors import CommandFailedError, NotFoundError
from jobman_core.interfaces.backend import Context, Scope
from jobman_core.interfaces.session import Session, SessionStart
from jobman_core.models.checkup import Checkup


class Panes(Protocol):
    """The program that keeps the terminals of one home, each known by its exact name."""

    def installed(self) -> bool:
        """Tell whether the program is on PATH."""

    async def open(self, name: str, argv: tuple[str, ...]) -> None:
        """Run a program in a new terminal that nobody looks at yet.

        Raises:
            CommandFailedError: it was refused.
        """

    async def has(self, name: str) -> bool:
        """Tell whether there is a terminal of this name.

        Raises:
            CommandFailedError: that cannot be told.
        """

    async def pids(self, name: str) -> Sequence[int]:
        """Give the processes that must be gone before a terminal is; none if it is not there."""

    async def close(self, name: str) -> None:
        """Take away what is left of a terminal; one that is not there is no error.

        Raises:
            CommandFailedError: it was refused.
        """

    async def trial(self) -> str:
        """Keep a terminal for a moment, apart from those of the home; give the program's version.

        Raises:
            CommandFailedError: that cannot be done.
        """


class PaneSession(Session):
    """A session in a terminal that can be looked at with ``attach``.

    The terminal runs the core's shim: it takes what to start, environment and all, from a file that
    it deletes, starts the command with its output in the log, and shows the log. Ctrl-C in the
    terminal reaches the command.
    """

    #: Seconds in which a command that fails is still a failed start.
    settle: float = 0.5
    #: Seconds between TERM and KILL.
    grace: float = 5.0
    #: Of a terminal's name, in characters.
    longest: int = 120

    def __init__(self, context: Context, panes: Panes) -> None:
        """Keep the home's terminals and where its sessions are written down."""
        super().__init__(context)
        self._panes = panes
        self._records = process.Records.of_home(context.home)

    @abstractmethod
    def missing(self) -> str | None:
        """Say how to install the program, where it is not on PATH."""

    async def start(self, start: SessionStart) -> None:
        """Start a command in a session; one of that name that lives is replaced.

        Raises:
            CommandFailedError: it could not be started, or died at once; the message says why.
            HeldError: another command is starting or ending this session.
        """
        if missing := self.missing():
            raise CommandFailedError(missing)
        async with self._records.locked(start.name):
            await self._end(start.name)
            start.log.parent.mkdir(parents=True, exist_ok=True)
            launch = process.Launch(
                name=start.name,
                argv=start.command.argv,
                env={**start.env, **start.command.env},
                cwd=start.cwd,
                log=start.log,
                record=self._records.path(start.name),
                settle=self.settle,
            )
            pane = self.pane_of(start.name)
            try:
                await process.start_in_pane(launch, lambda argv: self._panes.open(pane, argv))
            except BaseException:
                # Half a session would only be in the way of the next start.
                await self._end(start.name)
                raise

    async def alive(self, name: str) -> bool:
        """Tell whether the session's command lives (a stopped one does).

        Raises:
            CommandFailedError: nothing is written down of it, and its terminals cannot be seen.
        """
        identity = self._records.read(name)
        if identity is not None:
            return identity.state() != "gone"
        return self._panes.installed() and await self._panes.has(self.pane_of(name))

    async def end(self, name: str) -> None:
        """End the command (TERM, a few seconds, KILL, confirmed) and its session.

        What it started in sessions of their own lives on, as attempts must.

        Raises:
            NotYoursError: it is another user's.
            HeldError: another command is starting or ending this session.
        """
        async with self._records.locked(name):
            await self._end(name)

    async def checkups(self, scope: Scope) -> Sequence[Checkup]:
        """Say whether the program is here, and keeps a terminal for as long as one is wanted."""
        if missing := self.missing():
            judge = Checkup.broken if scope.wanted else Checkup.doubt
            text, _, remedy = missing.partition(": ")
            return [judge(self.name, text, remedy)]
        try:
            told = await self._panes.trial()
        except CommandFailedError as error:
            return [Checkup.of_error(self.name, error)]
        return [Checkup.well(self.name, told)]

    def pane_of(self, name: str) -> str:
        """Give the terminal's name of a session: such programs read more into some characters."""
        return process.plain_name(name, self.longest)

    async def _end(self, name: str) -> None:
        identity = self._records.read(name)
        if identity is not None:
            await process.end(identity, self.grace)
        if self._panes.installed():
            pane = self.pane_of(name)
            # The shim leaves by itself, but what is called ended must be gone.
            for pid in await self._panes.pids(pane):
                await self._end_pid(pid)
            await self._panes.close(pane)
        self._records.remove(name)

    async def _end_pid(self, pid: int) -> None:
        try:
            identity = process.ProcessIdentity.of(pid)
        except NotFoundError:
            return  # It left meanwhile.
        await process.end(identity, self.grace)
