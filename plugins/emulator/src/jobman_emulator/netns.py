"""This machine's side of the hosts in network namespaces: a bridge, links, and what was left.

Each emulator that has such hosts is a *site*: the number of a network ``10.N.0.0/16``, which
nobody else has because it holds a lock. All that a site makes carries its number, so that a site
whose lock is free and which left something behind was killed, and is swept by whoever comes next.
"""

import asyncio
import fcntl
import ipaddress
import json
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

#: Where sites keep their locks and what their hosts are made of.
SITES = Path("/run/jobman-emulator")
#: The networks that are tried, in order.
NUMBERS = range(200, 255)
_NETNS = Path("/run/netns")
_CLONE_NEWNET = 0x40000000
_IP_FREEBIND = 15
#: Seconds that a leftover process may take to be gone.
_GIVE_UP = 20.0


async def run(*argv: str, given: str = "") -> str:
    """Run a program of this machine, and give what it said.

    Raises:
        OSError: it failed; the message says what it said.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate(given.encode())
    if process.returncode:
        said = (err or out).decode(errors="replace").strip()
        raise OSError(f"{' '.join(argv)[:200]}: {said or f'exit code {process.returncode}'}")
    return out.decode()


async def ip(*lines: str, force: bool = False) -> None:
    """Let ``ip`` do several things, in order; with force, past what fails.

    Raises:
        OSError: one of them failed.
    """
    options = ("-force", "-batch", "-") if force else ("-batch", "-")
    try:
        await run("ip", *options, given="".join(f"{line}\n" for line in lines))
    except OSError:
        if not force:
            raise


@attrs.frozen
class Site:
    """A network of hosts, held by a lock."""

    number: int
    lock: int

    @property
    def bridge(self) -> str:
        """The name of the link that all hosts hang on."""
        return f"jme{self.number}"

    @property
    def gateway(self) -> str:
        """This machine's address as the hosts see it."""
        return f"10.{self.number}.0.1"

    @property
    def folder(self) -> Path:
        """Where its hosts have what they are made of; readable by root alone."""
        return SITES / str(self.number)

    def host(self, serial: int) -> str:
        """Name a host's namespace, and its link's end on this machine."""
        return f"{self.bridge}-{serial}"

    def address(self, serial: int) -> str:
        """Give a host's address; the same again after some 65,000 hosts."""
        return str(ipaddress.IPv4Address((10 << 24) + (self.number << 16) + 2 + serial % 65000))

    @classmethod
    async def open(cls) -> "Site":
        """Sweep what was left by those who were killed, and make a network of one's own.

        Raises:
            OSError: all numbers are taken, or the machine refuses.
        """
        await sweep()
        taken = await _networks()
        for number in NUMBERS:
            wanted = ipaddress.IPv4Network(f"10.{number}.0.0/16")
            if any(network.subnet_of(wanted) for network in taken):
                continue
            lock = _lock(number)
            if lock is None:
                continue
            site = cls(number, lock)
            try:
                site.folder.mkdir(mode=0o700, exist_ok=True)
                await ip(
                    f"link add {site.bridge} type bridge",
                    f"address add {site.gateway}/16 dev {site.bridge}",
                    f"link set {site.bridge} up",
                )
            except BaseException:
                await site.close()
                raise
            return site
        raise OSError(
            f"no network of 10.{NUMBERS[0]}.0.0/16 to 10.{NUMBERS[-1]}.0.0/16 is free: end another "
            "emulator, or use process hosts"
        )

    async def close(self) -> None:
        """Take all of it away, and let others have the number."""
        try:
            await _clear(self)
        finally:
            os.close(self.lock)


async def sweep() -> None:
    """Take away what emulators that were killed have left: hosts that still run, too."""
    for number in [int(name) for name in _names(_sites()) if name.isdigit()]:
        if (lock := _lock(number)) is not None:
            await Site(number, lock).close()


async def _clear(site: Site) -> None:
    names = [name for name in _names(_NETNS) if name.startswith(f"{site.bridge}-")]
    for name in names:
        await end_all(name)
    links = [link["ifname"] for link in json.loads(await run("ip", "-json", "link", "show"))]
    ours = [name for name in links if name == site.bridge or name.startswith(f"{site.bridge}-")]
    await ip(
        *(f"link delete {name}" for name in ours),
        *(f"netns delete {name}" for name in names),
        force=True,
    )
    await asyncio.to_thread(shutil.rmtree, site.folder, ignore_errors=True)


async def end_all(name: str) -> None:
    """Kill whatever runs in a namespace, until nothing does."""
    deadline = time.monotonic() + _GIVE_UP
    while pids := (await run("ip", "netns", "pids", name)).split():
        if time.monotonic() > deadline:
            raise OSError(f"processes in the namespace {name} cannot be ended: {', '.join(pids)}")
        for pid in pids:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
        await asyncio.sleep(0.02)


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _sites() -> Path:
    SITES.mkdir(mode=0o700, parents=True, exist_ok=True)
    return SITES


def _lock(number: int) -> int | None:
    """Take the lock of a number; None: somebody has it."""
    fd = os.open(_sites() / f".{number}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


async def _networks() -> list[ipaddress.IPv4Network]:
    """Give the networks that this machine knows a way to."""
    routes: list[dict[str, Any]] = json.loads(await run("ip", "-json", "-4", "route", "show"))
    named = [route["dst"] for route in routes if route.get("dst") not in (None, "default")]
    return [ipaddress.IPv4Network(name, strict=False) for name in named]


def socket_inside(name: str, address: str, port: int) -> socket.socket:
    """Listen at an address in a network namespace, which need not have the address yet.

    Raises:
        OSError: there is no such namespace, or the port is taken.
    """
    found: list[socket.socket | OSError] = []

    def listen() -> None:
        try:
            found.append(_listen_inside(name, address, port))
        except OSError as error:
            found.append(error)

    # A thread of its own: it moves into the namespace, and ends there.
    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    (result,) = found
    if isinstance(result, OSError):
        raise result
    return result


def _listen_inside(name: str, address: str, port: int) -> socket.socket:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(_NETNS / name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(fd, _CLONE_NEWNET):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)
    finally:
        os.close(fd)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_IP, _IP_FREEBIND, 1)
        listening.bind((address, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def count(namespaces: Iterable[int]) -> int:
    """Count the processes in some process namespaces."""
    wanted, found = set(namespaces), 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                found += Path(entry.path, "ns/pid").stat().st_ino in wanted
            except OSError:
                continue  # gone meanwhile
    return found
