"""How long ``jobman list`` takes."""

import asyncio
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import attrs
from tests.support.lab import Lab

from benchmarks.table import Row
from benchmarks.timing import median_of
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Desired
from jobman_core.models.lease import Controller
from jobman_core.models.slice import HostInfo, Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.process import ProcessIdentity, machine_id

#: So many jobs are a busy lab.
FEW = 200
MANY = 2_000


def measure(folder: Path) -> Sequence[Row]:
    """Measure lists of 200 and of 2,000 jobs that run."""
    few, many = running(folder / "few", FEW), running(folder / "many", MANY)
    short = median_of(lambda: few.run("list"))
    long = median_of(lambda: many.run("list", "--json"))
    return [
        Row(f"`jobman list` of {FEW:,} running jobs", short, "s", at_most=0.35),
        Row(f"`jobman list --json` of {MANY:,} running jobs", long, "s", at_most=1.0),
    ]


def running(root: Path, jobs: int) -> Lab:
    """Make jobs, and put on the books of each what a job has that runs."""
    lab = Lab(root)
    said = lab.run("create", lab.job(), "--no-start", "--count", str(jobs), limit=900)
    asyncio.run(_put_on_books(root, [line.split()[0] for line in said.out.splitlines()]))
    found = {(job["status"], job["reason"]) for job in json.loads(lab.run("list", "--json").out)}
    assert found == {("RUNNING", "its command")}, found
    return lab


async def _put_on_books(home: Path, jobs: Sequence[str]) -> None:
    clock = SystemClock()
    store = SqliteStore(Context(home, "", clock))
    await store.open()
    mark = await store.home_id()
    me = ProcessIdentity.of(os.getpid())

    async def run(job: str) -> None:
        """Do what a controller of its own does; this process stands for each of them."""
        record = await store.record(job)
        name, now = os.urandom(16).hex(), datetime.now(UTC)
        await store.set_desired(job, Desired.RUNNING, Note("job.started", "starts"))
        beat = clock.monotonic()
        await store.register(Controller(name, machine_id(), me.boot_id, me.pid, me.start, beat))
        lease = await store.take_lease(job, name, instead_of=None)
        slice_ = Slice(
            job=job,
            generation=1,
            request=SliceRequest("local", record.job.accelerator, record.job.zone),
            identity=SliceIdentity(f"job-{job}", record.job.zone, mark, record.job.user, job, 1),
            requested_at=now,
        )
        await store.open_slice(lease, slice_, Note("slice.requested", "asked for"))
        ready = attrs.evolve(
            slice_, state="READY", phase=SlicePhase.READY, hosts=(HostInfo(0),), ready_at=now
        )
        await store.save_slice(lease, ready)
        attempt = await store.open_attempt(lease, generation=1, now=now)
        await store.save_attempt(lease, attrs.evolve(attempt, hosts=(0,), started_at=now))

    await asyncio.gather(*map(run, jobs))
    await store.aclose()
