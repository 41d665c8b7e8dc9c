"""One machine at the other end of OpenSSH."""

import asyncio
import ipaddress
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobman_core.command import Command, Exit, quote
from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.host import Entry, Host, HostFacts
from jobman_core.models.slice import HostInfo, Slice
from jobman_core.ssh.access import Access, Target, ssh_argv
from jobman_core.ssh.known import KnownHosts
from jobman_core.ssh.links import Links
from jobman_core.ssh.wire import Heard, Wired, wire
from jobman_core.ssh.words import in_words

#: Seconds for a file to be written.
_PUT_LIMIT: Final = 60.0

#: What OpenSSH ends with where it did not get through; else it is what the shell there ended with.
_NO_LINK: Final = 255

#: PATH MODE SIZE ASIDE: a link that drops cuts the content off.
_PUT: Final = """
umask 077
mkdir -p -- "$(dirname -- "./$1")" || exit 1
trap 'rm -f -- "./$4"' EXIT
cat > "./$4" && [ "$(stat -c %s -- "./$4")" = "$3" ] || exit 1
chmod -- "$2" "./$4" && mv -fT -- "./$4" "./$1"
"""


def hosts_of(
    cloud: Cloud, slice_: Slice, access: Access, known_hosts: Path, links: Links
) -> Sequence[Host]:
    """Give the way to each host of a slice that is ready: its cloud's own, else by SSH.

    Args:
        cloud: the slice's.
        slice_: what the store has of it.
        access: how its hosts let one in.
        known_hosts: the file for the keys of its hosts.
        links: of this process.
    """
    hosts = cloud.hosts(slice_)
    if hosts is not None:
        return hosts
    known = KnownHosts(known_hosts, cloud, slice_)
    return [SshHost(info, access, known, links) for info in slice_.hosts]


class SshHost(Host):
    """A machine that lets its user in by SSH."""

    def __init__(self, info: HostInfo, access: Access, known: KnownHosts, links: Links) -> None:
        """Name a host; nothing is sent yet."""
        self.index = info.index
        self._address = info.ip
        self._access = access
        self._known = known
        self._links = links
        self._connecting = asyncio.Lock()
        # What answers there is this machine, where others have processes, too.
        self.facts = HostFacts(own_machine=not _is_loopback(info.ip))

    async def run(self, command: Command, *, limit: float) -> Exit:
        """Run a command over the host's shared connection, which is made where there is none.

        Raises:
            HostUnreachableError: no connection, no answer in time, or the link dropped.
            CommandFailedError: it said more than is kept, or this machine has no OpenSSH.
        """
        wired = wire(command, f"jobman-{secrets.token_hex(8)}")
        try:
            async with asyncio.timeout(limit):
                target = await self._target()
                control = await self._connect(target)
                return await self._call(target, control, wired)
        except TimeoutError as error:
            raise self._unreachable(f"no answer within {limit:g} s") from error

    async def put(self, content: bytes, path: str, *, mode: int = 0o600) -> None:
        """Write a file, whole or not at all.

        Raises:
            HostUnreachableError: no answer.
            CommandFailedError: the file system refused.
        """
        aside = f"{path}.{secrets.token_hex(4)}.new"
        argv = ("sh", "-c", _PUT, "sh", path, f"{mode:o}", str(len(content)), aside)
        done = await self.run(Command(argv, stdin=content, transient=True), limit=_PUT_LIMIT)
        if not done.ok:
            raise CommandFailedError(f"host {self.index} cannot write {path}: {done.tail()}")

    async def enter(self, argv: Sequence[str] = ()) -> Entry:
        """Give the command that enters the host from a terminal here.

        Raises:
            HostUnreachableError: it has no address, or its key is to be asked of a silent cloud.
        """
        target = await self._target()
        settings = self._access.settings(self._links.folder)
        control = self._control(target)
        line = quote(argv) if argv else None
        return Entry(ssh_argv(settings, target, control, line, batch=False))

    async def _target(self) -> Target:
        if self._address is None:
            raise self._unreachable("its cloud tells no address")
        try:
            strict = await self._known.strict(self.index)
        except HostUnreachableError as error:
            raise self._unreachable(str(error)) from error
        return Target(self._address, self._known.alias(self.index), self._known.path, strict)

    def _control(self, target: Target) -> Path:
        # All that makes one connection another one.
        access = self._access
        return self._links.control(
            target.alias, target.address, str(target.known_hosts), repr(access)
        )

    async def _connect(self, target: Target) -> Path:
        """See that there is a connection; of many calls at once one makes it."""
        control = self._control(target)
        if control.exists():
            return control
        async with self._connecting:
            if not control.exists():
                async with self._links.turns:
                    hello = wire(Command(("true",)), f"jobman-{secrets.token_hex(8)}")
                    await self._call(target, control, hello)
        return control

    async def _call(self, target: Target, control: Path, wired: Wired) -> Exit:
        settings = self._access.settings(self._links.folder)
        argv = ssh_argv(settings, target, control, wired.line)
        try:
            out, err, code = await self._links.call(argv, wired)
        except HostUnreachableError as error:
            raise self._unreachable(str(error)) from error
        if out.code is None or err.code is None:
            raise self._unreachable(self._why(target, out, err, code))
        return Exit(out.code, out.output, err.output)

    def _why(self, target: Target, out: Heard, err: Heard, code: int | None) -> str:
        if out.began or err.began:
            return "the link dropped while a command ran"
        if code is not None and 0 <= code != _NO_LINK:
            files = f"the login files of user {self._access.user!r} (.bashrc, .profile)"
            return f"its login shell ended with {code} before any command ran: mend {files}"
        return in_words(err.noise or out.noise, target, self._access)

    def _unreachable(self, why: str) -> HostUnreachableError:
        at = f" ({self._address})" if self._address else ""
        return HostUnreachableError(f"host {self.index}{at} cannot be reached: {why}")


def _is_loopback(address: str | None) -> bool:
    try:
        return address is not None and ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
