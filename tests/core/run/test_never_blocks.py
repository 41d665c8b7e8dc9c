"""The loop goes on whatever stands still, and a job more costs no thread and no process more."""

import asyncio
import os
import sqlite3
import threading
from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import Scene

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobDraft, Note
from jobman_core.models.job import Desired
from jobman_core.run.controller import Controller
from jobman_core.testing.fakes import FakeClock

JOBS = 30

#: What blocks the loop would block the test as well: it ends by its time-out.
pytestmark = pytest.mark.timeout(30)


async def test_a_database_that_others_have_locked_holds_up_no_loop(tmp_path: Path) -> None:
    store = SqliteStore(Context(tmp_path, "", FakeClock()), busy=60)
    Home(tmp_path).state.mkdir(parents=True)
    await store.open()
    other = sqlite3.connect(Home(tmp_path).database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writing = asyncio.create_task(store.add_event(Note("test.note", "waits")))
    for _ in range(1000):
        await asyncio.sleep(0)
    assert not writing.done()
    # Nobody but this loop gives the lock back: had the write blocked it, it would wait in vain.
    other.execute("ROLLBACK")
    other.close()
    await writing
    await store.aclose()


async def test_a_disk_for_logs_that_hangs_keeps_no_controller_from_beating(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        logs = scene.home.logs("ada", scene.job)
        logs.mkdir(parents=True)
        # Nobody reads from it: whoever opens it to write stands still, as on a disk that hangs.
        os.mkfifo(logs / "job.log")
        os.mkfifo(logs / "tpu.log")
        scene.start()
        await scene.pass_time(40)
        holder = (await scene.record()).holder
        await scene.pass_time(40)
        later = (await scene.record()).holder
        readers = [
            os.open(logs / name, os.O_RDONLY | os.O_NONBLOCK) for name in ("job.log", "tpu.log")
        ]
        assert holder is not None
        assert later is not None
        assert later[1].beat > holder[1].beat + 15
        await scene.crash()
        await scene.scribe.aclose()
        for reader in readers:
            os.close(reader)


async def test_a_job_more_takes_no_thread_and_no_process_more(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene, scene.acting() as ctx:
        driving: list[asyncio.Task[None]] = []

        async def one_more() -> None:
            draft = JobDraft("ada", "job", "v4-8", "here", "fake", "process", None, None)
            job = await scene.store.draft_job(draft)
            await scene.store.publish_job(job.id, spec_hash="")
            await scene.store.set_desired(job.id, Desired.RUNNING, Note("job.started", "starts"))
            record = await scene.store.record(job.id)
            spec = attrs.evolve(scene.spec, name=job.name, tpu_name=job.name)
            mine = attrs.evolve(ctx, job=record.job, spec=spec, lease=await ctx.tenure.take(record))
            driving.append(asyncio.create_task(Controller(mine, record).drive()))

        def running() -> int:
            fleets = [slice_.fleet for slice_ in scene.cloud.slices.values()]
            return sum(p.state.value == "RUNNING" for f in fleets for p in f.programs.values())

        await one_more()
        await scene.until(lambda: running() == 1)
        threads, children = _threads(), _children()
        for _ in range(JOBS - 1):
            await one_more()
        await scene.until(lambda: running() == JOBS)
        assert _threads() <= threads
        assert _children() == children
        for task in driving:
            task.cancel()
        await asyncio.gather(*driving, return_exceptions=True)


def _threads() -> int:
    """Count the threads that are there for good; those of asyncio's pool are bounded and shared."""
    return sum(not thread.name.startswith("asyncio_") for thread in threading.enumerate())


def _children() -> str:
    return "".join(p.read_text() for p in Path("/proc/self/task").glob("*/children"))
