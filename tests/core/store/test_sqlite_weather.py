"""Files of a database that are moved, replaced, removed or cannot be written while it is open."""

# ruff: noqa: ASYNC221, ASYNC240 - nobody else waits for the loop of a test

import contextlib
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.builtin.sqlite.files import Files
from jobman_core.errors import StoreError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.testing.fakes import FakeClock

Opener = Callable[[Path], Awaitable[SqliteStore]]


def make(home: Path) -> SqliteStore:
    here = {"machine": lambda: "here", "network": lambda _: False}
    return SqliteStore(Context(home, "", FakeClock()), busy=0.05, **here)  # type: ignore[arg-type]


@pytest.fixture
async def opened() -> AsyncIterator[Opener]:
    """Give a store of a home; each call another one."""
    stores: list[SqliteStore] = []

    async def open_(home: Path) -> SqliteStore:
        store = make(home)
        stores.append(store)
        await store.open()
        return store

    yield open_
    for store in stores:
        await store.aclose()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


async def tell(store: SqliteStore, text: str) -> None:
    await store.add_event(Note("test.note", text))


async def told(store: SqliteStore) -> list[str]:
    return [event.text for event in await store.events()]


async def test_a_database_that_was_replaced_is_gone_on_with_and_nothing_goes_to_the_old_one(
    home: Path, opened: Opener, tmp_path: Path
) -> None:
    store = await opened(home)
    await tell(store, "first")
    shutil.copytree(home, tmp_path / "copy")
    await tell(store, "lost with what it was written to")
    version = await store.version()
    home.rename(tmp_path / "old")
    (tmp_path / "copy").rename(home)
    assert await store.version() != version
    await tell(store, "second")
    assert await told(store) == ["first", "second"]
    assert await told(await opened(home)) == ["first", "second"]


async def test_to_let_go_of_a_replaced_database_takes_nothing_from_the_new_one(
    home: Path, opened: Opener, tmp_path: Path
) -> None:
    store = await opened(home)
    await tell(store, "first")
    # The copy's newest event is only in its log.
    shutil.copytree(home, tmp_path / "copy")
    assert Files(Home(tmp_path / "copy").database).wal.stat().st_size > 0
    home.rename(tmp_path / "old")
    (tmp_path / "copy").rename(home)
    await store.aclose()
    assert await told(await opened(home)) == ["first"]


@pytest.mark.parametrize("also", [[], ["jobman.db-shm"]])
async def test_what_only_a_removed_log_says_is_not_lost(
    home: Path, opened: Opener, also: list[str]
) -> None:
    store = await opened(home)
    await tell(store, "first")
    for name in ["jobman.db-wal", *also]:
        (Home(home).state / name).unlink()
    await store.version()
    assert await told(await opened(home)) == ["first"]
    await tell(store, "second")
    assert await told(await opened(home)) == ["first", "second"]


@pytest.mark.parametrize("how", ["removed", "emptied"])
async def test_in_place_of_a_database_that_is_gone_none_is_made(
    home: Path, opened: Opener, how: str
) -> None:
    store = await opened(home)
    await tell(store, "first")
    database = Home(home).database
    copy = database.with_name("copy")
    with sqlite3.connect(copy) as target, sqlite3.connect(database) as source:
        source.backup(target)
    target.close()
    source.close()
    for path in database.parent.glob("jobman.db*"):
        path.unlink()
    if how == "emptied":
        database.touch()
    for action in (told(store), tell(store, "x"), opened(home)):
        with pytest.raises(StoreError, match="is gone or empty: put a copy of it back"):
            await action
    assert not database.exists() or database.stat().st_size == 0
    copy.rename(database)
    await tell(store, "second")
    assert await told(store) == ["first", "second"]


async def test_nothing_is_acknowledged_into_a_database_that_was_written_over(
    home: Path, opened: Opener
) -> None:
    store = await opened(home)
    await tell(store, "first")
    with Home(home).database.open("r+b") as file:
        file.write(b"something else altogether")
    with pytest.raises(StoreError, match="damaged: put a copy of it back"):
        await tell(store, "second")


async def test_a_home_moved_away_and_back_is_as_it_was(
    home: Path, opened: Opener, tmp_path: Path
) -> None:
    store = await opened(home)
    await tell(store, "first")
    home.rename(tmp_path / "away")
    with pytest.raises(StoreError, match="is gone"):
        await store.version()
    (tmp_path / "away").rename(home)
    await tell(store, "second")
    assert await told(store) == ["first", "second"]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Give a disk of one megabyte."""
    root = tmp_path / "disk"
    root.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "test", root], check=True)
    yield root
    subprocess.run(["umount", "--lazy", root], check=True)


def fill(disk: Path) -> Path:
    path = disk / "ballast"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    return path


@pytest.mark.root
@pytest.mark.parametrize("log", [True, False])
async def test_on_a_full_disk_a_store_can_be_read_and_is_written_once_there_is_room(
    disk: Path, opened: Opener, log: bool
) -> None:
    first = await opened(disk)
    await tell(first, "first")
    if log:
        # As a machine leaves it that lost its power: a log, and no memory that is shared.
        shutil.copytree(disk / "jobs", disk / "kept")
        await first.aclose()
        shutil.rmtree(disk / "jobs")
        (disk / "kept").rename(disk / "jobs")
        Files(Home(disk).database).shm.unlink()
    await first.aclose()
    ballast = fill(disk)
    store = await opened(disk)
    assert await told(store) == ["first"]
    assert "is full: free some space" in await store.hindrance()
    with pytest.raises(StoreError, match="is full: free some space"):
        await tell(store, "x")
    ballast.unlink()
    assert await store.hindrance() == ""
    await tell(store, "second")
    assert await told(store) == ["first", "second"]


@pytest.mark.root
async def test_a_read_only_disk_is_named_as_such(disk: Path, opened: Opener) -> None:
    await tell(await opened(disk), "first")
    subprocess.run(["mount", "--bind", disk, disk], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)
    try:
        store = await opened(disk)
        assert await told(store) == ["first"]
        assert "is mounted read-only: see `dmesg`" in await store.hindrance()
        with pytest.raises(StoreError, match=r"cannot be written.*read-only"):
            await tell(store, "x")
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


async def test_who_keeps_a_database_locked_is_noticed_by_who_tries(
    home: Path, opened: Opener
) -> None:
    store = await opened(home)
    other = sqlite3.connect(Home(home).database, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert await store.hindrance() == ""
    assert "kept it locked" in await store.hindrance(patience=0.01)
    other.close()
    assert await store.hindrance(patience=0.01) == ""


@pytest.mark.parametrize("network", [True, False])
async def test_a_database_that_nobody_touches_is_opened_once(home: Path, network: bool) -> None:
    here = {"machine": lambda: "here", "network": lambda _: network}
    store = SqliteStore(Context(home, "", FakeClock()), **here)  # type: ignore[arg-type]
    await store.open()
    for number in range(3):
        other = SqliteStore(Context(home, "", FakeClock()), **here)  # type: ignore[arg-type]
        await other.open()
        await tell(store, f"{number}")
        await tell(other, f"{number}")
        await other.aclose()
        await store.version()
    assert store._db._connections == 1
    await store.aclose()


async def test_a_store_that_lost_its_database_says_so_when_asked_what_hinders_it(
    home: Path, opened: Opener
) -> None:
    store = await opened(home)
    database = Home(home).database
    with database.open("r+b") as file:
        file.write(b"something else altogether")
    # Another file by the same name, with no log beside it: it is opened anew, in vain.
    shutil.copy(database, home / "copy")
    for path in database.parent.glob("jobman.db-*"):
        path.unlink()
    (home / "copy").replace(database)
    with pytest.raises(StoreError, match="damaged"):
        await told(store)
    assert "damaged" in await store.hindrance(patience=0.01)


async def test_a_file_in_place_of_the_folder_is_as_good_as_nothing(
    home: Path, opened: Opener, tmp_path: Path
) -> None:
    store = await opened(home)
    await tell(store, "first")
    home.rename(tmp_path / "away")
    home.touch()
    with pytest.raises(StoreError, match="is gone"):
        await told(store)
    home.unlink()
    (tmp_path / "away").rename(home)
    assert await told(store) == ["first"]
