"""Environments: what a program finds around it (venv, conda, docker, …)."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from jobman_core.command import Command
from jobman_core.interfaces.backend import Backend, Problem
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import JobSpec


class Environment(Backend):
    """Returns commands and knows no transport.

    Methods read only files that a job file names; they are called in threads.
    """

    def check(self, spec: JobSpec) -> Iterable[Problem]:
        """Say what is wrong with the job's section."""
        del spec
        return ()

    @abstractmethod
    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        """Give the commands that make the environment on a host, in turn; each may be run again.

        They are not run where the very same ones went well since the machine was started: whatever
        the environment depends on (the content of a requirements file) belongs into them. One that
        ends with 75 (``EX_TEMPFAIL``, sysexits.h) met something that passes, and is tried again.

        Args:
            spec: the job.
            name: of another environment than the job's own, where a task wants one.
        """

    @abstractmethod
    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        """Give the command that runs another one inside the environment."""

    def end(self, spec: JobSpec, token: str) -> Command | None:
        """Give what ends on a host all that an attempt has outside its own processes.

        Run once those are gone; it ends with 0 when nothing of the attempt is left, also where
        there was nothing. None: nothing can be.

        Args:
            spec: the job.
            token: names the attempt; its program has it in ``JOBMAN_ATTEMPT_TOKEN``, behind which
                a dot and more may follow.
        """
        del spec, token
        return None

    def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
        """Give what can be wrong with the environment on a host that was set up."""
        del spec
        return ()
