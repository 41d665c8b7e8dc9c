"""Hosts for root: machines of their own in all but the kernel, with a real sshd on port 22."""

import asyncio
import itertools
import os
import shutil
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from jobman_core.process import unhurried
from jobman_emulator import netns
from jobman_emulator.machines import Machine, Machines
from jobman_emulator.netns_host import NetnsHost

#: Each program that hosts are made with, and the Debian package that brings it.
_NEEDED = {
    "ip": "iproute2",
    "nsenter": "util-linux",
    "pivot_root": "util-linux",
    "sshd": "openssh-server",
    "unshare": "util-linux",
    "useradd": "passwd",
}


@attrs.define(eq=False)
class _Node:
    name: str
    count: int
    hosts: dict[int, NetnsHost] = attrs.field(factory=dict)
    #: Of all, also those that are down.
    addresses: list[str] = attrs.field(factory=list)
    #: One thing at a time is done to it: who halts it while it boots waits.
    busy: asyncio.Lock = attrs.field(factory=asyncio.Lock)


class NetnsHosts(Machines):
    """Hosts with an address, processes, users, packages, files and a boot id of their own.

    They see this machine's disk as it is, and write to one in memory. They reach one another and
    this machine (as ``gateway``), and nothing beyond. No security boundary: root there is root.
    """

    def __init__(self, folder: Path | None = None, *, disk: str = "4g") -> None:
        """Start with no hosts.

        Args:
            folder: where what their consoles said stays, as ``HOSTNAME.console``.
            disk: the most that a host may write, which is memory, as tmpfs takes it.
        """
        self._consoles = folder
        self._disk = disk
        self._site: netns.Site | None = None
        self._opening = asyncio.Lock()
        self._nodes: dict[str, _Node] = {}
        self._serials = itertools.count(8)

    @staticmethod
    def missing() -> str | None:
        """Say what this machine lacks, and what to do; None: nothing."""
        if os.geteuid():
            return "hosts in network namespaces need root: run as root, or use process hosts"
        path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
        lacking = [name for name in _NEEDED if not shutil.which(name, path=path)]
        if not lacking:
            return None
        packages = " ".join(sorted({_NEEDED[name] for name in lacking}))
        return f"hosts lack {', '.join(lacking)} on this machine: apt-get install {packages}"

    @property
    def gateway(self) -> str:
        """This machine's address as hosts see it; empty before the first boot."""
        return self._site.gateway if self._site else ""

    async def boot(self, node: str, count: int, metadata: Mapping[str, str]) -> Sequence[Machine]:
        """Start the hosts of a node.

        The startup script runs as root, with its output in ``/var/log/startup-script.log``.
        ``accelerator-type`` in the metadata decides on the devices.

        Raises:
            OSError: the machine lacks something, or a host did not come up.
        """
        if node in self._nodes:
            raise FileExistsError(f"{node} has hosts: halt them first")
        made = self._nodes[node] = _Node(node, count)
        async with made.busy:
            try:
                site = await self._open()
                await unhurried(self._prepare(site, made, metadata))
                hosts = list(made.hosts.values())
                await unhurried(_all(host.start(self._disk) for host in hosts))
                await _all(host.answers() for host in hosts)
            except BaseException:
                await unhurried(self._end(made))
                raise
        return [host.machine() for host in hosts]

    async def set_metadata(self, node: str, metadata: Mapping[str, str]) -> None:
        """Let the metadata servers say it, and let in who has a key now, and nobody else."""
        if made := self._nodes.get(node):
            async with made.busy:
                for host in made.hosts.values():
                    host.tell(metadata, made.addresses)
                await _all(host.let_in(metadata) for host in made.hosts.values())

    async def give_notice(self, node: str) -> None:
        """Let the metadata servers say that the hosts are being preempted."""
        if made := self._nodes.get(node):
            for host in made.hosts.values():
                host.server.change("preempted", "TRUE")

    async def halt(self, node: str) -> None:
        """End the hosts; their connections are closed by the kernel, as it does for the killed."""
        if made := self._nodes.get(node):
            async with made.busy:
                await unhurried(self._end(made))

    async def host_down(self, node: str, index: int) -> None:
        """Let one host vanish: it falls silent in the middle of whatever it was saying.

        Raises:
            LookupError: there is no such host.
        """
        made = self._nodes.get(node)
        if made is None or index not in range(made.count):
            raise LookupError(f"{node} has no host {index}")
        async with made.busy:
            if host := made.hosts.get(index):
                await netns.ip(f"link set {host.link} down")
                await unhurried(_end([host]))
                del made.hosts[index]

    def processes(self) -> int:
        """Count the living processes of all hosts."""
        hosts = (host for node in self._nodes.values() for host in node.hosts.values())
        return netns.count(inside for host in hosts if (inside := host.inside()))

    async def aclose(self) -> None:
        """Halt all, and take the network away."""
        for node in list(self._nodes):
            await self.halt(node)
        if self._site is not None:
            site, self._site = self._site, None
            await unhurried(site.close())

    async def _open(self) -> netns.Site:
        async with self._opening:
            if self._site is None:
                if missing := self.missing():
                    raise OSError(missing)
                if self._consoles is not None:
                    self._consoles.mkdir(parents=True, exist_ok=True)
                self._site = await netns.Site.open()
            return self._site

    async def _end(self, node: _Node) -> None:
        await _end(node.hosts.values())
        node.hosts.clear()
        if self._nodes.get(node.name) is node:
            del self._nodes[node.name]

    async def _prepare(self, site: netns.Site, node: _Node, metadata: Mapping[str, str]) -> None:
        """Make the hosts' namespaces and links, and what they are made of."""
        for index in range(node.count):
            serial = next(self._serials)
            node.hosts[index] = NetnsHost.new(
                site, serial, node.name, index, metadata=metadata, consoles=self._consoles
            )
        node.addresses = [host.address for host in node.hosts.values()]
        for host in node.hosts.values():
            host.tell(metadata, node.addresses)
        links = [host.link for host in node.hosts.values()]
        await netns.ip(
            *(f"netns add {link}" for link in links),
            *(f"link add {link} type veth peer name eth0 netns {link}" for link in links),
            *(f"link set {link} master {site.bridge} up" for link in links),
        )


async def _end(hosts: Iterable[NetnsHost]) -> None:
    """Kill hosts, wait until nothing is left, and take away what they were made of."""
    if not (ending := list(hosts)):
        return
    for host in ending:
        host.kill()
    for host in ending:
        await host.gone()
    await netns.ip(
        *(f"link delete {host.link}" for host in ending),
        *(f"netns delete {host.link}" for host in ending),
        force=True,
    )
    for host in ending:
        await asyncio.to_thread(shutil.rmtree, host.folder, ignore_errors=True)


async def _all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Do all at once, each to its end; the first error is raised then."""
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
