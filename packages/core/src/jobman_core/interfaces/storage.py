"""Storage: what is mounted on the hosts before anything runs."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from jobman_core.command import Command
from jobman_core.interfaces.backend import Backend, Problem
from jobman_core.models.job import JobSpec


class Storage(Backend):
    """Returns commands and knows no transport."""

    async def check(self, spec: JobSpec) -> Iterable[Problem]:
        """Say what is wrong with the job's section; may ask the storage itself."""
        del spec
        return ()

    @abstractmethod
    def mount(self, spec: JobSpec) -> Sequence[Command]:
        """Give the commands that mount it on a host; each may be run again."""

    @abstractmethod
    def unmount(self, spec: JobSpec) -> Sequence[Command]:
        """Give the commands that let go of it."""
