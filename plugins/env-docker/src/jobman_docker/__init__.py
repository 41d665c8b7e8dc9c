"""Docker containers for jobman."""

from jobman_core import hookimpl
from jobman_core.interfaces.environment import Environment
from jobman_docker.environment import DockerEnvironment

__all__ = ["DockerEnvironment", "jobman_environments"]


@hookimpl
def jobman_environments() -> list[type[Environment]]:
    """Bring the environment called ``docker``."""
    return [DockerEnvironment]
