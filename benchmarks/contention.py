"""Many processes that take tasks from one queue, also on a disk that is slow to sync."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import attrs

from benchmarks.table import Row
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.models.task import QueueDefinition, TaskSpec
from jobman_core.testing.store_contract.scene import ACCELERATOR, QUEUE

TASKS = 2000
#: Processes.
MANY, CROWD = 16, 200
#: Tasks on a slow disk.
FEW = 400
#: Each task is claimed and released: two commits, of which no two are at the same time.
SYNCS = 2
#: Seconds that a sync takes at least, on a slow disk.
SLOW = 0.01

#: Preloaded into a process, it makes every sync take longer by what SYNC_DELAY_US says.
SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static void wait_for_disk(void) { usleep(atoi(getenv("SYNC_DELAY_US"))); }
int fsync(int fd) {
    wait_for_disk();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int fdatasync(int fd) {
    wait_for_disk();
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(fd);
}
"""


@attrs.frozen
class Race:
    """What became of a queue that many processes worked on."""

    seconds: float
    #: Tasks that are done, after exactly one run each.
    done: int
    #: What processes said when something went wrong.
    errors: Sequence[str]

    def row(self, what: str, tasks: int) -> Row:
        """Tell how many tasks were not done once, or not at all."""
        wrong = tasks - self.done + len(self.errors)
        said = f"; {self.errors[0]}" if self.errors else ""
        detail = f"{self.done:,} of {tasks:,} tasks done once in {self.seconds:.1f} s{said}"
        return Row(f"{what}: tasks lost, errors", wrong, at_most=0, detail=detail)

    def proof(self, what: str, tasks: int) -> Row:
        """Show that the disk was slow: it took as long as all syncs, one after the other."""
        alone = tasks * SYNCS * SLOW
        detail = f"proof that it was slow: {tasks * SYNCS:,} syncs take {alone:g} s alone"
        ratio = self.seconds / alone
        return Row(f"{what}: time, of its syncs' alone", ratio, at_least=1, detail=detail)


def measure(folder: Path) -> Sequence[Row]:
    """Measure all of it."""
    slow = slow_disk(folder)
    single = race(folder / "single", 1, TASKS)
    many = race(folder / "many", MANY, TASKS)
    crowd = race(folder / "crowd", CROWD, TASKS)
    slow_many = race(folder / "slow-many", MANY, FEW, slow)
    slow_crowd = race(folder / "slow-crowd", CROWD, FEW, slow)
    alone = TASKS / single.seconds
    share = f"{TASKS / many.seconds:,.0f} tasks a second, one process alone {alone:,.0f}"
    on = f"a disk of {SLOW * 1000:g} ms a sync"
    return [
        Row(
            f"rate of {MANY} processes, of one's",
            single.seconds / many.seconds,
            at_least=0.33,
            detail=share,
        ),
        many.row(f"{MANY} processes", TASKS),
        crowd.row(f"{CROWD} processes", TASKS),
        slow_many.row(f"{MANY} processes, {on}", FEW),
        slow_many.proof(f"{MANY} processes, {on}", FEW),
        slow_crowd.row(f"{CROWD} processes, {on}", FEW),
        slow_crowd.proof(f"{CROWD} processes, {on}", FEW),
    ]


def slow_disk(folder: Path) -> Mapping[str, str]:
    """Give the environment of processes for whom every sync takes long."""
    source, library = folder / "slow.c", folder / "slow.so"
    source.write_text(SHIM)
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "SYNC_DELAY_US": str(round(SLOW * 1e6))}


def race(
    home: Path, processes: int, tasks: int, environment: Mapping[str, str] | None = None
) -> Race:
    """Let processes work on a queue until it is empty; those that start up are waited for."""
    asyncio.run(_define(home, tasks))
    pipe = subprocess.PIPE
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "benchmarks.worker", str(home)],
                    env={**os.environ, **(environment or {})},
                    stdin=pipe,
                    stdout=pipe,
                    stderr=pipe,
                    text=True,
                )
            )
            for _ in range(processes)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        began = time.perf_counter()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        said = [worker.communicate() for worker in workers]
        seconds = time.perf_counter() - began
    errors = [err.strip().splitlines()[-1] for _, err in said if err.strip()]
    return Race(seconds, asyncio.run(_done_once(home)), errors)


async def _define(home: Path, tasks: int) -> None:
    store = SqliteStore(Context(home, "", SystemClock()))
    await store.open()
    await store.open_queue(QUEUE)
    entries = (TaskSpec(f"task-{n:04d}", "true", ACCELERATOR) for n in range(tasks))
    await store.define(QUEUE, QueueDefinition(tuple(entries), "hash"))
    await store.aclose()


async def _done_once(home: Path) -> int:
    store = SqliteStore(Context(home, "", SystemClock()))
    await store.open()
    found = [task.counters for task in await store.tasks(QUEUE)]
    await store.aclose()
    return sum(c.done and (c.run_count, c.running) == (1, 0) for c in found)
