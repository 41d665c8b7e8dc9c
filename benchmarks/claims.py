"""What a claim and its release cost, with few tasks in the queue and with many.

Each task has two entries of history, and half of them wait for another one. They are done by the
store's own methods, which are what a controller calls. What they cost is compared with a bare loop
that does the same two transactions on the same database, in turns: by one worker, which waits for
each before it begins the next, and by many workers in one process, as jobs of a shared session are,
whose transactions share waits for the disk.
"""

import asyncio
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs

from benchmarks.table import Row
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.builtin.sqlite import statements as sql
from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import PastRun
from jobman_core.models.lease import Lease
from jobman_core.models.outcome import Cause, Outcome, interrupted
from jobman_core.models.queue import Claim
from jobman_core.models.task import Counters, QueueDefinition, TaskSpec
from jobman_core.testing.store_contract.scene import (
    ACCELERATOR,
    OFFER,
    QUEUE,
    SUCCEEDED,
    ZONE,
    Scene,
)

SIZES = (100, 10_000, 100_000)
ROUNDS = 20
#: Cycles in a row, of each kind.
CYCLES = 15
#: Workers in one process.
WORKERS = 16
#: Tasks that succeed, half of which others wait for.
SUCCESSES = 100
#: Cycles whose syncs are counted.
COUNTED = 200

_PREEMPTED = interrupted(Cause.PREEMPTED)


@attrs.frozen
class Queue:
    """A queue in a home of its own, workers of it, and what cycles took."""

    store: SqliteStore
    scene: Scene
    leases: Sequence[Lease]
    path: Path
    #: Seconds that reading its definitions into the store took.
    define: float
    ours: list[float] = attrs.field(factory=list)
    #: By all workers at once; of each cycle its share of the time.
    together: list[float] = attrs.field(factory=list)
    bare: list[float] = attrs.field(factory=list)

    @classmethod
    async def of(cls, folder: Path, tasks: int) -> "Queue":
        """Make one of that size."""
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
        define = time.perf_counter() - began
        scene = Scene(store)
        leases = [await scene.worker(queue=QUEUE) for _ in range(WORKERS)]
        return cls(store, scene, leases, Home(folder).database, define)

    async def cycle(self, worker: int = 0, outcome: Outcome = _PREEMPTED) -> Claim:
        """Claim and release."""
        lease = self.leases[worker]
        claim = await self.scene.must_claim(lease, OFFER)
        await self.scene.end(lease, claim, outcome)
        return claim

    async def cycles(self, worker: int) -> None:
        """Go as many cycles as are measured in a row."""
        for _ in range(CYCLES):
            await self.cycle(worker)

    async def measure(self) -> None:
        """Go some cycles, through the store, by one worker and by all, and then bare."""
        for _ in range(CYCLES):
            began = time.perf_counter()
            await self.cycle()
            self.ours.append(time.perf_counter() - began)
        began = time.perf_counter()
        await asyncio.gather(*map(self.cycles, range(WORKERS)))
        self.together.append((time.perf_counter() - began) / (WORKERS * CYCLES))
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        # The first one of a new connection reads the schema, as the store did long ago.
        bare_cycle(connection, self.leases[0])
        for _ in range(CYCLES):
            began = time.perf_counter()
            bare_cycle(connection, self.leases[0])
            self.bare.append(time.perf_counter() - began)
        connection.close()

    async def successes(self) -> float:
        """Give the median seconds of a claim and a success that frees another task."""
        seconds = []
        for _ in range(SUCCESSES):
            began = time.perf_counter()
            claim = await self.cycle(outcome=SUCCEEDED)
            if not claim.task.spec.depends_on:
                seconds.append(time.perf_counter() - began)
        return statistics.median(seconds)


def bare_cycle(db: sqlite3.Connection, lease: Lease) -> None:
    """Do the two transactions of a claim and its release, and nothing else."""
    at, job = "2026-01-01T00:00:00.000000+00:00", int(lease.job)

    def one(statement: str, *args: object) -> sqlite3.Row:
        row: sqlite3.Row = db.execute(statement, args).fetchone()
        return row

    def put(task: sqlite3.Row, values: Mapping[str, int]) -> None:
        kept = ("id", "done", "failed", "fail_count", "rank", "failure", "run_id")
        db.execute(sql.SET_COUNTERS, {**{key: task[key] for key in kept}, "priority": 0, **values})
        db.execute(sql.CHANGED, (task["queue"],))

    db.execute("BEGIN IMMEDIATE")
    one(sql.LEASE, job)
    one(sql.LIVE_ATTEMPT, job)
    queue = one(sql.QUEUE, QUEUE)
    one(sql.AVOID, job)
    where = {"queue": queue["id"], "accelerator": ACCELERATOR, "hosts": 2, "most": 1}
    found = [row for z in ("", ZONE) for row in db.execute(sql.PICK, {**where, "zone": z})]
    task = min(found, key=lambda row: row["rank"])
    token, run = os.urandom(16).hex(), task["run_count"] + 1
    attempt = {"token": token, "job": job, "generation": 1, "number": run, "task": task["id"]}
    more = {"run_id": task["run_id"], "mode": "fresh", "stage": 0, "claimed_at": at}
    db.execute(sql.INSERT_ATTEMPT, attempt | more)
    put(task, {"run_count": run, "running": 1, "ready": 0})
    text = f"job {lease.job} took task {task['task']} (run {run})"
    db.execute(sql.INSERT_EVENT, (at, "task.claimed", text, job, QUEUE, task["task"]))
    db.execute("COMMIT")

    db.execute("BEGIN IMMEDIATE")
    one(sql.LEASE, job)
    number = one(sql.ATTEMPT, token)["task"]
    db.execute(sql.END_ATTEMPT, (at, "interrupted", Cause.PREEMPTED, "", "[]", token))
    task = one(sql.TASK_BY_ID, number)
    text = f"task {task['task']} (run {run}) was interrupted on job {lease.job}: preempted"
    db.execute(sql.INSERT_EVENT, (at, "task.interrupted", text, job, QUEUE, task["task"]))
    put(task, {"run_count": run, "running": 0, "ready": 1})
    db.execute("COMMIT")


def syncs(folder: Path) -> list[int]:
    """Give how often each of some cycles waited for the disk, as strace sees it."""
    log = folder / "strace.log"
    strace = ("strace", "-f", "-qq", "-o", str(log), "-e", "trace=fsync,fdatasync,chdir")
    subprocess.run([*strace, sys.executable, "-m", __name__, str(folder)], check=True)
    calls = re.findall(r" (fsync|fdatasync|chdir)\(", log.read_text())
    return [len(cycle.split()) for cycle in " ".join(calls).split("chdir")[1:-1]]


async def counted(folder: Path) -> None:
    """Go some cycles; each begins and ends with a ``chdir``, which nothing else here calls."""
    queue = await Queue.of(folder / "counted", SIZES[0])
    await queue.cycle()
    for _ in range(COUNTED):
        os.chdir(".")
        await queue.cycle()
    os.chdir(".")
    await queue.store.aclose()


async def timed(folder: Path) -> tuple[Mapping[int, Queue], float]:
    """Measure all sizes, in turns: a machine that is busy for a while is so for each of them.

    Gives with them what :meth:`Queue.successes` gives of the largest.
    """
    queues = {size: await Queue.of(folder / str(size), size) for size in SIZES}
    for queue in queues.values():
        await queue.cycle()
    for _ in range(ROUNDS):
        for queue in queues.values():
            await queue.measure()
    success = await queues[SIZES[-1]].successes()
    for queue in queues.values():
        await queue.store.aclose()
    return queues, success


def measure(folder: Path) -> Sequence[Row]:
    """Measure claims and releases."""
    counts = syncs(folder)
    queues, success = asyncio.run(timed(folder))
    rows, costs = [], {}
    for size, queue in queues.items():
        ours, bare = statistics.median(queue.ours), statistics.median(queue.bare)
        together = statistics.median(queue.together)
        costs[size] = ours
        one = f"claims and releases of one worker, {size:,} tasks"
        all_ = f"claims and releases of {WORKERS} workers in one process, {size:,} tasks"
        calls = "the store's own methods, as a controller calls them"
        each = f"{together * 1000:.2f} ms each"
        told = f"a bare loop {bare * 1000:.2f} ms; defining them {queue.define:.2f} s"
        rows += [
            Row(f"claim and release, {size:,} tasks", ours * 1000, "ms", detail=told),
            Row(f"{one}, of a bare loop's rate", bare / ours, at_least=0.5, detail=calls),
            Row(f"{all_}, of a bare loop's rate", bare / together, at_least=0.5, detail=each),
        ]
    ratio = costs[SIZES[-1]] / costs[SIZES[0]]
    freeing = f"claim and success that frees a dependant, {SIZES[-1]:,} tasks"
    mean = f"{statistics.mean(counts):.2f} on average, with those of checkpoints"
    return [
        *rows,
        Row(freeing, success * 1000, "ms"),
        Row(f"time with {SIZES[-1]:,} tasks, of that with {SIZES[0]}", ratio, at_most=1.3),
        Row("syncs of a claim and its release", statistics.median(counts), at_most=2, detail=mean),
    ]


if __name__ == "__main__":
    asyncio.run(counted(Path(sys.argv[1])))
