"""Machines of a slice as far as OpenSSH can tell: an sshd each, on a loopback address of its own.

Each has its own host key, and a home folder below the test's. Nothing is read or written in
anybody's ``~/.ssh``.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.host import Host
from jobman_core.models.slice import HostInfo, Slice, SliceIdentity, SliceRequest
from jobman_core.ssh import Access, Links, hosts_of
from jobman_core.testing.fakes import FakeCloud

#: Whom sshd knows the test as, whatever USER says.
USER = pwd.getpwuid(os.geteuid()).pw_name


def sshd_program() -> str:
    """Give the path of sshd, which wants to be started by an absolute one."""
    return shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") or "/usr/sbin/sshd"


def make_key(path: Path, passphrase: str = "") -> str:
    """Make a key pair; give the public one."""
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", str(path)]
    subprocess.run(argv, check=True)
    return " ".join(path.with_name(f"{path.name}.pub").read_text().split()[:2])


def close_connections(runtime: Path) -> None:
    """Close the connections whose sockets lie in a runtime folder."""
    for control in (runtime / "jobman").glob("*"):
        argv = ["ssh", "-F", "none", "-O", "exit", "-o", f"ControlPath={control}", "x"]
        subprocess.run(argv, check=False, stderr=subprocess.DEVNULL)


@attrs.define
class Machine:
    """One sshd, which lets in whoever has the key in ``authorized``."""

    address: str
    port: int
    folder: Path
    public_key: str = ""
    #: What its login files do: commands, each with its end.
    login: str = ""
    _process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        """The home folder of whoever comes in."""
        return self.folder / "home"

    @property
    def authorized(self) -> Path:
        """The public keys that it lets in."""
        return self.folder / "authorized_keys"

    @property
    def log(self) -> Path:
        """What sshd says."""
        return self.folder / "log"

    def new_host_key(self) -> None:
        """Be another machine, as far as its key tells."""
        for path in self.folder.glob("host_key*"):
            path.unlink()
        self.public_key = make_key(self.folder / "host_key")

    def start(self) -> None:
        """Start sshd; returns when it answers."""
        config = self.folder / "sshd_config"
        # sshd takes no variable HOME from its configuration.
        inside = f'HOME={self.home}; export HOME; cd; {self.login}eval "$SSH_ORIGINAL_COMMAND"'
        config.write_text(
            f"ListenAddress {self.address}:{self.port}\n"
            f"HostKey {self.folder}/host_key\n"
            f"AuthorizedKeysFile {self.authorized}\n"
            "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 200\n"
            "MaxSessions 200\nLogLevel VERBOSE\n"
            f"ForceCommand {inside}\n"
        )
        argv = [sshd_program(), "-D", "-e", "-f", str(config)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(argv, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 20
        while True:
            with contextlib.suppress(OSError), socket.create_connection((self.address, self.port)):
                return
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def restart(self) -> None:
        """Read what was changed; all connections break."""
        self.stop()
        self.start()

    def logins(self) -> int:
        """Count the connections that were let in."""
        return self.log.read_text().count("Accepted publickey")

    def sessions(self) -> list[int]:
        """Give the processes of sshd that serve somebody."""
        assert self._process is not None
        return _below(self._process.pid)

    def drop_links(self) -> None:
        """Let every connection break; the machine stays."""
        for pid in self.sessions():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """Be gone: nobody is let in any more, and all connections break."""
        if self._process is None:
            return
        found = self.sessions()
        self._process.kill()
        self._process.wait()
        self._process = None
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _below(root: int) -> list[int]:
    """Give sshd's own processes below one of it: not the programs that run in its sessions."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            text = stat.read_text()
            if "(sshd)" in text:
                parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found, queue = [], [root]
    while queue:
        parent = queue.pop()
        children = [pid for pid, above in parents.items() if above == parent]
        found += children
        queue += children
    return found


class RemoteCloud(FakeCloud):
    """A cloud that leaves its hosts to SSH, and vouches for the keys that a test gives it."""

    vouched: Mapping[int, Sequence[str]] = {}
    asked = 0

    def hosts(self, slice_: Slice) -> Sequence[Host] | None:  # type: ignore[override]
        return None

    async def host_keys(self, slice_: Slice) -> Mapping[int, Sequence[str]]:
        self.asked += 1
        return self.vouched


@attrs.define
class Scene:
    """Machines, and what reaches them."""

    root: Path
    machines: list[Machine]
    key: Path
    cloud: RemoteCloud
    links: Links
    generation: int = 1

    @property
    def known_hosts(self) -> Path:
        """Where the keys of the hosts are kept."""
        return Home(self.root).known_hosts("ann", "000001", self.generation)

    def access(self, **changes: Any) -> Access:
        """Give how the machines are to be reached."""
        port = self.machines[0].port
        return attrs.evolve(Access(USER, port, self.key), **changes)

    def slice_(self, *addresses: str) -> Slice:
        """Give the slice as it stands on the books."""
        given = addresses or [machine.address for machine in self.machines]
        hosts = tuple(HostInfo(index, address) for index, address in enumerate(given))
        name = f"train-g{self.generation}"
        identity = SliceIdentity(name, "here", "home-1", "ann", "000001", self.generation)
        request = SliceRequest("fake", "v4-16", "here")
        now = datetime.now(UTC)
        return Slice("000001", self.generation, request, identity, now, hosts=hosts)

    def hosts(self, *addresses: str, **access: Any) -> list[Host]:
        """Give the way to the machines, as a controller that has just started does."""
        known = self.known_hosts
        slice_ = self.slice_(*addresses)
        return [*hosts_of(self.cloud, slice_, self.access(**access), known, self.links)]

    def masters(self) -> list[Path]:
        """Give the sockets of the connections that are open."""
        folder = Path(self.links.environ["XDG_RUNTIME_DIR"]) / "jobman"
        return sorted(folder.glob("*")) if folder.is_dir() else []

    def calls(self) -> list[int]:
        """Give the living processes of ssh that carry out a call or hold a connection."""
        mark = f"XDG_RUNTIME_DIR={self.links.environ['XDG_RUNTIME_DIR']}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
        return found

    def close(self) -> None:
        """Close all connections; whatever ssh is left then is a leak."""
        close_connections(Path(self.links.environ["XDG_RUNTIME_DIR"]))
        for machine in self.machines:
            machine.stop()
        deadline = time.monotonic() + 20
        while left := self.calls():
            assert time.monotonic() < deadline, f"ssh processes {left} are left"
            time.sleep(0.02)


MakeScene = Callable[..., Scene]


@pytest.fixture
def make_scene(tmp_path: Path) -> Iterator[MakeScene]:
    """Give a way to have so many machines; all is gone afterwards."""
    if os.geteuid() == 0:
        # Where sshd locks its helpers in; its package's service would make it.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    made: list[Scene] = []
    # A socket's name has to be short.
    runtime = Path(tempfile.mkdtemp(prefix="jm-"))
    number = uuid.uuid4().int

    def make(count: int = 2) -> Scene:
        key = tmp_path / "key"
        public = make_key(key)
        port = _free_port()
        machines = []
        for index in range(count):
            # Tests of other workers have other addresses, most of all.
            address = f"127.{1 + number % 200}.{1 + number // 200 % 250}.{1 + index}"
            folder = tmp_path / f"machine-{index}"
            (folder / "home").mkdir(parents=True)
            machine = Machine(address, port, folder)
            machine.new_host_key()
            machine.authorized.write_text(f"{public}\n")
            machine.start()
            machines.append(machine)
        root = tmp_path / "a home"
        Home(root).state.mkdir(parents=True)
        cloud = RemoteCloud(Context(root, "home-1", SystemClock()))
        cloud.vouched = {}
        environ = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(runtime)}
        scene = Scene(root, machines, key, cloud, Links(environ, tmp_path / "dot-ssh"))
        made.append(scene)
        return scene

    yield make
    for scene in made:
        scene.close()
    shutil.rmtree(runtime)


@pytest.fixture
def scene(make_scene: MakeScene) -> Scene:
    """Give two machines."""
    return make_scene()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert isinstance(port, int)
    return port
