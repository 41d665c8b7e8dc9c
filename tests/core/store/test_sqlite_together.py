"""Writes that wait at the same moment: one transaction, one wait for the disk, no shared fate."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.support.commits import commit_modes

from jobman_core.builtin.sqlite.database import Database, Tx
from jobman_core.builtin.sqlite.schema import Step
from jobman_core.errors import HeldError, StoreError

TABLES: Step = (
    "CREATE TABLE things (name TEXT PRIMARY KEY, size INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE parts (thing TEXT REFERENCES things (name) DEFERRABLE INITIALLY DEFERRED)",
)


@attrs.frozen
class Bench:
    """A database with things in it, and all statements that it has seen."""

    db: Database
    seen: list[str]

    async def together(self, *writes: Callable[[], Awaitable[Any]]) -> Sequence[Any]:
        """Ask for all of these while the thread is busy; gives what came of each."""
        gate = threading.Event()
        holding = asyncio.create_task(self.db.read(lambda _: gate.wait()))
        await asyncio.sleep(0)
        asked = [asyncio.ensure_future(write()) for write in writes]
        await asyncio.sleep(0)
        gate.set()
        await holding
        return await asyncio.gather(*asked, return_exceptions=True)

    def add(self, name: str, *, synced: bool = True) -> Callable[[], Awaitable[int]]:
        write = self.db.write if synced else self.db.write_unsynced
        return lambda: write(lambda tx: tx.run("INSERT INTO things (name) VALUES (?)", name))

    def ask(self, work: Callable[[Tx], Any]) -> Callable[[], Awaitable[Any]]:
        return lambda: self.db.write(work)

    async def names(self) -> list[str]:
        rows = await self.db.read(lambda tx: tx.all("SELECT name FROM things ORDER BY rowid"))
        return [row["name"] for row in rows]

    def told(self, text: str) -> list[str]:
        return [statement for statement in self.seen if statement.startswith(text)]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    db = Database(tmp_path / "x.db", steps=[TABLES], busy=0.05, network=lambda _: False)
    await db.open(lambda tx: None, lambda tx: True)
    bench = Bench(db, [])
    assert db._connection is not None
    db._connection.set_trace_callback(bench.seen.append)
    yield bench
    await db.aclose()


async def test_writes_that_wait_share_one_commit(bench: Bench) -> None:
    names = [f"{n:02d}" for n in range(50)]
    assert list(await bench.together(*map(bench.add, names))) == [1] * 50
    assert await bench.names() == names
    assert len(bench.told("COMMIT")) == 1


async def test_a_write_alone_costs_no_more_than_its_transaction(bench: Bench) -> None:
    await bench.add("a")()
    words = [statement.split()[0] for statement in bench.seen]
    assert words == ["BEGIN", "INSERT", "COMMIT"]


async def test_a_crowd_is_let_in_by_and_by_so_that_other_processes_get_their_turn(
    bench: Bench,
) -> None:
    names = [f"{n:03d}" for n in range(250)]
    await bench.together(*map(bench.add, names))
    assert await bench.names() == names
    assert len(bench.told("COMMIT")) == 3


async def test_one_that_is_refused_takes_back_its_own_changes_alone(bench: Bench) -> None:
    def refused(tx: Tx) -> None:
        tx.run("INSERT INTO things (name) VALUES ('half')")
        tx.run("UPDATE things SET size = 7")
        raise HeldError("not this one")

    before, no, twice, after = await bench.together(
        bench.add("before"), bench.ask(refused), bench.add("before"), bench.add("after")
    )
    assert (before, after) == (1, 1)
    assert str(no) == "not this one"
    assert isinstance(twice, StoreError)
    assert "UNIQUE constraint failed" in str(twice)
    assert await bench.names() == ["before", "after"]
    assert await bench.db.read(lambda tx: tx.all("SELECT 1 FROM things WHERE size > 0")) == []
    assert len(bench.told("COMMIT")) == 1


async def test_a_commit_that_fails_is_told_to_all_whose_work_it_takes_back(bench: Bench) -> None:
    def dangle(tx: Tx) -> None:
        tx.run("INSERT INTO parts VALUES ('no such thing')")

    results = await bench.together(bench.add("a"), bench.ask(dangle), bench.add("b"))
    assert [type(result) for result in results] == [StoreError] * 3
    assert all("FOREIGN KEY constraint failed" in str(result) for result in results)
    assert await bench.names() == []
    await bench.add("a")()
    assert await bench.names() == ["a"]


async def test_on_a_disk_that_fills_up_what_was_acknowledged_is_there_and_no_more(
    bench: Bench,
) -> None:
    await bench.db.read(lambda tx: tx.all("PRAGMA max_page_count = 12"))
    names = [f"{n:02d}" + "x" * 1000 for n in range(60)]
    results = await bench.together(*map(bench.add, names))
    failed = [result for result in results if isinstance(result, StoreError)]
    assert failed
    assert all("disk is full" in str(result) for result in failed)
    done = [name for name, result in zip(names, results, strict=True) if result == 1]
    assert await bench.names() == done


async def test_a_statement_that_ends_the_transaction_loses_nobody_elses_answer(
    bench: Bench,
) -> None:
    def rolled_back(tx: Tx) -> None:
        tx.run("INSERT OR ROLLBACK INTO things (name) VALUES ('a')")

    results = await bench.together(bench.add("a"), bench.ask(rolled_back), bench.add("b"))
    assert [type(result) for result in results] == [StoreError] * 3
    assert await bench.names() == []


async def test_a_database_that_stays_locked_is_told_to_all_who_wait(
    bench: Bench, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "x.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    results = await bench.together(bench.add("a"), bench.add("b"))
    other.close()
    assert ["database is locked" in str(result) for result in results] == [True, True]
    assert await bench.names() == []


@pytest.mark.parametrize(
    ("synced", "how"),
    [((True, False), "EXTRA"), ((False, True, False), "EXTRA"), ((False, False), "NORMAL")],
)
async def test_those_who_need_it_on_the_disk_have_it_so_whoever_shares_the_commit(
    bench: Bench, synced: Sequence[bool], how: str
) -> None:
    adds = [bench.add(str(n), synced=wish) for n, wish in enumerate(synced)]
    await bench.together(*adds)
    assert commit_modes(bench.seen, "EXTRA") == [how]


async def test_what_one_left_before_it_began_is_not_done_and_holds_up_nobody(bench: Bench) -> None:
    async def left() -> None:
        writing = asyncio.ensure_future(bench.add("left")())
        await asyncio.sleep(0)
        writing.cancel()
        await writing

    _, none, _ = await bench.together(bench.add("a"), left, bench.add("b"))
    assert isinstance(none, asyncio.CancelledError)
    assert await bench.names() == ["a", "b"]


async def test_what_one_left_while_it_was_done_is_done_whole(bench: Bench) -> None:
    begun, gate = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        tx.run("INSERT INTO things (name) VALUES ('slow')")
        begun.set()
        gate.wait()
        tx.run("UPDATE things SET size = 1")

    writing = asyncio.ensure_future(bench.ask(slow)())
    await asyncio.to_thread(begun.wait)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    gate.set()
    rows = await bench.db.read(lambda tx: tx.all("SELECT name, size FROM things"))
    assert [tuple(row) for row in rows] == [("slow", 1)]


async def test_those_who_need_not_write_are_told_so_and_share_nothing(bench: Bench) -> None:
    def refuse(tx: Tx) -> bool:
        raise HeldError("not to be looked at")

    def if_(needed: Callable[[Tx], bool]) -> Callable[[], Awaitable[int | None]]:
        insert = "INSERT INTO things (name) VALUES ('b')"
        return lambda: bench.db.write_if(needed, lambda tx: tx.run(insert))

    none, no, done, added = await bench.together(
        if_(lambda _: False), if_(refuse), if_(lambda _: True), bench.add("a")
    )
    assert (none, str(no), done, added) == (None, "not to be looked at", 1, 1)
    assert await bench.names() == ["b", "a"]
    assert len(bench.told("COMMIT")) == 1
    assert await if_(lambda _: False)() is None
    assert len(bench.told("COMMIT")) == 1


async def test_a_reader_sees_what_was_asked_for_before_it(bench: Bench) -> None:
    _, names, _ = await bench.together(bench.add("a"), bench.names, bench.add("b"))
    assert names in (["a"], ["a", "b"])


def test_a_loop_that_ends_while_its_write_is_done_leaves_the_database_whole(
    tmp_path: Path,
) -> None:
    db = Database(tmp_path / "x.db", steps=[TABLES], network=lambda _: False)
    begun, gate = threading.Event(), threading.Event()

    def slow(tx: Tx) -> None:
        begun.set()
        gate.wait()
        tx.run("INSERT INTO things (name) VALUES ('slow')")

    async def leave() -> None:
        await db.open(lambda tx: None, lambda tx: True)
        writing = asyncio.ensure_future(db.write(slow))
        await asyncio.to_thread(begun.wait)
        writing.cancel()

    async def come_back() -> list[str]:
        gate.set()
        found = await Bench(db, []).names()
        await db.aclose()
        return found

    asyncio.run(leave())
    assert asyncio.run(come_back()) == ["slow"]
