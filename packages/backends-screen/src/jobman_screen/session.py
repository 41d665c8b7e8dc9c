"""Sessions in GNU screen: what the controller says can be looked at with ``attach``."""

from jobman_core.command import Command
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.pane import PaneSession
from jobman_screen.screens import Screens


class ScreenSession(PaneSession):
    """A screen of its own for each session, in a socket folder of the home's own."""

    name = "screen"
    #: screen takes 80, and a socket's whole path may have about a hundred.
    longest = 40

    def __init__(self, context: Context) -> None:
        """Keep where the home's screens are."""
        self._screens = Screens.of_home(context.home_id)
        super().__init__(context, self._screens)

    def missing(self) -> str | None:
        """Say how to install screen, where it is not on PATH."""
        if self._screens.installed():
            return None
        return (
            "screen is not installed: install it (on Debian or Ubuntu: apt-get install screen), or "
            "set job.session to process"
        )

    def attach(self, name: str) -> Command:
        """Give the command that shows the session here, also from within the user's own screen.

        Raises:
            CommandFailedError: the folder of the home's screens is not the user's alone.
        """
        folder, argv = self._screens.folder, self._screens.attach_argv(self.pane_of(name))
        return Command(("env", "-u", "STY", f"SCREENDIR={folder}", *argv))
