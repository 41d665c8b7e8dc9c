"""Sessions of jobman in tmux."""

from jobman_core import hookimpl
from jobman_core.interfaces.session import Session
from jobman_tmux.session import TmuxSession

__all__ = ["TmuxSession", "jobman_sessions"]


@hookimpl
def jobman_sessions() -> list[type[Session]]:
    """Bring the session called ``tmux``."""
    return [TmuxSession]
