"""Many running jobs in one shared process, on the fake cloud: memory, processor, a preemption.

python -m benchmarks.shared FOLDER JOBS
"""

import argparse
import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from benchmarks.table import Row
from jobman_core import hookimpl
from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.store import Note
from jobman_core.models.attempt import HostState
from jobman_core.models.job import Desired
from jobman_core.models.slice import SliceIdentity, SliceRequest
from jobman_core.plugins import Plugins
from jobman_core.process import Roster
from jobman_core.starting import session_name
from jobman_core.testing.fakes import FakeCloud

JOB = """
job: {name: many, loop: true, session: shared}
tpu: {cloud: fake, accelerator: v4-8, zone: here}
command: {cmd: "echo up\\nsleep 600"}
"""
#: So many jobs are promised; what more of them take is only told.
PROMISED = 2_000
#: Seconds over which the processor is watched while nothing happens.
WATCHED = 30.0


def plugins_with(made: list[FakeCloud]) -> Plugins:
    """Give what is built in, and a fake cloud that is put into the list when it is used."""

    class ThisCloud(FakeCloud):
        async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
            # Others are made only to check job files.
            if self not in made:
                made.append(self)
            await super().create(identity, request)

    @hookimpl
    def jobman_clouds() -> Sequence[type[Cloud]]:
        return [ThisCloud]

    found = Plugins.from_environment(builtins)
    found.add("fake", SimpleNamespace(jobman_clouds=jobman_clouds), distribution="benchmarks")
    return found


def memory() -> int:
    """Give the bytes that this process has in memory."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def running(cloud: FakeCloud) -> int:
    """Count the slices on which a program runs."""
    return sum(
        any(program.state is HostState.RUNNING for program in slice_.fleet.programs.values())
        for slice_ in cloud.slices.values()
    )


async def until_running(clouds: list[FakeCloud], jobs: int) -> float:
    """Give the seconds until so many programs run."""
    began = time.perf_counter()
    while True:
        if clouds and running(clouds[0]) >= jobs:
            return time.perf_counter() - began
        await asyncio.sleep(0.2)


async def make(root: Path, jobs: int) -> None:
    """Make a home with so many jobs that are to run."""
    config = root / "job.yaml"
    config.write_text(JOB, encoding="utf-8")
    async with App(Home(root), make=True, plugins=plugins_with([])) as app:
        await app.create(config, count=jobs, start=False)


async def drive(root: Path, jobs: int) -> dict[str, float]:
    """Drive so many jobs in this process."""
    await make(root, jobs)
    store = SqliteStore(Context(root, "", SystemClock()))
    await store.open()
    ids = await store.job_ids()
    for job in ids:
        await store.set_desired(job, Desired.RUNNING, Note("job.started", "starts"))
    await store.aclose()
    clouds: list[FakeCloud] = []
    roster = Roster.of_home(root, os.getuid())
    async with App(Home(root), plugins=plugins_with(clouds)) as app:
        serving = asyncio.create_task(app.serve(lambda _: None))
        await asyncio.sleep(2.0)
        empty = memory()
        for job in ids:
            roster.add(session_name(job), job)
        started = await until_running(clouds, jobs)
        await asyncio.sleep(5.0)
        full = memory()
        spent, began = time.process_time(), time.perf_counter()
        await asyncio.sleep(WATCHED)
        share = (time.process_time() - spent) / (time.perf_counter() - began)
        for slice_ in list(clouds[0].slices.values()):
            await clouds[0].preempt(slice_.identity)
        recovered = await until_running(clouds, jobs)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    return {
        "empty MiB": empty / 2**20,
        "KiB a job": (full - empty) / jobs / 1024,
        "share of a core": share,
        "start s": started,
        "recovery s": recovered,
    }


def in_a_process_of_its_own(folder: Path, jobs: int) -> dict[str, float]:
    """Measure so that nothing that was measured before is still in memory."""
    argv = [sys.executable, "-m", "benchmarks.shared", str(folder), str(jobs)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measure(folder: Path, jobs: int = PROMISED) -> Sequence[Row]:
    """Measure so many jobs."""
    figures = in_a_process_of_its_own(folder, jobs)
    limits = ("KiB a job", 256.0), ("share of a core", 0.5), ("recovery s", 60.0)
    size, share, recovery = (
        (figures[key], limit if jobs <= PROMISED else None) for key, limit in limits
    )
    many = f"{jobs:,} jobs in one process"
    empty = f"over the {figures['empty MiB']:.0f} MiB of the empty process"
    started = f"started in {figures['start s']:.0f} s"
    return [
        Row(f"{many}, memory of one", size[0], "KiB", at_most=size[1], detail=empty),
        Row(f"{many}, of one core", share[0], at_most=share[1], detail=started),
        Row(f"{many}, all preempted, run again", recovery[0], "s", at_most=recovery[1]),
    ]


def main() -> None:
    """Measure in this process, and print it as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("jobs", type=int)
    given = parser.parse_args()
    print(json.dumps(asyncio.run(drive(given.folder, given.jobs))))


if __name__ == "__main__":
    main()
