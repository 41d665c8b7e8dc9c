"""Environments: what a program finds around it (venv, conda, docker, …)."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from jobman_core.command import Command
from jobman_core.interfaces.backend import Backend, Problem
from jobman_core.models.job import JobSpec


class Environment(Backend):
    """Returns commands and knows no transport."""

    def check(self, spec: JobSpec) -> Iterable[Problem]:
        """Say what is wrong with the job's section."""
        del spec
        return ()

    @abstractmethod
    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        """Give the commands that make the environment on a host; each may be run again."""

    @abstractmethod
    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        """Give the command that runs another one inside the environment."""
