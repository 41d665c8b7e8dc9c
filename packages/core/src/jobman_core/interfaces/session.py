"""Sessions: where a controller lives while nobody looks."""

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path

import attrs

from jobman_core.command import Command
from jobman_core.interfaces.backend import Backend


@attrs.frozen
class SessionStart:
    """What to start in a session."""

    #: Unique in the home, like ``job-000001``.
    name: str
    command: Command
    #: Gets its standard output and error, appended.
    log: Path
    #: The folder to start in.
    cwd: Path
    #: The whole environment. It may hold secrets: it never stands in an argv.
    env: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    #: Whose controller the command is.
    job: str = ""


class Session(Backend):
    """A way to keep a process running after its starter has gone."""

    def missing(self) -> str | None:
        """Say what this machine lacks for it, and how to get it; None: it works here."""
        return None

    @abstractmethod
    async def start(self, start: SessionStart) -> None:
        """Start a command detached from the caller; one of that name that lives is replaced.

        Raises:
            CommandFailedError: it could not be started, or died at once; the message says why.
        """

    @abstractmethod
    async def alive(self, name: str) -> bool:
        """Tell whether a session of that name lives."""

    @abstractmethod
    async def end(self, name: str) -> None:
        """End a session and the process in it; one that does not exist is no error."""

    async def mend(self) -> None:
        """Begin again what a process ran beside the session because of which it was killed.

        Nothing, where each session has a process of its own.

        Raises:
            CommandFailedError: that cannot be done.
        """

    def attach(self, name: str) -> Command | None:
        """Give the command that shows the session on this terminal; None: it has no such thing."""
        del name
        return None
