"""The facade that front ends call, and the only place that wires the parts together.

``async with App.at(None) as app: jobs = await app.list()``
"""

from jobman_core.app.files import FilesPart
from jobman_core.app.jobs import JobsPart
from jobman_core.app.loop import run
from jobman_core.app.output import OutputPart
from jobman_core.app.own_files import read_config
from jobman_core.app.queues import QueuesPart
from jobman_core.app.reports import ReportsPart
from jobman_core.app.telling import TellingPart
from jobman_core.app.watching import WatchingPart
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Duration

#: What front ends import from here.
__all__ = ["App", "Duration", "read_config", "run"]


class App(
    JobsPart,
    QueuesPart,
    ReportsPart,
    FilesPart,
    TellingPart,
    OutputPart,
    WatchingPart,
):
    """A home, opened by a person. An asynchronous context manager."""

    def acting_for(self, user: str, *, admin: bool = False) -> "App":
        """Give the same home for somebody else: what they do is checked, and told, as theirs.

        It is good for as long as this one is open; to close it closes nothing.

        Args:
            user: who acts.
            admin: they may act on everybody's jobs, whatever the settings say.
        """
        return _Guest(self, user, admin=admin)


class _Guest(App):
    """A home that another app has opened, and somebody else who acts in it."""

    def __init__(self, host: App, user: str, *, admin: bool) -> None:
        """Act in a home through the app that opens and closes it."""
        super().__init__(host._home, user=user, clock=host._clock, plugins=host.plugins_loaded)  # noqa: SLF001 - of its own kind
        self._host = host
        self._admin = admin

    async def _open(self) -> Hub:
        return (await self._host._ready()).acting_as(self.user, admin=self._admin)  # noqa: SLF001 - of its own kind

    async def _close(self) -> None:
        """Leave it open: the host closes it."""
