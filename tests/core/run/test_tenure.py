"""A process as a controller: what it may take, whom it may end, and what it gives back."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.errors import StoreError
from jobman_core.interfaces.backend import Context
from jobman_core.models.lease import Controller, Lease
from jobman_core.process import ProcessIdentity, machine_id
from jobman_core.run.lease import Tenure, Terms, end_hung
from jobman_core.testing.store_contract.scene import Scene


class FullStore(SqliteStore):
    """A store that at times cannot be written."""

    full = False

    async def hindrance(self, *, patience: float | None = None) -> str:
        return "the disk is full" if self.full else await super().hindrance(patience=patience)

    async def drop_lease(self, lease: Lease) -> None:
        if self.full:
            raise StoreError("the disk is full")
        await super().drop_lease(lease)


@pytest.fixture
def hung() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that is stopped."""
    process = subprocess.Popen(["sleep", "600"])
    process.send_signal(signal.SIGSTOP)
    yield process
    process.kill()
    process.wait()


async def _store(root: Path) -> FullStore:
    store = FullStore(Context(root, "", SystemClock()))
    await store.open()
    return store


async def _free_job(store: SqliteStore) -> str:
    """Give a job that nobody drives."""
    lease = await Scene(store).worker()
    await store.drop_lease(lease)
    return lease.job


async def test_where_nobody_can_write_nobody_is_said_to_hang(
    tmp_path: Path, hung: subprocess.Popen[bytes]
) -> None:
    store = await _store(tmp_path)
    me = ProcessIdentity.of(hung.pid)
    controller = Controller("c", machine_id(), me.boot_id, me.pid, me.start, 0.0)
    store.full = True
    with pytest.raises(StoreError, match="the disk is full"):
        await end_hung(store, controller)
    assert hung.poll() is None
    store.full = False
    await end_hung(store, controller)
    assert hung.wait() == -signal.SIGKILL
    await store.aclose()


async def test_a_lease_that_could_not_be_given_back_is_taken_again_by_the_same_process(
    tmp_path: Path,
) -> None:
    store = await _store(tmp_path)
    job = await _free_job(store)
    async with Tenure(store, SystemClock(), Terms()) as tenure:
        async with tenure.lease(await store.record(job)) as first:
            store.full = True
        store.full = False
        async with tenure.lease(await store.record(job)) as second:
            assert second.epoch > first.epoch
    await store.aclose()


async def test_a_lease_that_could_not_be_given_back_is_so_with_a_later_beat(
    tmp_path: Path,
) -> None:
    store, clock = await _store(tmp_path), SystemClock()
    job = await _free_job(store)
    async with Tenure(store, clock, Terms(lease=1.0, beat=0.05)) as tenure:
        async with tenure.lease(await store.record(job)):
            store.full = True
        assert (await store.record(job)).holder is not None
        store.full = False
        for _ in range(200):
            if (await store.record(job)).holder is None:
                break
            await clock.sleep(0.02)
        assert (await store.record(job)).holder is None
    await store.aclose()
