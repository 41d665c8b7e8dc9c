"""Clouds: where slices come from."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final

import attrs

from jobman_core.errors import HeldError, InvalidInputError
from jobman_core.interfaces.backend import Backend, Problem
from jobman_core.interfaces.host import Host, Runner
from jobman_core.models.billing import Charges, Lacking
from jobman_core.models.quota import Allowances
from jobman_core.models.slice import (
    Observation,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
)

#: What is going is left to go: nothing is forced on it.
_ON_ITS_WAY_OUT: Final = (SlicePhase.LOSING, SlicePhase.DELETING)


@attrs.frozen
class Listed:
    """One slice that a cloud lists, whoever made it: its labels say."""

    name: str
    zone: str
    observation: Present
    #: Tells it from what has had its name before, or will have; empty: its cloud has no such word.
    uid: str = ""
    #: The type, as its cloud calls it; empty where the cloud does not say.
    accelerator: str = ""
    #: ``spot``, ``preemptible``, ``reserved`` or ``ondemand``; empty where the cloud does not say.
    pricing: str = ""

    def check_still(self, now: "Listed") -> bool:
        """Tell whether it is still to be ended, by a newer look at what has its name.

        False: it is on its way out, and left to go.

        Raises:
            HeldError: it is another one by now, or better off than when it was listed.
        """
        was, is_ = self.observation, now.observation
        if (now.uid, dict(is_.labels)) != (self.uid, dict(was.labels)):
            msg = f"{self.name} in {self.zone} is another one by now: it is left alone"
            raise HeldError(msg)
        if is_.phase in _ON_ITS_WAY_OUT:
            return False
        if is_.phase not in (was.phase, SlicePhase.LOST):
            msg = f"{self.name} in {self.zone} was {was.state} and is {is_.state}: it is left alone"
            raise HeldError(msg)
        return True


class Cloud(Backend):
    """A place that gives slices and takes them back.

    Methods may raise :class:`~jobman_core.errors.CloudError`: permanent, transient or
    stock-out. What is not known is answered with ``Unknown``, never guessed.
    """

    #: The zone of a job file that names none; None: it has to.
    default_zone: ClassVar[str | None] = None

    #: Seconds between two looks at a slice on which work runs.
    look_every: ClassVar[float] = 5.0

    #: One list call of a zone, shared by all controllers of a home, is cheaper than a look at each
    #: slice: :meth:`list_slices` tells of a slice all that :meth:`observe` does.
    looks_by_zone: ClassVar[bool] = False

    #: It has books of what it charges: :meth:`costs` can be asked.
    bills: ClassVar[bool] = False

    #: Seconds for which a request whose answer nobody heard may be on its way to the cloud, before
    #: a look tells of it.
    on_the_wire: ClassVar[float] = 10.0

    def check(self, request: SliceRequest) -> Iterable[Problem]:
        """Say what this cloud would refuse of a request, without asking it."""
        del request
        return ()

    def slice_name(self, tpu_name: str, generation: int) -> str:
        """Give the cloud's own name of a generation."""
        return f"{tpu_name}-g{generation}"

    async def project_of(self, request: SliceRequest) -> str:
        """Give the account that pays for a slice, for its identity; empty: there is but one."""
        del request
        return ""

    async def describe_request(
        self, identity: SliceIdentity, request: SliceRequest
    ) -> Sequence[str]:
        """Say, a line each, what :meth:`create` would ask for (for ``create --dry-run``).

        Nothing is asked of the cloud. What may be secret, as values of metadata, is not shown.
        """
        what = f"{request.accelerator} in {request.zone} ({request.pricing})"
        return [f"ask cloud {self.name!r} for slice {identity.name}: {what}"]

    @abstractmethod
    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        """Ask for a slice. Asking again for what is there, or on its way, is no error.

        Returns once the cloud has taken the request on; :meth:`observe` tells what becomes of it. A
        name whose request came to nothing may be asked for anew; what is told from then on is of
        the new request.

        Raises:
            StockoutError: no capacity there now; nothing was left behind.
            PermanentCloudError: asking again cannot help.
            HeldError: a slice of that name exists with labels that are not ours.
        """

    @abstractmethod
    async def observe(self, identity: SliceIdentity) -> Observation:
        """Look at a slice: present, absent or unknown. Never raises for a cloud that is away.

        Absent is proof for ever: while a request for that name is on its way (an operation that has
        not ended) it is present and PENDING, or unknown. READY comes with all the hosts. Why a
        request came to nothing after it was taken on is the ``refusal`` of what is seen.
        """

    @abstractmethod
    async def delete(self, identity: SliceIdentity) -> None:
        """Ask for the end of a slice. What is absent, or on its way out, is no error.

        What is LOSING is left to go by itself: nothing is forced on it. Proof of the end is an
        :meth:`observe` that says absent.
        """

    @abstractmethod
    async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
        """List all slices of a zone, ours and others', that one account pays for.

        What is not listed may be there all the same (a request that was taken on just now): only
        :meth:`observe` says that something is absent.

        Args:
            zone: which.
            project: the account, as an identity has it.

        Raises:
            CloudError: there is no list now; nothing follows from that.
        """

    async def zones(self, project: str = "") -> Sequence[str]:
        """Give the zones in which an account can ask for slices; none: this cloud does not say.

        Args:
            project: the account, as an identity has it.

        Raises:
            CloudError: it could not be asked.
        """
        del project
        return ()

    async def allowances(self, zones: Sequence[str], project: str = "") -> Allowances:
        """Give how much an account may hold in some zones, as far as that can be known.

        Args:
            zones: which; what they are in has limits, too.
            project: the account, as an identity has it.

        Raises:
            CloudError: nothing at all could be asked.
        """
        del zones, project
        return Allowances()

    async def discard(self, listed: Listed, project: str = "") -> None:
        """Ask for the end of what was listed, if it is still that and no better off.

        It is looked at afresh just before: what came back to life, or is another one by the same
        name, is left alone. What is gone, or on its way out, is no error.

        Args:
            listed: as :meth:`list_slices` gave it: ours or others', dead or not.
            project: the account that it was listed for.

        Raises:
            HeldError: it is not what was listed any more, or nobody says whose it is.
            CloudError: the cloud did not do it.
        """
        now = {each.name: each for each in await self.list_slices(listed.zone, project)}
        if listed.name in now and listed.check_still(now[listed.name]):
            labels = listed.observation.labels
            identity = SliceIdentity.from_labels(listed.name, listed.zone, labels, project)
            if identity is None:
                msg = f"{listed.name} in {listed.zone} was not made by jobman: delete it by hand"
                raise HeldError(msg)
            await self.delete(identity)

    def hosts(self, slice_: Slice) -> Sequence[Host] | None:
        """Give the way to each host of a slice that is ready, by index.

        None: the core reaches them by SSH, as the job's ``ssh`` section says.
        """
        del slice_
        return None

    async def host_keys(self, slice_: Slice) -> Mapping[int, Sequence[str]]:
        """Give the public host keys that the cloud vouches for, by host: ``ssh-ed25519 AAAA…``.

        None for a host: the first key that it shows is taken for its own.
        """
        del slice_
        return {}

    def runner(self, slice_: Slice) -> Runner | None:
        """Give the slice's own way to run attempts; None: the core's agent on :meth:`hosts`."""
        del slice_
        return None

    async def preempt(self, identity: SliceIdentity) -> None:
        """Take a slice away as the cloud itself would, to try out a recovery.

        Raises:
            InvalidInputError: this cloud cannot be asked for that.
        """
        msg = f"cloud {self.name!r} cannot be asked to preempt {identity.name}"
        raise InvalidInputError(msg)

    async def costs(self, since: datetime, until: datetime, zone: str) -> Charges | Lacking:
        """Say what was charged in a span of time; what is lacking where that cannot be known yet.

        Args:
            since: the first moment.
            until: the first moment that is not part of it.
            zone: whose days they are: ``Europe/Paris``, or ``+01:00``.

        Raises:
            InvalidInputError: the settings are wrong.
            CloudError: the books could not be read.
        """
        del since, until, zone
        return Lacking(f"cloud {self.name!r} does not say what it charges")

    async def aclose(self) -> None:
        """Let go of connections."""

    @staticmethod
    def option(request: SliceRequest, key: str, default: Any = None) -> Any:  # noqa: ANN401
        """Read one of the request's options."""
        return request.options.get(key, default)
