"""Hosts, and the runners that keep attempts on them."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence

import attrs

from jobman_core.command import Command, Exit
from jobman_core.errors import InvalidInputError
from jobman_core.models.attempt import AttemptRef, HostReport, LaunchPlan


@attrs.frozen
class HostFacts:
    """What the agent must know of the machine that it is on."""

    #: A file whose content changes when the machine is started again.
    boot_id_file: str = "/proc/sys/kernel/random/boot_id"
    #: The machine is the slice's alone: leftovers may be swept, devices and lock files too.
    own_machine: bool = True
    #: Device files that only one program can hold, as shell patterns without spaces.
    devices: tuple[str, ...] = ("/dev/accel*", "/dev/vfio/*")
    #: What libtpu leaves behind when it is killed.
    device_lock: str = "/tmp/libtpu_lockfile"  # noqa: S108 - libtpu chose it
    #: Where each command runs below a keeper (``JOBMAN_KEEPER`` names it): the argv that, with
    #: that name and seconds of grace, ends all of it and prints how many processes are left.
    ender: tuple[str, ...] = ()


@attrs.frozen
class Entry:
    """What to become on this machine, to be on a host."""

    argv: Sequence[str]
    #: The whole environment; None: that of whoever enters.
    env: Mapping[str, str] | None = attrs.field(default=None, repr=False)


class Host(ABC):
    """One machine of a slice. Neither method promises an address or a port."""

    #: Its index in the slice.
    index: int
    facts: HostFacts

    @abstractmethod
    async def run(self, command: Command, *, limit: float) -> Exit:
        """Run a command in the home folder of the host, and give its exit and output.

        Args:
            command: its own processes may outlive it (unless it is ``transient``).
            limit: seconds after which to give up on the answer, which ends nothing on the host.

        Raises:
            HostUnreachableError: no answer. The command may have run, or run still.
        """

    @abstractmethod
    async def put(self, content: bytes, path: str, *, mode: int = 0o600) -> None:
        """Write a file, whole or not at all; missing folders are made (0700).

        Args:
            content: the file's bytes.
            path: relative to the host's home folder.
            mode: permission bits.

        Raises:
            HostUnreachableError: no answer.
            CommandFailedError: the host refused (no space, read-only).
        """

    async def enter(self, argv: Sequence[str] = ()) -> Entry:
        """Give what enters the host from here, and ends as what was run there does.

        Args:
            argv: what to run in its home folder; nothing: a shell, on this terminal.

        Raises:
            InvalidInputError: there is no way in.
            HostUnreachableError: it cannot be reached now.
        """
        del argv
        raise InvalidInputError(f"host {self.index} has no way in: `jobman logs` shows its output")


@attrs.frozen
class EndReport:
    """What became of an order to end an attempt on one host."""

    host: int
    #: Nothing of the attempt runs there any more: proof.
    confirmed: bool
    detail: str = ""
    #: The host had a trace of the attempt. Without one, only what was never started there is over.
    known: bool = True


class Runner(ABC):
    """Keeps attempts on the hosts of one slice. They outlive it, and whoever comes next adopts."""

    @abstractmethod
    async def launch(self, attempt: AttemptRef, plan: LaunchPlan) -> None:
        """Start an attempt on all its hosts; on those where it was started before, do nothing.

        Ends first whatever an older attempt left there.

        Raises:
            StaleLeaseError: a host has seen a newer epoch.
            HostUnreachableError: names the hosts that did not answer; others may have started.
            CommandFailedError: a host refused.
        """

    @abstractmethod
    async def poll(self, attempt: AttemptRef) -> Mapping[int, HostReport]:
        """Ask every host at once what it knows of an attempt; no output, no waiting."""

    @abstractmethod
    def follow(
        self, attempt: AttemptRef, offsets: Mapping[int, int]
    ) -> AsyncGenerator[HostReport, None]:
        """Yield reports of all hosts as they come, with the output from these offsets on.

        A report comes at once when a host's state changes, soon when there is output, and now and
        then all the same. A host is followed until it says DONE, LOST, ENDED or NONE, and on
        from there, in that state, until all the output that it had then was given; one that does
        not answer yields SILENT reports, until it does.
        """

    @abstractmethod
    async def end(self, attempt: AttemptRef, *, grace: float) -> Mapping[int, EndReport]:
        """End an attempt on all its hosts: TERM, so many seconds of grace, KILL, confirmed.

        An attempt that a host never heard of is refused there from now on.

        Raises:
            StaleLeaseError: a host has seen a newer epoch.
        """
