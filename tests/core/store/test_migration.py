"""Databases of earlier schemas load, and what is half brought forward is not half kept."""

import inspect
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import attrs
import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.builtin.sqlite.database import Database
from jobman_core.builtin.sqlite.schema import STEPS
from jobman_core.errors import StoreError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note, Store
from jobman_core.models.job import Desired, EndingKind, Step
from jobman_core.models.place import Where
from jobman_core.models.slice import SlicePhase
from jobman_core.models.task import QueueDefinition
from jobman_core.models.zone import Zone
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import NOON, QUEUE, SUCCEEDED, Scene

#: Databases that were made when each schema was the newest, by the number of its steps.
KEPT = sorted(Path(__file__).parent.glob("schema_*.sql"))
#: What databases since the second schema know of.
WHERE = Where("gcp", "lab", "us-central2-b", "v4-8", "spot", "tpu-vm")
ZONE = Zone("gcp", "us-central2-b", "lab")
#: What a schema of the future may do.
NEXT = (
    "ALTER TABLE tasks ADD COLUMN deadline TEXT",
    "UPDATE tasks SET deadline = 'never'",
    "CREATE TABLE pools (name TEXT PRIMARY KEY) {strict}",
)


def load(kept: Path, database: Path) -> None:
    """Make a database as it was kept."""
    database.parent.mkdir(parents=True)
    connection = sqlite3.connect(database)
    connection.executescript(kept.read_text("utf-8"))
    connection.close()


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Give a store that found a database of an earlier schema."""
    load(request.param, Home(tmp_path).database)
    store = SqliteStore(Context(tmp_path, "", FakeClock(start=NOON)), machine=lambda: "here")
    await store.open()
    yield store
    await store.aclose()


def test_there_is_one_database_for_each_schema() -> None:
    names = {f"schema_{number}" for number in range(1, len(STEPS) + 1)}
    assert {path.stem for path in KEPT} == names


async def test_an_old_database_answers_every_question(store: Store) -> None:
    answers = {
        "home_id": await store.home_id(),
        "hindrance": await store.hindrance(),
        "version": await store.version(),
        "news": await store.news("controller-000001-1"),
        "job_ids": await store.job_ids(),
        "record": [await store.record(job) for job in await store.job_ids()],
        "records": await store.records(deleted=True),
        "slices": await store.slices("000001"),
        "attempts": [
            await store.attempts(job="000001"),
            await store.attempts(queue=QUEUE),
            await store.attempts(queue=QUEUE, task="b"),
        ],
        "queue": await store.queue(QUEUE),
        "queues": await store.queues(),
        "tasks": {task.id: task for task in await store.tasks(QUEUE)},
        "task": await store.task(QUEUE, "a"),
        "demand": await store.demand(QUEUE),
        "tallies": await store.tallies(tasks=9),
        "history": await store.history(QUEUE),
        "events": await store.events(limit=1000),
        "newest_events": await store.newest_events("000001", 3),
        "stockouts": await store.stockouts([WHERE]),
        "zone_look": await store.zone_look(ZONE),
        "recall": await store.recall("slack"),
        "zones": await store.zones(),
        "used": await store.used(NOON, NOON + timedelta(hours=1)),
    }
    # Whatever of the store only tells is asked above: a new question has to be added there.
    told = {
        name
        for name, method in inspect.getmembers(Store, inspect.iscoroutinefunction)
        if method.__annotations__["return"] is not None
    }
    acts = {
        "draft_job",
        "publish_job",
        "set_desired",
        "take_lease",
        "open_attempt",
        "open_queue",
        "set_spec",
        "claim_look",
        "save_look",
    }
    of_every_backend = {"checkups"}
    assert told - acts - of_every_backend - {"define", "claim"} == set(answers)

    jobs = {record.job.id: record for record in await store.records(deleted=True)}
    assert {job: record.job.desired for job, record in jobs.items()} == {
        "000001": Desired.RUNNING,
        "000002": Desired.RUNNING,
        "000003": Desired.CANCELLED,
        "000004": Desired.DELETED,
    }
    worker, over = jobs["000001"], jobs["000002"]
    assert worker.job.recoveries == 1
    assert worker.progress == (1, 6)
    assert worker.slice is not None
    assert (worker.slice.generation, worker.slice.phase) == (2, SlicePhase.READY)
    assert over.job.ending is not None
    assert over.job.ending.kind is EndingKind.DONE
    assert over.job.ended_at == NOON
    (live,) = worker.attempts
    assert (live.task, live.number, live.commit, live.hosts) == ("e", 2, "0123abc", (0, 1))
    statuses = {task.id: task.status.value for task in await store.tasks(QUEUE)}
    assert statuses == {
        "a": "DONE", "b": "FAILED", "c": "BLOCKED", "d": "PENDING", "e": "RUNNING", "f": "PENDING"
    }  # fmt: skip
    used = await store.used(NOON, NOON + timedelta(hours=1))
    assert {run.task for run in used.runs if run.final} >= {"a", None}
    past = [run.status for run in (await store.history("/home/lab/old.yaml"))["z"]]
    assert past == ["completed"]
    assert len(await store.events(limit=1000)) == 32


async def test_an_old_database_is_worked_on_as_one_of_today(store: Store) -> None:
    scene = Scene(store)
    record = await store.record("000001")
    assert record.holder is not None
    lease = await scene.lease("000001", instead_of=record.holder[0])
    assert lease.epoch == record.holder[0].epoch + 1
    (live,) = record.attempts
    await store.end_attempt(lease, live.token, SUCCEEDED, now=NOON)
    await store.set_step(lease, Step.IDLE, "waits")
    note = Note("task.reset", "ada resets it")
    await store.reset(QUEUE, ["b"], note)
    await store.define(QUEUE, attrs.evolve(await _definition(store), content_hash="new"))
    claim = await scene.must_claim(lease)
    assert claim.task.id == "b"
    assert claim.attempt.number == 3
    await scene.end(lease, claim, SUCCEEDED)
    assert (await store.task(QUEUE, "c")).status == "PENDING"
    await store.set_desired("000001", Desired.DELETED, note)
    assert [s.generation for s in (await store.record("000001")).withdrawing] == [2]
    assert (await scene.job()) == "000006"


async def test_what_a_database_knew_of_places_and_zones_is_known_still(tmp_path: Path) -> None:
    load(KEPT[-1], Home(tmp_path).database)
    store = SqliteStore(Context(tmp_path, "", FakeClock(start=NOON)), machine=lambda: "here")
    await store.open()
    assert (await store.stockouts([WHERE]))[WHERE].reason == "no more capacity"
    look = await store.zone_look(ZONE)
    assert look is not None
    assert (look.at, list(look.listed), look.changes) == (1234.5, ["worker-000001-g2"], 3)
    await store.aclose()


async def _definition(store: Store) -> QueueDefinition:
    return QueueDefinition(tuple(task.spec for task in await store.tasks(QUEUE)), "")


def _things(database: Path) -> tuple[int, bool, int]:
    """Give the schema, whether the next step's table is there, and how many tasks."""
    connection = sqlite3.connect(database)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
        count = connection.execute("SELECT count(*) FROM tasks").fetchone()[0]
    finally:
        connection.close()
    return version, "pools" in names, count


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from jobman_core.builtin.sqlite.database import Database
from jobman_core.builtin.sqlite.schema import STEPS

class Deadly(tuple):
    def __iter__(self):
        for number, statement in enumerate(super().__iter__()):
            if number == int(sys.argv[2]):
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement
        os.kill(os.getpid(), signal.SIGKILL)

steps = (*STEPS, Deadly(sys.argv[3:]))
asyncio.run(Database(Path(sys.argv[1]), steps=steps).open(lambda tx: None, lambda tx: True))
"""


@pytest.mark.parametrize("after", range(len(NEXT) + 1))
async def test_a_process_killed_while_it_brings_a_database_forward_leaves_the_old_one(
    tmp_path: Path, after: int
) -> None:
    path = Home(tmp_path).database
    load(KEPT[-1], path)
    done = subprocess.run(  # noqa: ASYNC221 - nobody else waits here
        [sys.executable, "-c", KILLED, path, str(after), *NEXT], check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert _things(path) == (len(STEPS), False, 7)
    database = Database(path, steps=(*STEPS, NEXT))
    await database.open(lambda tx: None, lambda tx: True)
    await database.aclose()
    assert _things(path) == (len(STEPS) + 1, True, 7)


async def test_a_newer_database_is_not_touched(tmp_path: Path) -> None:
    path = Home(tmp_path).database
    load(KEPT[-1], path)
    newer = Database(path, steps=(*STEPS, NEXT))
    await newer.open(lambda tx: None, lambda tx: True)
    await newer.aclose()
    before = path.read_bytes()
    store = SqliteStore(Context(tmp_path, "", FakeClock()))
    with pytest.raises(StoreError, match="made by a newer jobman") as caught:
        await store.open()
    await store.aclose()
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before
