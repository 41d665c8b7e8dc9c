"""What the SQLite store asks of its database costs the same however much is in it."""

import re
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore, statements
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import FAILED, QUEUE, Scene, entry, slice_of

#: Indexes that hold only what is live: going through one of them is going through that alone.
LIVE = {"attempts_live", "attempts_live_task", "slices_held"}
#: Tables that are as long as what is shown of them.
SHORT = {"queues", "jobs", "j", "leases", "l", "zones"}

QUERIES = {
    name: sql
    for name, sql in vars(statements).items()
    if name.isupper() and not name.startswith("_") and sql.strip().startswith("SELECT")
}
CHANGES = {
    name: sql
    for name, sql in vars(statements).items()
    if name.isupper() and sql.strip().startswith(("UPDATE", "DELETE"))
}


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(Context(tmp_path, "", FakeClock()))
    await store.open()
    yield store
    await store.aclose()


def plan(path: Path, sql: str) -> list[str]:
    connection = sqlite3.connect(path)
    try:
        names = re.findall(r":([a-z_]+)", sql)
        values: object = dict.fromkeys(names, 1) if names else (1,) * sql.count("?")
        rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()  # type: ignore[arg-type]
    finally:
        connection.close()
    return [row[3] for row in rows]


@pytest.mark.parametrize("name", [*QUERIES, *CHANGES])
async def test_no_statement_goes_through_a_whole_table(
    store: SqliteStore, tmp_path: Path, name: str
) -> None:
    for line in plan(Home(tmp_path).database, (QUERIES | CHANGES)[name]):
        found = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", line)
        assert found is None or found[1] in SHORT or found[2] in LIVE, line


async def test_the_next_task_is_read_off_the_index_with_no_sorting(
    store: SqliteStore, tmp_path: Path
) -> None:
    (line,) = plan(Home(tmp_path).database, statements.PICK)
    assert "USING INDEX tasks_ready (queue=? AND accelerator=? AND zone=?)" in line


async def count(store: SqliteStore, work: Awaitable[object]) -> int:
    """Count the statements of some work."""
    seen: list[str] = []
    assert store._db._connection is not None
    store._db._connection.set_trace_callback(seen.append)
    await work
    store._db._connection.set_trace_callback(None)
    return len(seen)


async def test_all_records_take_as_many_statements_for_many_jobs_as_for_one(
    store: SqliteStore,
) -> None:
    scene = Scene(store)
    await scene.define(*(entry(f"t{n}") for n in range(30)))
    counts = []
    for jobs in (1, 20):
        for _ in range(jobs):
            lease = await scene.worker(queue=QUEUE)
            await store.open_slice(lease, slice_of(lease.job, 1), Note("slice.requested", ""))
            await scene.must_claim(lease)
        counts.append(await count(store, store.records()))
    assert counts[0] == counts[1]


async def test_a_claim_and_its_release_take_as_many_statements_for_many_tasks_as_for_few(
    store: SqliteStore,
) -> None:
    scene = Scene(store)
    lease = await scene.worker(queue=QUEUE)
    await scene.define(entry("first"))
    await scene.run(lease, FAILED)
    counts = []
    for tasks in (3, 300):
        await scene.define(*(entry(f"t{n}") for n in range(tasks)))
        counts.append(await count(store, scene.run(lease, FAILED)))
    assert counts[0] == counts[1]


async def test_tasks_of_a_queue_take_as_many_statements_for_many_as_for_few(
    store: SqliteStore,
) -> None:
    scene = Scene(store)
    counts = []
    for tasks in (3, 100):
        leaves = (entry(f"t{n}", depends_on=("root",)) for n in range(tasks))
        await scene.define(entry("root"), *leaves)
        counts.append(await count(store, store.tasks(QUEUE)))
    assert counts[0] == counts[1]
