"""Sessions in tmux: what the controller says can be looked at with ``attach``."""

from jobman_core.command import Command
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.pane import PaneSession
from jobman_tmux.server import Server


class TmuxSession(PaneSession):
    """A tmux session on a server of the home's own, which ends with its last session."""

    name = "tmux"

    def __init__(self, context: Context) -> None:
        """Keep the home's server."""
        self._server = Server(f"jobman-{context.home_id[:8]}")
        super().__init__(context, self._server)

    def missing(self) -> str | None:
        """Say how to install tmux, where it is not on PATH."""
        if self._server.installed():
            return None
        return (
            "tmux is not installed: install it (on Debian or Ubuntu: apt-get install tmux), or "
            "set job.session to process"
        )

    def attach(self, name: str) -> Command:
        """Give the command that shows the session here, also from within the user's own tmux."""
        argv = self._server.argv("attach-session", "-t", f"={self.pane_of(name)}")
        return Command(("env", "-u", "TMUX", "-u", "TMUX_PANE", "tmux", *argv))
