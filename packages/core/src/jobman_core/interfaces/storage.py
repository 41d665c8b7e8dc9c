"""Storage: what is mounted on the hosts before anything runs."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from jobman_core.command import Command
from jobman_core.interfaces.backend import Backend, Problem
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import JobSpec


class Storage(Backend):
    """Returns commands and knows no transport; its section of a job file has its name."""

    async def check(self, spec: JobSpec) -> Iterable[Problem]:
        """Say what is wrong with the job's section; may ask the storage itself.

        Asked by ``create``, before anything is made.
        """
        del spec
        return ()

    @abstractmethod
    def mount(self, spec: JobSpec) -> Sequence[Command]:
        """Give the commands that mount it on a host, in turn; each may be run again.

        What they start may go on running. One that ends with 75 (``EX_TEMPFAIL``, sysexits.h) met
        something that passes, and is tried again.
        """

    def mounted(self, spec: JobSpec) -> Sequence[str]:
        """Give the argv that ends with 0 where all of it is mounted and answers.

        Asked on hosts where it was mounted before, with a limit of ten seconds; empty: there is no
        way to tell.
        """
        del spec
        return ()

    @abstractmethod
    def unmount(self, spec: JobSpec) -> Sequence[Command]:
        """Give the commands that let go of it, before its hosts are given back."""

    def problems(self, spec: JobSpec) -> Sequence[HostProblem]:
        """Give what can be wrong with it on a host where it was mounted."""
        del spec
        return ()
