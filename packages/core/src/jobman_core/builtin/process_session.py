"""Sessions that are plain processes: works everywhere, shows nothing but its log."""

from jobman_core import process
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session, SessionStart


class ProcessSession(Session):
    """A process with no terminal and no parent, known by pid, start time and boot id."""

    name = "process"

    #: Seconds in which a command that fails is still a failed start. A wrong argument, a module
    #: that is missing or a bad file show well within it, and ``create`` has two seconds in all.
    settle: float = 0.5
    #: Seconds between TERM and KILL.
    grace: float = 5.0

    def __init__(self, context: Context) -> None:
        """Keep where the sessions of this home are written down."""
        super().__init__(context)
        self._records = process.Records.of_home(context.home)

    async def start(self, start: SessionStart) -> None:
        """Start a command detached from the caller; one of that name that lives is replaced.

        Raises:
            CommandFailedError: it could not be started, or died at once; the message says why.
            HeldError: another command is starting or ending this session.
        """
        async with self._records.locked(start.name):
            await self._end(start.name)
            start.log.parent.mkdir(parents=True, exist_ok=True)
            await process.start_detached(
                process.Launch(
                    name=start.name,
                    argv=start.command.argv,
                    env={**start.env, **start.command.env},
                    cwd=start.cwd,
                    log=start.log,
                    record=self._records.path(start.name),
                    settle=self.settle,
                )
            )

    async def alive(self, name: str) -> bool:
        """Tell whether the process that was started lives (a stopped one does)."""
        identity = self._records.read(name)
        return identity is not None and identity.state() != "gone"

    async def end(self, name: str) -> None:
        """End the process: TERM, a few seconds, KILL, confirmed.

        What it started in sessions of their own lives on, as attempts must.

        Raises:
            NotYoursError: it is another user's.
            HeldError: another command is starting or ending this session.
        """
        async with self._records.locked(name):
            await self._end(name)

    async def _end(self, name: str) -> None:
        identity = self._records.read(name)
        if identity is not None:
            await process.end(identity, self.grace)
            self._records.remove(name)
