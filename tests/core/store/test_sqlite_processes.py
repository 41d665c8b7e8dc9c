"""Many processes at once on one home."""

import asyncio
import sys
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.interfaces.backend import Context
from jobman_core.testing.fakes import FakeClock

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
