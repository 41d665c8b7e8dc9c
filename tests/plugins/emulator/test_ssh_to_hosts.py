"""Emulated hosts pass the contracts of hosts and runners, as the core reaches them by SSH."""

import asyncio
import getpass
import os
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.core.ssh.conftest import close_connections, make_key

from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.host import Host
from jobman_core.models.slice import HostInfo, Slice, SliceIdentity, SliceRequest
from jobman_core.ssh import Access, Links, hosts_of
from jobman_core.testing.fakes import FakeCloud
from jobman_core.testing.host_contract import HostContract
from jobman_core.testing.runner_contract import ShellRunnerContract
from jobman_emulator.machines import Machine
from jobman_emulator.process_hosts import ProcessHosts

pytestmark = pytest.mark.e2e

_T = TypeVar("_T")

NODE = "projects/p/locations/here/nodes/train-g1"


class Vouching(FakeCloud):
    """A cloud that leaves its hosts to SSH and vouches for their keys."""

    machines: Sequence[Machine] = ()

    def hosts(self, slice_: Slice) -> Sequence[Host] | None:  # type: ignore[override]
        return None

    async def host_keys(self, slice_: Slice) -> Mapping[int, Sequence[str]]:
        return {machine.index: machine.host_keys for machine in self.machines}


class Elsewhere:
    """Runs the machines in a loop of their own: what they do is not what their client does."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    elsewhere = Elsewhere()
    yield elsewhere
    elsewhere.close()


@pytest.fixture
def hosts(elsewhere: Elsewhere, tmp_path: Path) -> Iterator[Sequence[Host]]:
    public = make_key(tmp_path / "key")
    machines = ProcessHosts(tmp_path / "hosts", port=0)
    user = getpass.getuser()
    booted = elsewhere.do(machines.boot(NODE, 2, {"ssh-keys": f"{user}:{public}"}))
    root = tmp_path / "lab"
    Home(root).state.mkdir(parents=True)
    cloud = Vouching(Context(root, "home-1", SystemClock()))
    cloud.machines = booted
    infos = tuple(HostInfo(one.index, one.external_ip, one.internal_ip) for one in booted)
    identity = SliceIdentity("train-g1", "here", "home-1", "ann", "000001", 1)
    request = SliceRequest("fake", "v4-16", "here")
    slice_ = Slice("000001", 1, request, identity, datetime.now(UTC), hosts=infos)
    # A socket's name has to be short.
    runtime = Path(tempfile.mkdtemp(prefix="jm-"))
    links = Links({"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(runtime)}, tmp_path)
    access = Access(user, machines.port, tmp_path / "key")
    yield hosts_of(cloud, slice_, access, Home(root).known_hosts("ann", "000001", 1), links)
    close_connections(runtime)
    elsewhere.do(machines.aclose())
    assert machines.processes() == 0
    shutil.rmtree(runtime)


class TestEmulatedHost(HostContract):
    @pytest.fixture
    def host(self, hosts: Sequence[Host]) -> Host:
        return hosts[0]


class TestAgentOnEmulatedHosts(ShellRunnerContract):
    @pytest.fixture
    def hosts(self, hosts: Sequence[Host]) -> Sequence[Host]:
        return hosts
