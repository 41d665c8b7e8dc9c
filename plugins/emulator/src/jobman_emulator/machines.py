"""Where the hosts of nodes come from: what the emulator's API asks of whoever runs them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import attrs


@attrs.frozen
class Machine:
    """One host of a node."""

    index: int
    #: What the hosts of a slice reach one another by.
    internal_ip: str
    #: What SSH clients connect to.
    external_ip: str
    #: ``ssh-ed25519 AAAA…``, with no comment: as guest attributes offer them.
    host_keys: tuple[str, ...] = ()


class Machines(ABC):
    """Where the hosts of nodes come from. A node is known by its full resource name."""

    #: Where SSH answers on every host.
    port: int = 22

    @abstractmethod
    async def boot(self, node: str, count: int, metadata: Mapping[str, str]) -> Sequence[Machine]:
        """Start the hosts of a node; returns when SSH answers on all of them.

        Args:
            node: ``projects/P/locations/Z/nodes/N``.
            count: how many hosts.
            metadata: the node's, and its ``accelerator-type``. ``ssh-keys`` (``USER:KEY`` a line)
                says who gets in, ``startup-script`` what runs at boot.

        Raises:
            OSError: the machine lacks what it takes; the message says what, and nothing is left.
        """

    @abstractmethod
    async def set_metadata(self, node: str, metadata: Mapping[str, str]) -> None:
        """Let the hosts have new metadata: keys that are added later count at once."""

    @abstractmethod
    async def give_notice(self, node: str) -> None:
        """Let the metadata server of the hosts say that they are about to be preempted."""

    @abstractmethod
    async def halt(self, node: str) -> None:
        """End the hosts as a preemption does: connections break.

        When this returns every process of them is gone. A node without hosts is no error.
        """

    @abstractmethod
    async def host_down(self, node: str, index: int) -> None:
        """Let one host vanish; the others go on.

        Raises:
            LookupError: there is no such host.
        """

    @abstractmethod
    def processes(self) -> int:
        """Count the living processes of all hosts."""

    @abstractmethod
    async def aclose(self) -> None:
        """Halt all."""


class NoMachines(Machines):
    """Addresses only, at which nothing answers: for those who need the API alone."""

    def __init__(self) -> None:
        """Start with no hosts."""
        self._counts: dict[str, int] = {}
        self._booted = 0

    async def boot(self, node: str, count: int, metadata: Mapping[str, str]) -> Sequence[Machine]:
        """Give addresses out of the ranges that are kept for documentation."""
        del metadata
        self._counts[node] = count
        self._booted += 1
        net = self._booted % 250
        return [
            Machine(i, f"10.{net}.{i // 250}.{i % 250 + 2}", f"198.18.{net}.{i % 250 + 2}")
            for i in range(count)
        ]

    async def set_metadata(self, node: str, metadata: Mapping[str, str]) -> None:
        """Change nothing."""

    async def give_notice(self, node: str) -> None:
        """Tell nobody."""

    async def halt(self, node: str) -> None:
        """Forget the hosts."""
        self._counts.pop(node, None)

    async def host_down(self, node: str, index: int) -> None:
        """Check that there is such a host; it was silent before."""
        if index not in range(self._counts.get(node, 0)):
            raise LookupError(f"{node} has no host {index}")

    def processes(self) -> int:
        """Count none."""
        return 0

    async def aclose(self) -> None:
        """Forget all hosts."""
        self._counts.clear()
