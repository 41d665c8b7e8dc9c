"""One process for many jobs: light where there are hundreds; it shows nothing but their logs."""

import asyncio
import os
import sys
from collections.abc import Mapping

import attrs

from jobman_core import process
from jobman_core.builtin.process_session import ProcessSession
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.backend import Context, Duration
from jobman_core.interfaces.session import Session, SessionStart

#: Seconds for the process to let go of a controller.
_LET_GO = 20.0
_LOOK_EVERY = 0.05


@attrs.frozen
class SharedSettings:
    """``sessions.shared``: one process for many jobs."""

    #: Seconds without a job after which the process ends.
    idle: Duration = Duration(300.0)


class SharedSession(Session):
    """Lets one process of the home run the controllers of all jobs that are started with it.

    It runs the same controllers as a session of a job's own does, and has the environment of
    whoever started its first job. What ends it, ends no program on a host: the next start takes
    all of its jobs up again.
    """

    name = "shared"
    Settings = SharedSettings

    def __init__(self, context: Context) -> None:
        """Keep where the process and its jobs are written down."""
        super().__init__(context)
        self._roster = process.Roster.of_home(context.home, os.getuid())
        self._records = process.Records.of_home(context.home)
        self._process = ProcessSession(context)

    async def start(self, start: SessionStart) -> None:
        """Have a job's controller run; the process is started if there is none.

        The command of ``start`` is what a session of its own would run; here its job says it all.

        Raises:
            CommandFailedError: the process could not be started.
        """
        async with self._records.locked(self._roster.lock):
            self._roster.add(start.name, start.job)
            if not await self._lives():
                await self._start_process(start.env)

    async def alive(self, name: str) -> bool:
        """Tell whether the process lives and has that controller, or is about to."""
        asked = self._roster.get(name) is not None or self._roster.runs(name)
        return asked and await self._lives()

    async def end(self, name: str) -> None:
        """Have a controller end; the process and its other jobs go on.

        Raises:
            CommandFailedError: the process does not let go of it.
        """
        async with self._records.locked(self._roster.lock):
            self._roster.remove(name)
        await self.mend()
        for _ in range(round(_LET_GO / _LOOK_EVERY)):
            if not self._roster.runs(name) or not await self._lives():
                return
            await asyncio.sleep(_LOOK_EVERY)
        identity = self._records.read(self._roster.process)
        who = identity.pid if identity else "?"
        raise CommandFailedError(f"process {who} does not let go of {name}: see {self._roster.log}")

    async def mend(self) -> None:
        """Start the process again if it is gone and controllers are left that it is to run."""
        async with self._records.locked(self._roster.lock):
            if self._roster.entries() and not await self._lives():
                await self._start_process(os.environ)

    async def _start_process(self, env: Mapping[str, str]) -> None:
        home = self.context.home
        command = Command((sys.executable, "-m", "jobman_core", str(home)))
        await self._process.start(
            SessionStart(self._roster.process, command, self._roster.log, home, env)
        )

    async def _lives(self) -> bool:
        """Tell whether the process lives; a stopped one hears nobody and is replaced."""
        identity = self._records.read(self._roster.process)
        return identity is not None and identity.state() == "alive"
