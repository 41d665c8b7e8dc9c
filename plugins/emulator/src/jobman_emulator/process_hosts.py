"""Hosts without root: each has an address, a home folder and processes of its own, and SSH."""

import asyncio
import itertools
import os
import secrets
import shutil
import socket
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address
from pathlib import Path

import attrs
from asyncssh import SSHAcceptor, SSHKey, SSHServerConnection

from jobman_core.process import unhurried
from jobman_emulator.accounts import keys_of
from jobman_emulator.inits import Init, Inits
from jobman_emulator.machines import Machine, Machines
from jobman_emulator.ssh_door import Door, environment

#: Where hosts have their addresses: this machine's, and in nobody's way.
_FIRST = int(IPv4Address("127.64.0.1"))
_COUNT = 1 << 22
#: How many addresses are tried: those of another emulator are passed over.
_TRIES = 300


@attrs.define(eq=False)
class _Host:
    index: int
    name: str
    address: str
    folder: Path
    init: Init
    host_key: str
    acceptor: SSHAcceptor
    connections: set[SSHServerConnection]
    startup: asyncio.Task[int] | None = None

    def vanish(self) -> None:
        """Break all connections, and take no more."""
        self.acceptor.close()
        for connection in list(self.connections):
            connection.abort()


@attrs.define(eq=False)
class _Node:
    #: ``KIND BASE64`` by user.
    keys: Mapping[str, Sequence[str]]
    folder: Path
    hosts: dict[int, _Host] = attrs.field(factory=dict)
    down: set[int] = attrs.field(factory=set)
    #: One thing at a time is done to it: who halts it while it boots waits.
    busy: asyncio.Lock = attrs.field(factory=asyncio.Lock)


class ProcessHosts(Machines):
    """Hosts that are folders and trees of processes, reached by SSH in this very event loop.

    They share this machine's users, files, devices and boot id: the user that one logs in as is
    but a name. What each has for itself is its address, its home and temporary folder, its host
    key and its processes.
    """

    def __init__(self, folder: Path, *, port: int = 2222, latency: float = 0.0) -> None:
        """Start with no hosts.

        Args:
            folder: where they have their folders; made when needed.
            port: where all of them listen, each on its own address; 0: a free one.
            latency: seconds that each connection and each command is held up for.
        """
        self.port = port or _free_port()
        self.latency = latency
        self._folder = folder
        self._inits = Inits()
        self._nodes: dict[str, _Node] = {}
        self._booted = 0
        self._addresses = itertools.count(secrets.randbelow(_COUNT))

    async def boot(self, node: str, count: int, metadata: Mapping[str, str]) -> Sequence[Machine]:
        """Start the hosts of a node.

        The startup script is run by whoever runs the emulator, with its output in
        ``startup-script.log`` beside the home folder.

        Raises:
            OSError: no address or no folder is to be had.
        """
        if node in self._nodes:
            raise FileExistsError(f"{node} has hosts: halt them first")
        self._booted += 1
        folder = self._folder / f"{node.rpartition('/')[2]}-{self._booted}"
        made = self._nodes[node] = _Node(keys_of(metadata), folder)
        async with made.busy:
            try:
                for index in range(count):
                    # Whole, so that a boot that is given up knows what it has to end.
                    await unhurried(self._start(made, index))
            except BaseException:
                await unhurried(self._drop(node, made))
                raise
            if script := metadata.get("startup-script"):
                for host in made.hosts.values():
                    host.startup = asyncio.create_task(_run_startup(host, script))
        return [
            Machine(host.index, host.address, host.address, (host.host_key,))
            for host in made.hosts.values()
        ]

    async def set_metadata(self, node: str, metadata: Mapping[str, str]) -> None:
        """Let who has a key now log in, and nobody else."""
        if node in self._nodes:
            self._nodes[node].keys = keys_of(metadata)

    async def give_notice(self, node: str) -> None:
        """Tell nobody: these hosts have no metadata server."""

    async def halt(self, node: str) -> None:
        """Break all connections and end all processes, then remove the folders."""
        if made := self._nodes.get(node):
            async with made.busy:
                await unhurried(self._drop(node, made))

    async def host_down(self, node: str, index: int) -> None:
        """Let one host vanish: connections to it break, new ones are refused.

        Raises:
            LookupError: there is no such host.
        """
        made = self._nodes.get(node)
        if made is None or index not in {*made.hosts, *made.down}:
            raise LookupError(f"{node} has no host {index}")
        async with made.busy:
            if index in made.hosts:
                made.down.add(index)
                await unhurried(self._end([made.hosts.pop(index)]))

    def processes(self) -> int:
        """Count the living processes of all hosts."""
        return self._inits.processes()

    async def aclose(self) -> None:
        """Halt all."""
        for node in list(self._nodes):
            await self.halt(node)
        await self._inits.aclose()

    async def _drop(self, name: str, node: _Node) -> None:
        """End all hosts of a node and forget it."""
        await self._end(node.hosts.values())
        await asyncio.to_thread(shutil.rmtree, node.folder, ignore_errors=True)
        if self._nodes.get(name) is node:
            del self._nodes[name]

    async def _start(self, node: _Node, index: int) -> None:
        import asyncssh

        folder = node.folder / f"host-{index}"
        for part in ("home", "tmp"):
            (folder / part).mkdir(parents=True, mode=0o700)
        key = asyncssh.generate_private_key("ssh-ed25519")
        init = await self._inits.boot()
        connections: set[SSHServerConnection] = set()
        door = Door(
            name=f"{node.folder.name}/{index}",
            folder=folder,
            init=init,
            allows=lambda user, offered: offered in node.keys.get(user, ()),
            latency=lambda: self.latency,
            connections=connections,
        )
        try:
            address, acceptor = await self._listen(door, key)
        except BaseException:
            await self._inits.end([init])
            raise
        host_key = key.export_public_key().decode().strip()
        node.hosts[index] = _Host(
            index, door.name, address, folder, init, host_key, acceptor, connections
        )

    async def _listen(self, door: Door, key: SSHKey) -> tuple[str, SSHAcceptor]:
        """Open the door on the next address whose port nobody has."""
        for _ in range(_TRIES):
            address = str(IPv4Address(_FIRST + next(self._addresses) % (_COUNT - 2)))
            try:
                return address, await door.listen(address, self.port, key)
            except OSError as error:
                refusal = error
        raise OSError(
            f"no address in 127.64.0.0/10 is free at port {self.port}: {refusal}; choose another"
        )

    async def _end(self, hosts: Iterable[_Host]) -> None:
        ending = list(hosts)
        for host in ending:
            host.vanish()
        await self._inits.end(host.init for host in ending)
        startups = [host.startup for host in ending if host.startup is not None]
        await asyncio.gather(*startups, return_exceptions=True)


async def _run_startup(host: _Host, script: str) -> int:
    """Run a node's startup script once, as a file."""
    file = host.folder / "startup-script"
    file.write_text(script, encoding="utf-8")
    file.chmod(0o700)
    log = os.open(host.folder / "startup-script.log", os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC)
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    # Bash also starts a script that does not say by what.
    argv = ("/bin/bash", "bash", "-c", '"$0"', str(file))
    env = environment(host.folder, "root", host.name)
    return await host.init.run(argv, env, host.folder / "home", [null, log, log])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
