"""Sessions of jobman in GNU screen."""

from jobman_core import hookimpl
from jobman_core.interfaces.session import Session
from jobman_screen.session import ScreenSession

__all__ = ["ScreenSession", "jobman_sessions"]


@hookimpl
def jobman_sessions() -> list[type[Session]]:
    """Bring the session called ``screen``."""
    return [ScreenSession]
