"""Environments of conda for jobman."""

from jobman_conda.environment import CondaEnvironment
from jobman_core import hookimpl
from jobman_core.interfaces.environment import Environment

__all__ = ["CondaEnvironment", "jobman_environments"]


@hookimpl
def jobman_environments() -> list[type[Environment]]:
    """Bring the environment called ``conda``."""
    return [CondaEnvironment]
