"""A home whose slices come from an emulated Cloud TPU, with hosts that are reached by SSH."""

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import asyncssh
from tests.support.lab import Lab

from jobman_emulator.hosts import make_hosts
from jobman_emulator.machines import Machines
from jobman_emulator.testing import Running, running

#: A zone that has v4, and one that has v2, v3 and v6e.
ZONE, OTHER_ZONE = "us-central2-b", "us-central1-b"


class CloudLab(Lab):
    """A home below a folder of its own, and the emulator that its jobs get their slices from."""

    cloud = "gcp"
    zone = ZONE
    #: More happens for each thing that does, and all of it on one machine; and OpenSSH gives up on
    #: a machine that vanished without a word after 20 s.
    patience = 80.0

    def __init__(self, root: Path, emulator: Running, machines: Machines, ssh_port: int) -> None:
        """Make the home, with a key that its job files name.

        Args:
            root: the home.
            emulator: runs, and is not ended with this.
            machines: its hosts.
            ssh_port: where they answer.
        """
        super().__init__(root)
        self.emulator = emulator
        self.machines = machines
        self.env |= emulator.env()
        self.ssh_port = ssh_port
        self.key = root / "person/.ssh/id_ed25519"
        self.key.parent.mkdir(mode=0o700)
        asyncssh.generate_private_key("ssh-ed25519").write_private_key(self.key)
        self.key.chmod(0o600)
        self.ssh()

    def ssh(self, *more: str) -> None:
        """Let job files that are written from now on say so in their section ``ssh``."""
        lines = ["ssh:", f"private_key: {self.key}", f"port: {self.ssh_port}", *more]
        self.sections = "\n  ".join(lines)

    def slice(self, job: str) -> str:
        """Give the cloud's name of a job's newest slice."""
        return str(self.json("show", job)["slice"]["name"])

    def preempt(self, job: str, *, order: str = "suspending-first") -> None:
        """Let the cloud take a job's slice away."""
        self.emulator.preempt(self.slice(job), order=order)

    def cut_links(self) -> None:
        """Kill all that this home has of OpenSSH: connections, and calls over them."""
        for process in self.processes():
            pid, _, argv = process.partition(": ")
            if argv.startswith(("b'ssh", 'b"ssh')):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)

    def states(self) -> dict[str, str]:
        """Give the state of all that exists at the cloud, by ``nodes/ID`` and so on."""
        found = self.emulator.resources()
        return {"/".join(name.split("/")[-2:]): state for name, state in found.items()}

    def slices(self) -> list[str]:
        """List what exists at the cloud."""
        return list(self.states())

    def close(self) -> None:
        """Delete every job; then the emulator counts nothing."""
        super().close()
        assert self.emulator.counts().empty, self.emulator.counts()


@contextmanager
def cloud_lab(
    root: Path, *, hosts: str | Callable[[Path], Machines] = "process", **settings: Any
) -> Iterator[CloudLab]:
    """Give a home and an emulator; at the end nothing of them is left.

    Args:
        root: a folder for both.
        hosts: ``process`` or, for root, ``netns``; or what makes others in a folder.
        settings: of the emulator, see :func:`jobman_emulator.testing.running`.
    """
    made: list[Machines] = []

    def make() -> Machines:
        folder = root / "hosts"
        if isinstance(hosts, str):
            made.append(make_hosts(hosts, folder, port=0 if hosts == "process" else None))
        else:
            made.append(hosts(folder))
        return made[0]

    # The names of sockets are short, those of tests are not.
    with tempfile.TemporaryDirectory(prefix="jobman-") as runtime, running(make, **settings) as up:
        lab = CloudLab(root / "lab", up, made[0], getattr(made[0], "port", 22))
        lab.env["XDG_RUNTIME_DIR"] = runtime
        # All that OpenSSH leaves in the name of a connection's process is its socket.
        lab.marks.append(f"{runtime}/jobman/")
        # For what acts within the test's own process.
        with mock.patch.dict(os.environ, {**up.env(), "XDG_RUNTIME_DIR": runtime}):
            yield lab
            lab.close()
