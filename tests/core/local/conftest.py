"""Local slices in a home of their own, of which nothing is left after a test."""

import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest

from jobman_core.builtin.local import LocalCloud
from jobman_core.builtin.local.host import LocalHost
from jobman_core.clock import Clock, SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.models.slice import Slice, SliceIdentity, SliceRequest


@attrs.frozen
class LocalSlice:
    """A slice of two hosts that is ready."""

    cloud: LocalCloud
    identity: SliceIdentity
    folder: Path
    hosts: list[LocalHost]


MakeCloud = Callable[..., LocalCloud]


@pytest.fixture
def make_cloud(tmp_path: Path) -> MakeCloud:
    """Give a cloud object; each call is another one for the same home."""
    Home(tmp_path).state.mkdir(parents=True)

    def make(clock: Clock | None = None, **settings: Any) -> LocalCloud:
        section = {"provisioning": 0, **settings}
        return LocalCloud(Context(tmp_path, "home-1", clock or SystemClock(), section))

    return make


@pytest.fixture
async def local(make_cloud: MakeCloud, tmp_path: Path) -> AsyncIterator[LocalSlice]:
    """Give a slice, which is deleted afterwards."""
    cloud = make_cloud()
    identity = SliceIdentity("train-g1", "here", "home-1", "ann", "000001", 1)
    request = SliceRequest("local", "v4-16", "here")
    await cloud.create(identity, request)
    stored = Slice("000001", 1, request, identity, datetime.now(UTC))
    hosts = [host for host in cloud.hosts(stored) if isinstance(host, LocalHost)]
    folder = tmp_path / "jobs" / ".jobman" / "local" / "train-g1"
    yield LocalSlice(cloud, identity, folder, hosts)
    await cloud.delete(identity)


@attrs.frozen
class Marker:
    """A word that is the name of every process that a test starts."""

    text: str

    def living(self) -> list[int]:
        """Give the processes whose name begins with the word."""
        return [pid for pid, line in _command_lines() if line.startswith(self.text.encode())]

    def kept(self) -> list[int]:
        """Give the keepers of such processes."""
        return [pid for pid, line in _command_lines() if self.text.encode() in line]

    def until(self, count: int) -> list[int]:
        """Wait until so many of them live."""
        deadline = time.monotonic() + 20
        while len(found := self.living()) != count:
            if time.monotonic() > deadline:
                pytest.fail(f"{len(found)} processes live, not {count}")
            time.sleep(0.01)
        return found


@pytest.fixture
def marker() -> Iterator[Marker]:
    """Give a word; no process that carries it may outlive the test."""
    found = Marker(f"marker-{uuid.uuid4().hex}")
    yield found
    assert found.living() == []
    deadline = time.monotonic() + 20
    while found.kept():
        assert time.monotonic() < deadline, "keepers stay with nothing to keep"
        time.sleep(0.01)


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield int(path.parent.name), path.read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue
