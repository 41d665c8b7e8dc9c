"""The file that the SQLite store keeps: made, shared, migrated, refused."""

# ruff: noqa: ASYNC240 - nobody else waits for the loop of a test

import asyncio
import fcntl
import os
import sqlite3
import stat
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from tests.support.commits import commit_modes

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.builtin.sqlite.database import Database, Tx
from jobman_core.builtin.sqlite.mounts import is_network
from jobman_core.builtin.sqlite.schema import STEPS, Step
from jobman_core.errors import HeldError, JobmanError, NotYoursError, StoreError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import QUEUE, SUCCEEDED, Scene, draft, entry

NOTE = Note("test.note", "a note")

Opener = Callable[..., Awaitable[SqliteStore]]


def make(home: Path, *, machine: str = "here", network: bool = False) -> SqliteStore:
    return SqliteStore(
        Context(home, "", FakeClock()),
        busy=0.05,
        machine=lambda: machine,
        network=lambda _: network,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def database(home: Path) -> Path:
    return Home(home).database


@pytest.fixture
async def opened(home: Path) -> AsyncIterator[Opener]:
    stores: list[SqliteStore] = []

    async def open_(**options: object) -> SqliteStore:
        store = make(home, **options)  # type: ignore[arg-type]
        stores.append(store)
        await store.open()
        return store

    yield open_
    for store in stores:
        await store.aclose()


async def refused(home: Path, kind: type[JobmanError] = StoreError) -> str:
    store = make(home)
    with pytest.raises(kind) as caught:
        await store.open()
    await store.aclose()
    text = str(caught.value)
    assert "\n" not in text
    return text


def ask(database: Path, sql: str) -> object:
    connection = sqlite3.connect(database)
    try:
        found = connection.execute(sql).fetchone()
        connection.commit()
    finally:
        connection.close()
    return found and found[0]


async def test_files_and_folders_are_their_owners_alone(
    home: Path, opened: Opener, database: Path
) -> None:
    store = await opened()
    await store.add_event(NOTE)
    files = list(database.parent.iterdir())
    assert {f.name for f in files} >= {"jobman.db", "jobman.db-wal", "jobman.db.lock"}
    assert {stat.S_IMODE(f.stat().st_mode) for f in files} == {0o600}
    for folder in (home, home / "jobs", database.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_a_folder_that_was_there_keeps_its_rights(home: Path, opened: Opener) -> None:
    home.mkdir(mode=0o755)
    home.chmod(0o755)
    await opened()
    assert stat.S_IMODE(home.stat().st_mode) == 0o755


async def test_on_a_network_file_system_the_journal_is_a_rollback_journal(
    home: Path, database: Path
) -> None:
    for network, journal in ((False, "wal"), (True, "delete"), (False, "wal")):
        store = make(home, network=network)
        await store.open()
        await store.add_event(NOTE)
        assert ask(database, "PRAGMA journal_mode") == journal
        await store.aclose()


@pytest.mark.parametrize(
    ("folder", "expected"),
    [("/", False), ("/home/lab", True), ("/home/labor", False), ("/home/lab/deep", True),
     ("/mnt/a b/c", True), ("/data", True), ("/data/local", False), ("/over", False)],
)  # fmt: skip
def test_network_file_systems_are_known_by_their_mount(
    tmp_path: Path, folder: str, expected: bool
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\n"
        "server:/x /home/lab nfs4 rw 0 0\n"
        "sshfs#x /mnt/a\\040b fuse.sshfs rw 0 0\n"
        "lustre /data lustre rw 0 0\n"
        "/dev/sdb /data/local xfs rw 0 0\n"
        "srv:/y /over nfs rw 0 0\n"
        "tmpfs /over tmpfs rw 0 0\n"
        "odd\n"
    )
    assert is_network(Path(folder), mounts) is expected


def test_without_a_list_of_mounts_a_file_system_counts_as_local(tmp_path: Path) -> None:
    assert not is_network(tmp_path, tmp_path / "missing")


async def test_a_newer_schema_is_refused_in_one_line(
    home: Path, opened: Opener, database: Path
) -> None:
    await (await opened()).aclose()
    ask(database, "PRAGMA user_version = 7")
    assert await refused(home) == (
        "the database of this home was made by a newer jobman "
        f"(schema 7, this one knows {len(STEPS)}): upgrade jobman"
    )


OLD: Step = ("CREATE TABLE things (name TEXT NOT NULL) {strict}",)
NEW: Step = (
    "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    "UPDATE things SET size = length(name)",
)
BAD: Step = ("ALTER TABLE things ADD COLUMN colour TEXT", "UPDATE missing SET x = 1")


async def migrate(
    path: Path, steps: Sequence[Step], *, strict: bool = True
) -> list[tuple[object, ...]]:
    """Open a database with a made-up schema, look at its things, add one more."""
    database = Database(path, steps=steps, strict=strict, network=lambda _: False)
    await database.open(lambda tx: None, lambda tx: True)
    try:
        await database.write(lambda tx: tx.run("INSERT INTO things (name) VALUES ('one')"))
        return await database.read(
            lambda tx: [tuple(row) for row in tx.all("SELECT * FROM things")]
        )
    finally:
        await database.aclose()


@pytest.mark.parametrize("strict", [True, False])
async def test_an_older_schema_is_brought_forward_with_what_is_in_it(
    tmp_path: Path, strict: bool
) -> None:
    path = tmp_path / "x.db"
    assert await migrate(path, [OLD], strict=strict) == [("one",)]
    assert await migrate(path, [OLD, NEW], strict=strict) == [("one", 3), ("one", 0)]
    assert await migrate(path, [OLD, NEW], strict=strict) == [("one", 3), ("one", 0), ("one", 0)]
    with pytest.raises(StoreError, match=r"newer jobman \(schema 2, this one knows 1\)"):
        await migrate(path, [OLD])


async def test_a_step_that_fails_leaves_the_old_schema_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    await migrate(path, [OLD])
    with pytest.raises(StoreError, match="no such table"):
        await migrate(path, [OLD, NEW, BAD])
    assert ask(path, "PRAGMA user_version") == 1
    assert await migrate(path, [OLD]) == [("one",), ("one",)]


@pytest.mark.parametrize("content", [b"not a database at all, but long enough" * 99, b"SQLite"])
async def test_a_file_that_is_no_database_is_refused_with_a_remedy(
    home: Path, database: Path, content: bytes
) -> None:
    database.parent.mkdir(parents=True)
    database.write_bytes(content)
    text = await refused(home)
    assert str(database) in text
    assert "damaged: put a copy of it back" in text
    assert database.read_bytes() == content


@pytest.mark.root
async def test_another_persons_home_is_refused_with_the_name_of_whose_it_is() -> None:
    # Not in pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)
        # As it is made with a home.
        (home / "jobs").mkdir()
        store = make(home)
        await store.open()
        await store.aclose()
        os.seteuid(65534)
        try:
            said = await refused(home, NotYoursError)
        finally:
            os.seteuid(0)
    assert f"the home {home} is root's alone" in said
    assert "--home or JOBMAN_HOME" in said


async def test_a_damaged_database_is_an_error_with_a_remedy(opened: Opener, database: Path) -> None:
    store = await opened()
    scene = Scene(store)
    for _ in range(30):
        await scene.job()
    await store.aclose()
    content = bytearray(database.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    database.write_bytes(content)
    with pytest.raises(StoreError, match="damaged: put a copy of it back"):
        await (await opened()).records()


async def test_a_folder_in_the_databases_place_is_refused(home: Path, database: Path) -> None:
    database.mkdir(parents=True)
    assert "check the permissions" in await refused(home)


async def test_a_file_in_the_folders_place_is_refused(home: Path) -> None:
    home.mkdir()
    (home / "jobs").write_text("")
    assert "check the permissions" in await refused(home)


async def test_a_full_disk_is_an_error_with_a_remedy_and_loses_nothing(opened: Opener) -> None:
    store = await opened()
    pages = await store._db.read(lambda tx: tx.all("PRAGMA page_count")[0][0])
    await store._db.read(lambda tx: tx.all(f"PRAGMA max_page_count = {pages + 2}"))

    async def fill() -> None:
        for _ in range(100):
            await store.add_event(Note("test.note", "x" * 2000))

    with pytest.raises(StoreError, match="disk is full: free some space"):
        await fill()
    kept = len(await store.events())
    assert kept > 0
    await store._db.read(lambda tx: tx.all("PRAGMA max_page_count = 100000"))
    await store.add_event(NOTE)
    assert len(await store.events()) == kept + 1


async def test_a_read_only_database_is_an_error_with_a_remedy(opened: Opener) -> None:
    store = await opened()
    await store._db.read(lambda tx: tx.all("PRAGMA query_only = ON"))
    with pytest.raises(StoreError, match="cannot be written: check the permissions"):
        await store.add_event(NOTE)


async def test_a_database_that_stays_locked_is_an_error_with_a_remedy(
    opened: Opener, database: Path
) -> None:
    store = await opened()
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"database is locked.*another process has kept it locked"):
        await store.add_event(NOTE)
    assert list(await store.events()) == []
    other.close()
    await store.add_event(NOTE)


async def test_a_writer_that_hangs_is_named_as_such(opened: Opener, database: Path) -> None:
    store = await opened()
    with database.with_name("jobman.db.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match=r"another process hangs while it writes.*`fuser -v "):
            await store.add_event(NOTE)
        # Who only reads is held up by no writer.
        assert list(await store.events()) == []
    await store.add_event(NOTE)


async def test_a_wait_for_the_database_does_not_stop_the_loop(
    opened: Opener, database: Path
) -> None:
    store = await opened()
    store._db._busy = 30.0
    with database.with_name("jobman.db.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        writing = asyncio.create_task(store.add_event(NOTE))
        for _ in range(100):
            await asyncio.sleep(0)
        assert not writing.done()
    await writing
    assert len(await store.events()) == 1


async def test_text_that_is_not_utf8_is_an_error_in_words(opened: Opener) -> None:
    store = await opened()
    with pytest.raises(StoreError, match="not UTF-8"):
        await store.open_queue("/home/\udcff.yaml")


async def test_a_store_that_is_not_open_says_so(home: Path) -> None:
    store = make(home)
    with pytest.raises(StoreError, match="not open"):
        await store.events()
    await store.aclose()
    await store.aclose()


async def test_a_home_belongs_to_the_machine_that_made_it(
    home: Path, opened: Opener, database: Path
) -> None:
    mine = await opened()
    home_id = await mine.home_id()
    theirs = make(home, machine="there")
    with pytest.raises(HeldError, match="belongs to another machine") as caught:
        await theirs.open()
    await theirs.aclose()
    # The remedy that it names is one that works.
    remove = str(caught.value).rpartition("remove ")[2]
    Path(remove).unlink()
    heir = await opened(machine="there")
    assert await heir.home_id() == home_id
    assert "another machine" in await refused(home, HeldError)


async def test_a_bond_that_cannot_be_read_is_refused(
    home: Path, opened: Opener, database: Path
) -> None:
    await (await opened()).aclose()
    (database.parent / "machine.json").write_text("{")
    assert "remove it if this is the only machine" in await refused(home)


async def test_a_draft_that_a_crash_left_behind_gives_its_name_back(home: Path) -> None:
    clock = FakeClock(auto=True)
    store = SqliteStore(Context(home, "", clock))
    await store.open()
    try:
        left = await store.draft_job(draft(worker_num="1"))
        await clock.sleep(1800)
        with pytest.raises(HeldError, match=left.id):
            await store.draft_job(draft(worker_num="1"))
        await clock.sleep(1801)
        assert (await store.draft_job(draft(worker_num="1"))).id > left.id
    finally:
        await store.aclose()


async def test_outcomes_are_synced_and_beats_and_steps_are_not(
    opened: Opener, database: Path
) -> None:
    store = await opened()
    scene = Scene(store)
    await scene.define(entry("a"))
    lease = await scene.worker(queue=QUEUE)
    seen: list[str] = []
    assert store._db._connection is not None
    store._db._connection.set_trace_callback(seen.append)

    def commits() -> list[str]:
        """Give how each transaction was synced, and forget them."""
        modes = commit_modes(seen, "EXTRA")
        # What the next ones start with.
        seen[:] = [s for s in seen if s.startswith("PRAGMA synchronous")][-1:]
        return modes

    claim = await scene.must_claim(lease)
    await scene.end(lease, claim, SUCCEEDED)
    # One fsync each, in WAL: a claim and its release are two.
    assert commits() == ["EXTRA", "EXTRA"]
    await store.beat(lease.controller, 1.0)
    assert commits() == ["NORMAL"]
    await store.draft_job(draft())
    assert commits() == ["EXTRA"]
    assert await scene.claim(lease) is None
    commits()
    # Who found nothing looks first from then on, and takes nobody's turn to write.
    assert await scene.claim(lease) is None
    assert commits() == []


async def test_strict_tables_refuse_what_does_not_fit(opened: Opener) -> None:
    if sqlite3.sqlite_version_info < (3, 37):
        pytest.fail("this test is for an SQLite that knows STRICT")
    store = await opened()

    def spoil(tx: Tx) -> None:
        tx.run("UPDATE meta SET value = x'00'")

    with pytest.raises(StoreError, match="cannot store BLOB"):
        await store._db.write(spoil)
