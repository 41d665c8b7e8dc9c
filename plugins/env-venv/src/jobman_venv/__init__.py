"""Virtual environments of Python for jobman."""

from jobman_core import hookimpl
from jobman_core.interfaces.environment import Environment
from jobman_venv.environment import VenvEnvironment

__all__ = ["VenvEnvironment", "jobman_environments"]


@hookimpl
def jobman_environments() -> list[type[Environment]]:
    """Bring the environment called ``venv``."""
    return [VenvEnvironment]
