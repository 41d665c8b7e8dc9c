"""What a claim and its release cost, with few tasks in the queue and with many.

    python benchmarks/claims.py [TASKS…]

Each task has two entries of history, and half of them wait for another one. The first size is what
the others are compared with; the last column should stay at or below 1.3.
"""

import argparse
import asyncio
import platform
import sqlite3
import statistics
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import PastRun
from jobman_core.models.outcome import Cause, interrupted
from jobman_core.models.task import Counters, QueueDefinition, TaskSpec
from jobman_core.testing.store_contract.scene import ACCELERATOR, OFFER, QUEUE, Scene

SIZES = [100, 10_000, 100_000]
CYCLES = 300
ROUNDS = 5


def processor() -> str:
    """Give the name of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


async def prepare(folder: Path, tasks: int) -> tuple[SqliteStore, Scene, float]:
    """Make a queue of that size; gives the seconds that defining it took."""
    store = SqliteStore(Context(folder, "", SystemClock()))
    await store.open()
    past = datetime(2025, 1, 1, tzinfo=UTC)
    runs = [PastRun("000001", past, past, "interrupted")] * 2
    names = [f"task-{n:06d}" for n in range(tasks)]
    await store.open_queue(QUEUE)
    await store.import_state(
        QUEUE, dict.fromkeys(names, Counters(run_count=2)), dict.fromkeys(names, runs)
    )
    entries = tuple(
        TaskSpec(
            name,
            run=f"python train.py --seed {n}",
            accelerator=ACCELERATOR,
            depends_on=(names[n - 1],) if n % 2 else (),
        )
        for n, name in enumerate(names)
    )
    began = time.perf_counter()
    await store.define(QUEUE, QueueDefinition(entries, "hash"))
    return store, Scene(store), time.perf_counter() - began


async def cycles(store: SqliteStore, scene: Scene, count: int) -> float:
    """Claim and release so often; gives the milliseconds that one took, the median."""
    lease = await scene.worker(queue=QUEUE)
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        claim = await scene.must_claim(lease, OFFER)
        await scene.end(lease, claim, interrupted(Cause.PREEMPTED))
        seconds.append(time.perf_counter() - began)
    await store.drop_lease(lease)
    return statistics.median(seconds) * 1000


async def main(sizes: list[int]) -> None:
    """Print the table."""
    print(f"{processor()}, SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        made = {size: await prepare(Path(folder) / str(size), size) for size in sizes}
        # In turns, so that a machine that is busy for a while is so for every size.
        costs = {size: [0.0] * ROUNDS for size in sizes}
        for turn in range(ROUNDS):
            for size, (store, scene, _) in made.items():
                costs[size][turn] = await cycles(store, scene, CYCLES // ROUNDS)
        for store, _, _ in made.values():
            await store.aclose()
    first = statistics.median(costs[sizes[0]])
    print(f"{'tasks':>8}  {'define':>9}  {'claim + release':>15}  {'ratio':>5}")
    for size, (_, _, define) in made.items():
        cost = statistics.median(costs[size])
        print(f"{size:>8}  {define:>7.2f} s  {cost:>12.2f} ms  {cost / first:>5.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", type=int, default=SIZES)
    asyncio.run(main(parser.parse_args().tasks))
