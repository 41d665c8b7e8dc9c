"""Clouds: where slices come from."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import attrs

from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Backend, Problem
from jobman_core.interfaces.host import Host, Runner
from jobman_core.models.slice import Observation, Present, Slice, SliceIdentity, SliceRequest


@attrs.frozen
class Listed:
    """One slice that a cloud lists."""

    name: str
    zone: str
    observation: Present


class Cloud(Backend):
    """A place that gives slices and takes them back.

    Methods may raise :class:`~jobman_core.errors.CloudError`: permanent, transient or
    stock-out. What is not known is answered with ``Unknown``, never guessed.
    """

    #: The zone of a job file that names none; None: it has to.
    default_zone: ClassVar[str | None] = None

    #: Seconds between two looks at a slice on which work runs.
    look_every: ClassVar[float] = 5.0

    def check(self, request: SliceRequest) -> Iterable[Problem]:
        """Say what this cloud would refuse of a request, without asking it."""
        del request
        return ()

    def slice_name(self, tpu_name: str, generation: int) -> str:
        """Give the cloud's own name of a generation."""
        return f"{tpu_name}-g{generation}"

    def describe_request(self, request: SliceRequest, name: str) -> Sequence[str]:
        """Say, a line each, what would be asked of the cloud (for ``create --dry-run``)."""
        what = f"{request.accelerator} in {request.zone} ({request.pricing})"
        return [f"ask cloud {self.name!r} for slice {name}: {what}"]

    @abstractmethod
    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        """Ask for a slice. Asking again for what is there, or on its way, is no error.

        Returns once the cloud has taken the request on; :meth:`observe` tells what becomes of it.

        Raises:
            StockoutError: no capacity there now; nothing was left behind.
            PermanentCloudError: asking again cannot help.
            HeldError: a slice of that name exists with labels that are not ours.
        """

    @abstractmethod
    async def observe(self, identity: SliceIdentity) -> Observation:
        """Look at a slice: present, absent or unknown. Never raises for a cloud that is away."""

    @abstractmethod
    async def delete(self, identity: SliceIdentity) -> None:
        """Ask for the end of a slice. What is absent, or on its way out, is no error.

        Proof of the end is an :meth:`observe` that says absent.
        """

    @abstractmethod
    async def list_slices(self, zone: str) -> Sequence[Listed]:
        """List all slices of a zone, ours and others'."""

    @abstractmethod
    def hosts(self, slice_: Slice) -> Sequence[Host]:
        """Give the way to each host of a slice that is ready, by index."""

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

    async def aclose(self) -> None:
        """Let go of connections."""

    @staticmethod
    def option(request: SliceRequest, key: str, default: Any = None) -> Any:  # noqa: ANN401
        """Read one of the request's options."""
        return request.options.get(key, default)
