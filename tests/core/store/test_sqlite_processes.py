"""Many processes at once on one home."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.interfaces.backend import Context
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import QUEUE, Scene, entry

CREATE = """
import asyncio, sys
from pathlib import Path
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobDraft

async def main():
    store = SqliteStore(Context(Path(sys.argv[1]), "", SystemClock()))
    sys.stdin.readline()
    await store.open()
    for _ in range(3):
        draft = JobDraft("ada", "w", "v4-8", "z", "local", "process", None, "auto")
        job = await store.draft_job(draft)
        await store.publish_job(job.id, spec_hash="")
        print(job.id, job.name, await store.home_id())
    await store.aclose()

asyncio.run(main())
"""


WORK = """
import asyncio, sys
from pathlib import Path
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.testing.store_contract.scene import QUEUE, SUCCEEDED, Scene

async def main():
    store = SqliteStore(Context(Path(sys.argv[1]), "", SystemClock()))
    sys.stdin.readline()
    await store.open()
    scene = Scene(store)
    lease = await scene.worker(queue=QUEUE)
    while claim := await scene.claim(lease):
        await scene.end(lease, claim, SUCCEEDED)
        print(claim.task.id)
    await store.aclose()

asyncio.run(main())
"""

#: What makes a disk of 10 ms a sync out of any.
SLOW_DISK = (
    *("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"),
    *("-e", "inject=fsync,fdatasync:delay_exit=10000"),
)


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("processes", "tasks", "under"), [(24, 150, ()), (12, 60, SLOW_DISK)], ids=["fast", "slow"]
)
async def test_many_processes_that_work_on_one_queue_do_each_task_once(
    tmp_path: Path, processes: int, tasks: int, under: Sequence[str]
) -> None:
    store = SqliteStore(Context(tmp_path, "", FakeClock()))
    await store.open()
    scene = Scene(store)
    await scene.define(*(entry(f"t{n:03d}") for n in range(tasks)))
    argv = (*under, sys.executable, "-c", WORK, str(tmp_path))
    pipe = asyncio.subprocess.PIPE
    workers = [
        await asyncio.create_subprocess_exec(*argv, stdin=pipe, stdout=pipe, stderr=pipe)
        for _ in range(processes)
    ]
    results = await asyncio.gather(*(worker.communicate(b"go\n") for worker in workers))
    assert [err for _, err in results if err] == []
    done = [task for out, _ in results for task in out.decode().split()]
    assert sorted(done) == [f"t{n:03d}" for n in range(tasks)]
    found = [task.counters for task in await store.tasks(QUEUE)]
    assert {(c.done, c.run_count, c.running) for c in found} == {(True, 1, 0)}
    await store.aclose()


@pytest.mark.e2e
async def test_twenty_processes_that_make_a_home_and_jobs_at_once_lose_none(
    tmp_path: Path,
) -> None:
    pipe = asyncio.subprocess.PIPE
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", CREATE, str(tmp_path), stdin=pipe, stdout=pipe, stderr=pipe
        )
        for _ in range(20)
    ]
    # All have loaded what they need, or are about to, and go at once.
    results = await asyncio.gather(*(process.communicate(b"go\n") for process in processes))
    assert [err for _, err in results if err] == []
    made = [line.split() for out, _ in results for line in out.decode().splitlines()]
    ids = sorted(job for job, _, _ in made)
    assert ids == [f"{n:06d}" for n in range(1, 61)]
    assert {name for _, name, _ in made} == {f"w_{n}" for n in range(1, 61)}
    assert len({home for _, _, home in made}) == 1
    store = SqliteStore(Context(tmp_path, "", FakeClock()))
    await store.open()
    assert await store.job_ids() == ids
    await store.aclose()
