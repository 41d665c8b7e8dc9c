"""For tests: an emulator in a thread with a loop of its own, with the verbs as plain functions."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from jobman_emulator.control import ORDERS, Counts
from jobman_emulator.hosts import make_hosts
from jobman_emulator.machines import Machines, NoMachines
from jobman_emulator.server import Emulator

_T = TypeVar("_T")
#: Seconds that a verb may take.
_LIMIT: Final = 60.0
#: In tests nothing waits longer than it takes to see a state.
_PACE: Final = {"provisioning": 0.1, "deleting": 0.05, "suspending": 0.1}


class Running:
    """An emulator that runs; its verbs are those of :class:`~jobman_emulator.control.Control`."""

    def __init__(self, emulator: Emulator, loop: asyncio.AbstractEventLoop) -> None:
        """Rule an emulator from another thread than its own."""
        self._emulator = emulator
        self._loop = loop
        #: ``127.0.0.1:PORT``, for gRPC.
        self.grpc = emulator.grpc
        #: ``http://127.0.0.1:PORT``.
        self.rest = emulator.rest
        #: Where SSH answers on the hosts.
        self.ssh_port = emulator.machines.port

    def env(self, gcloud_folder: Path | None = None) -> Mapping[str, str]:
        """Give the variables that lead jobman and gcloud here."""
        return self._emulator.env(gcloud_folder)

    def counts(self) -> Counts:
        """Count nodes, queued resources and the processes of all hosts."""

        async def count() -> Counts:
            return self._emulator.control.counts()

        return self._do(count())

    def resources(self) -> dict[str, str]:
        """Give the state of everything, by its full name."""

        async def look() -> dict[str, str]:
            return self._emulator.control.resources()

        return self._do(look())

    def history(self, name: str) -> list[str]:
        """Give every state that a thing of this id came to; GONE at the end."""
        return [state for _, state in self.histories(name)]

    def histories(self, name: str = "") -> list[tuple[str, str]]:
        """Give every state that things came to, in their order, with their ids."""

        async def look() -> list[tuple[str, str]]:
            return self._emulator.control.history(name)

        return self._do(look())

    def pace(self, **seconds: float) -> None:
        """Let things take so long from now on: provisioning, deleting, suspending."""
        self._do(self._emulator.control.pace(**seconds))

    def preempt(self, name: str, *, order: str = ORDERS[0], notice: float = 0.0) -> None:
        """Take a slice away; returns when its processes are gone."""
        self._do(self._emulator.control.preempt(name, order=order, notice=notice))

    def maintenance(self, node: str, *, pending: bool = False, over: bool = False) -> None:
        """Let maintenance come, go on, or be over."""
        self._do(self._emulator.control.maintenance(node, pending=pending, over=over))

    def host_down(self, node: str, index: int) -> None:
        """Let one host vanish."""
        self._do(self._emulator.control.host_down(node, index))

    def set_state(self, name: str, state: str) -> None:
        """Let a node or queued resource have a state; GONE: not be there."""
        self._do(self._emulator.control.set_state(name, state))

    def capacity(
        self, zone: str, accelerator: str, count: int | None, *, reserved: bool = False
    ) -> None:
        """Let a zone have so many slices of a type; None: no limit."""
        self._do(self._emulator.control.capacity(zone, accelerator, count, reserved=reserved))

    def quota(self, place: str, what: str, limit: int | None) -> None:
        """Let the project hold so much; None: no limit."""
        self._do(self._emulator.control.quota(place, what, limit))

    def fail_next(
        self, call: str, *, code: str | int, message: str = "", times: int = 1, late: bool = False
    ) -> None:
        """Let the next calls of a method fail, or (late) their operations."""
        self._do(
            self._emulator.control.fail_next(
                call, code=code, message=message, times=times, late=late
            )
        )

    def fault(self, kind: str, *, times: int = 1) -> None:
        """Order one of :data:`jobman_emulator.faults.KINDS`."""
        self._do(self._emulator.control.fault(kind, times=times))

    def slow(self, call: str, seconds: float, *, after: bool = False) -> None:
        """Let a method take longer."""
        self._do(self._emulator.control.slow(call, seconds, after=after))

    def rate_limit(self, call: str, per_minute: int | None) -> None:
        """Let so many calls a minute through; None: all."""
        self._do(self._emulator.control.rate_limit(call, per_minute))

    def api(self, name: str, *, enabled: bool) -> None:
        """Let one of Google's APIs be enabled in the project, or not."""
        self._do(self._emulator.control.api(name, enabled=enabled))

    def permission(self, name: str, *, granted: bool) -> None:
        """Let the account have a permission, or not."""
        self._do(self._emulator.control.permission(name, granted=granted))

    def os_login(self, *, enabled: bool | None) -> None:
        """Let the project's metadata say whether OS Login is used; None: it does not say."""
        self._do(self._emulator.control.os_login(enabled))

    def bucket(self, name: str, size: int, objects: int, **part: Any) -> None:  # noqa: ANN401
        """Let Cloud Monitoring know the size of a bucket, or of a part of it, in bytes.

        Args:
            name: the bucket's.
            size: in bytes.
            objects: how many.
            part: ``storage_class``, ``kind``, and ``age`` in seconds.
        """
        self._do(self._emulator.control.bucket(name, size, objects, **part))

    def reset(self) -> None:
        """Take back all troubles and limits."""
        self._do(self._emulator.control.reset())

    def _do(self, work: Coroutine[Any, Any, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_LIMIT)


@contextmanager
def running(
    machines: Callable[[], Machines] = NoMachines,
    **settings: Any,  # noqa: ANN401 - as Emulator says
) -> Iterator[Running]:
    """Run an emulator in a thread; at the end all of it, and all its hosts, are gone.

    Args:
        machines: makes the hosts, within the emulator's loop.
        settings: what :class:`Emulator` takes; without them it is as fast as tests want it.
    """
    ready: list[Running] = []
    failed: list[BaseException] = []
    opened, stop = threading.Event(), asyncio.Event()
    left: list[int] = []

    async def live() -> None:
        hosts = machines()
        async with Emulator(hosts, **{**_PACE, **settings}) as emulator:
            ready.append(Running(emulator, asyncio.get_running_loop()))
            opened.set()
            await stop.wait()
        left.append(hosts.processes())

    def main() -> None:
        try:
            asyncio.run(live())
        except BaseException as error:  # noqa: BLE001 - told to who waits
            failed.append(error)
        finally:
            opened.set()

    thread = threading.Thread(target=main, name="emulator")
    thread.start()
    opened.wait()
    try:
        if ready:
            yield ready[0]
    finally:
        if ready:
            ready[0]._loop.call_soon_threadsafe(stop.set)  # noqa: SLF001 - it is ours
        thread.join()
    if failed:
        raise failed[0]
    assert left == [0], f"{left} processes of hosts are left"  # noqa: S101 - a test's own


@pytest.fixture
def emulator() -> Iterator[Running]:
    """Give an emulator of the API: at the addresses of its hosts nothing answers."""
    with running() as emulator:
        yield emulator


@pytest.fixture
def process_emulator(tmp_path: Path) -> Iterator[Running]:
    """Give an emulator whose hosts are processes of this machine, with SSH on a free port."""
    with running(lambda: make_hosts("process", tmp_path / "hosts", port=0)) as emulator:
        yield emulator


@pytest.fixture
def netns_emulator(tmp_path: Path) -> Iterator[Running]:
    """Give an emulator whose hosts are network namespaces with sshd; needs root."""
    with running(lambda: make_hosts("netns", tmp_path / "hosts")) as emulator:
        yield emulator
