"""One host in a network namespace: what it is made of, how it starts and ends, what it is told."""

import asyncio
import contextlib
import os
import signal
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from jobman_emulator import netns
from jobman_emulator.accounts import keys_of
from jobman_emulator.devices import devices_of
from jobman_emulator.machines import Machine
from jobman_emulator.metadata_server import ADDRESS, MetadataServer, Tree

_BOOT = Path(__file__).with_name("netns_boot.sh")
_ACCOUNTS = Path(__file__).with_name("netns_accounts.sh")
_SSH = 22
#: Seconds that a host may take until SSH answers.
_PATIENCE = 60.0


@attrs.define(eq=False)
class NetnsHost:
    """A host, from the time when its namespace is there."""

    index: int
    #: The name of its namespace, and of its link's end on this machine.
    link: str
    address: str
    #: ``ssh-ed25519 AAAA…``.
    host_key: str
    #: What it is made of; nothing of it is needed once it runs.
    folder: Path
    console: Path
    server: MetadataServer
    #: ``unshare``, which leaves when the host's first process does.
    _process: asyncio.subprocess.Process | None = None
    #: The host's first process; 0: not known yet.
    _init: int = 0
    #: Its process namespace; 0: not known yet.
    _inside: int = 0

    @classmethod
    def new(
        cls,
        site: netns.Site,
        serial: int,
        node: str,
        index: int,
        *,
        metadata: Mapping[str, str],
        consoles: Path | None,
    ) -> "NetnsHost":
        """Write down what a host is made of."""
        import asyncssh

        key = asyncssh.generate_private_key("ssh-ed25519")
        name = f"{node.rpartition('/')[2]}-w-{index}"
        folder = site.folder / str(serial)
        folder.mkdir(mode=0o700)
        files = {
            "hostname": f"{name[:64]}\n",
            "boot_id": f"{uuid.uuid4()}\n",
            "host_key": key.export_private_key().decode(),
            "keys": _lines(metadata),
            "devices": "".join(f"{path}\n" for path in devices_of(metadata)),
        }
        if script := metadata.get("startup-script"):
            files["startup-script"] = script
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8")
        address = site.address(serial)
        return cls(
            index=index,
            link=site.host(serial),
            address=address,
            host_key=key.export_public_key().decode().strip(),
            folder=folder,
            console=(consoles or folder) / f"{name}.console",
            server=_server(node, name, address),
        )

    def machine(self) -> Machine:
        """Tell how it is reached."""
        return Machine(self.index, self.address, self.address, (self.host_key,))

    def tell(self, metadata: Mapping[str, str], addresses: Sequence[str]) -> None:
        """Let its metadata server say what the node's metadata is, and who else is in the slice."""
        told = {
            **metadata,
            "agent-worker-number": str(self.index),
            "worker-network-endpoints": ",".join(f"unknown:unknown:{ip}" for ip in addresses),
        }
        self.server.change("attributes", told)

    async def start(self, disk: str) -> None:
        """Start the host, and its metadata server before it.

        Args:
            disk: the most that it may write.
        """
        await self.server.serve(netns.socket_inside(self.link, ADDRESS, 80))
        with self.console.open("wb") as console:
            self._process = await asyncio.create_subprocess_exec(
                *("nsenter", f"--net=/run/netns/{self.link}"),
                *("unshare", "--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child"),
                *("bash", str(_BOOT), str(self.folder), f"{self.address}/16", disk),
                str(_ACCOUNTS),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                # Ctrl-C is for the emulator.
                start_new_session=True,
                cwd="/",
            )

    async def answers(self) -> None:
        """Wait until SSH answers.

        Raises:
            OSError: the host ended, or takes too long.
        """
        deadline = time.monotonic() + _PATIENCE
        # Not earlier: an address that nobody answers for yet costs a second.
        while not (self._listens() and await _greeted(self.address)):
            ended = self._process is None or self._process.returncode is not None
            if ended or time.monotonic() > deadline:
                raise OSError(f"host {self.index} did not come up: {self._last_words()}")
            await asyncio.sleep(0.03)
        self._look()

    async def let_in(self, metadata: Mapping[str, str]) -> None:
        """Let in who has a key in this metadata, and nobody else.

        Raises:
            OSError: the host refused.
        """
        script = _ACCOUNTS.read_text(encoding="utf-8")
        await netns.run(
            *("nsenter", f"--target={self._init}", "--mount", "--pid", "--uts", "--ipc", "--net"),
            *("--wd=/", "bash", "-c", script),
            given=_lines(metadata),
        )

    def inside(self) -> int:
        """Give its process namespace, as the number that /proc has; 0: it has none yet."""
        self._look()
        return self._inside

    def kill(self) -> None:
        """Kill all its processes at once: so a process namespace ends when its first one does."""
        if self._process is None or self._process.returncode is not None:
            return
        self._look()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._init or self._process.pid, signal.SIGKILL)

    async def gone(self) -> None:
        """Wait until none of its processes is left after it was killed.

        Raises:
            OSError: the kernel holds one.
        """
        if self._process is not None:
            await self._process.wait()
            if not self._init:
                await netns.end_all(self.link)
        await self.server.aclose()

    def _look(self) -> None:
        """Learn what its processes are known by, as soon as there is one."""
        if self._process is None or self._init:
            return
        try:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
            if found := children.read_text(encoding="ascii").split():
                self._inside = Path(f"/proc/{found[0]}/ns/pid").stat().st_ino
                self._init = int(found[0])
        except OSError:
            return  # it has ended

    def _listens(self) -> bool:
        return b"Server listening" in self.console.read_bytes()

    def _last_words(self) -> str:
        said = self.console.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return "; ".join(line.strip() for line in said[-3:]) or "it said nothing"


def _server(node: str, name: str, address: str) -> MetadataServer:
    parts = node.split("/")
    of = dict(zip(parts[::2], parts[1::2], strict=False))
    project, zone = of.get("projects", ""), of.get("locations", "")
    instance: dict[str, Tree] = {
        "attributes": {},
        "hostname": f"{name}.{zone}.c.{project}.internal",
        "maintenance-event": "NONE",
        "name": name,
        "network-interfaces": {"0": {"ip": address}},
        "preempted": "FALSE",
        "zone": f"projects/{project}/zones/{zone}",
    }
    return MetadataServer(instance, {"project-id": project})


def _lines(metadata: Mapping[str, str]) -> str:
    return "".join(f"{user} {key}\n" for user, keys in keys_of(metadata).items() for key in keys)


async def _greeted(address: str) -> bool:
    """Tell whether an SSH server says who it is."""
    loop = asyncio.get_running_loop()
    with socket.socket() as probe:
        probe.setblocking(False)
        try:
            async with asyncio.timeout(1.0):
                await loop.sock_connect(probe, (address, _SSH))
                return (await loop.sock_recv(probe, 4)) == b"SSH-"
        except OSError:  # a time-out is one too
            return False
