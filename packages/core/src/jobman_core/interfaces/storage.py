"""Storage: what is mounted on the hosts before anything runs."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from jobman_core.command import Command
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Backend, Problem
from jobman_core.interfaces.problem import HostProblem
from jobman_core.models.job import JobSpec
from jobman_core.models.storage import BucketSize, Tell


class Storage(Backend):
    """Returns commands and knows no transport; its section of a job file has its name."""

    #: It knows what its buckets hold: :meth:`buckets` and :meth:`sizes` can be asked.
    measures: ClassVar[bool] = False

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

    def buckets_of(self, spec: JobSpec) -> Sequence[str]:
        """Give the names of the buckets that a job's section mounts."""
        del spec
        return ()

    async def buckets(self, project: str = "") -> Sequence[str]:
        """Give the names of all buckets of an account.

        Args:
            project: the account; empty: that of whoever asks.

        Raises:
            CloudError: they cannot be listed; nothing follows from that.
            InvalidInputError: there is no such list of this storage.
        """
        del project
        raise self._unmeasured()

    async def sizes(
        self,
        buckets: Sequence[str],
        *,
        project: str = "",
        exact: bool = False,
        tell: Tell | None = None,
    ) -> Sequence[BucketSize]:
        """Say what each bucket holds, in their order; why not, in its ``trouble``.

        Args:
            buckets: their names, as people write them.
            project: the account that is asked where a bucket does not say whose it is.
            exact: count every object, by top-level folder, which takes as long as it takes.
            tell: hears what is known of a bucket so far, while its objects are counted.

        Raises:
            InvalidInputError: this storage does not know.
        """
        del buckets, project, exact, tell
        raise self._unmeasured()

    def _unmeasured(self) -> InvalidInputError:
        return InvalidInputError(
            f"storage {self.name!r} cannot say what it holds: ask what it is made of"
        )
