"""What it costs to look at the slices of many jobs by lists of their zone."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.models.slice import Present, SliceIdentity, SliceRequest
from jobman_core.run.zones import Zones
from jobman_core.testing.fakes import FakeZoneCloud

SECONDS = 30.0
#: Seconds between two looks at a zone.
EVERY = 5.0
#: Seconds from the start until all are at their pace.
WARM_UP = 6.0


def measure(folder: Path) -> Sequence[Row]:
    """Measure many jobs in one process, and processes of a job each, in one zone."""
    for name in ("alone", "many"):
        (folder / name).mkdir(parents=True)
    alone = asyncio.run(_watch(folder / "alone", jobs=2000, processes=1))
    many = asyncio.run(_watch(folder / "many", jobs=50, processes=50))
    return [*_rows("2,000 jobs in one process", alone), *_rows("50 jobs, each by itself", many)]


def _rows(what: str, measured: tuple[float, float]) -> Sequence[Row]:
    share, lists = measured
    most = SECONDS / EVERY + 1
    return [
        Row(f"{what}: looks, of one core", share * 100, "%", detail=f"over {SECONDS:g} s"),
        Row(f"{what}: lists asked of the cloud", lists, at_most=most, detail=f"in {SECONDS:g} s"),
    ]


async def _watch(root: Path, *, jobs: int, processes: int) -> tuple[float, float]:
    """Watch slices for a while; gives the share of a core, and how many lists were asked for.

    The processes are stores and looks of their own in this one, so the share is of all of them.
    """
    clock = SystemClock()
    cloud = FakeZoneCloud(Context(root, "home", clock))
    stores = [SqliteStore(Context(root, "", clock)) for _ in range(processes)]
    watches = []
    for number, store in enumerate(stores):
        await store.open()
        zones = Zones(store, clock, str(number))
        for job in range(number, jobs, processes):
            identity = SliceIdentity(f"job-{job}-g1", "here", "home", "ada", f"{job:06d}", 1)
            await cloud.create(identity, SliceRequest("fake", "v4-8", "here"))
            watches.append(asyncio.create_task(_look_on(zones, cloud, identity, clock)))
    await asyncio.sleep(WARM_UP)
    began, lists = time.process_time(), len(cloud.lists)
    await asyncio.sleep(SECONDS)
    share = (time.process_time() - began) / SECONDS
    lists = len(cloud.lists) - lists
    for watch in watches:
        assert not watch.done(), watch
        watch.cancel()
    await asyncio.gather(*watches, return_exceptions=True)
    for store in stores:
        await store.aclose()
    return share, lists


async def _look_on(
    zones: Zones, cloud: FakeZoneCloud, identity: SliceIdentity, clock: SystemClock
) -> None:
    """Look at a slice for ever, as a watch does."""
    at = clock.monotonic() - EVERY
    while True:
        seen, at = await zones.see(cloud, identity, than=at, every=EVERY)
        # Listed from the second look on: the first may be of the time before it was asked for.
        assert seen is None or isinstance(seen, Present)
