"""The connection: one thread, transactions, the writers' queue, and errors in words."""

import asyncio
import fcntl
import functools
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from jobman_core.builtin.sqlite.mounts import is_network
from jobman_core.builtin.sqlite.schema import STEPS, Step
from jobman_core.errors import StoreError

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: What a column holds.
Value = str | int | float | bytes | None

#: The first SQLite with STRICT tables.
_STRICT_SINCE = (3, 37)
#: Seconds after which files that did not change are believed, and for how long then.
_SETTLED = 2.0
_BELIEVED = 5.0
_SHORTEST_WAIT = 0.0005
_LONGEST_WAIT = 0.01

_REMEDIES = {
    "SQLITE_BUSY": "another process has kept it locked: try again, or see who uses it with `fuser`",
    "SQLITE_LOCKED": "another process has kept it locked: try again",
    "SQLITE_FULL": "the disk is full: free some space",
    "SQLITE_READONLY": "it cannot be written: check the permissions of it and of its folder",
    "SQLITE_CANTOPEN": "it cannot be opened: check the permissions of it and of its folder",
    "SQLITE_PERM": "it cannot be used: check the permissions of it and of its folder",
    "SQLITE_AUTH": "it cannot be used: check the permissions of it and of its folder",
    "SQLITE_IOERR": "the disk gave an error: check it, and the space on it",
    "SQLITE_CORRUPT": "it is damaged: put a copy of it back, or move it away to start afresh",
    "SQLITE_NOTADB": "it is damaged: put a copy of it back, or move it away to start afresh",
}


class Tx:
    """Statements inside one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def one(self, sql: str, *args: Value, **named: Value) -> sqlite3.Row | None:
        """Give the first row, if there is one."""
        row: sqlite3.Row | None = self._connection.execute(sql, named or args).fetchone()
        return row

    def all(self, sql: str, *args: Value, **named: Value) -> list[sqlite3.Row]:
        """Give all rows."""
        return self._connection.execute(sql, named or args).fetchall()

    def run(self, sql: str, *args: Value, **named: Value) -> int:
        """Change something; gives how many rows that touched."""
        return self._connection.execute(sql, named or args).rowcount

    def insert(self, sql: str, *args: Value, **named: Value) -> int:
        """Add a row; gives its number."""
        return self._connection.execute(sql, named or args).lastrowid or 0

    def many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Change many rows with one statement."""
        self._connection.executemany(sql, rows)


class Database:
    """One database file. All SQL runs on one thread of its own, so that no wait stops the loop."""

    def __init__(
        self,
        path: Path,
        *,
        busy: float = 60.0,
        network: Callable[[Path], bool] = is_network,
        steps: Sequence[Step] = STEPS,
        strict: bool = sqlite3.sqlite_version_info >= _STRICT_SINCE,
    ) -> None:
        """Keep what to open; nothing is touched yet.

        Args:
            path: the database.
            busy: seconds to wait for others who write.
            network: tells whether a folder is on a network file system.
            steps: the schema.
            strict: make STRICT tables.
        """
        self.path = path
        self._busy = busy
        self._network = network
        self._steps = steps
        self._strict = strict
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="jobman-store")
        self._connection: sqlite3.Connection | None = None
        self._lock_file = -1
        self._writes = 0
        self._closed = False
        self._is_network = False
        self._names = (str(path), f"{path}-wal")
        #: What the files were like, until when that is believed, and the version then.
        self._known: tuple[tuple[int, ...], float, int] | None = None

    async def open(self, setup: Callable[[Tx], None], known: Callable[[Tx], bool]) -> None:
        """Open, make or migrate the database.

        Args:
            setup: writes what a new database needs, in the transaction that makes it.
            known: tells, by reading alone, that nothing of ``setup`` is left to do.

        Raises:
            StoreError: it cannot be used.
        """
        await self._on_thread(self._open, setup, known)

    async def aclose(self) -> None:
        """Close it; what was asked for before is done first."""
        if not self._closed:
            self._closed = True
            await self._on_thread(self._close)
            self._thread.shutdown()

    async def read(
        self, work: Callable[Concatenate[Tx, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do work that only reads, in one transaction, so that it sees one moment."""
        return await self._on_thread(self._read, lambda tx: work(tx, *args, **kwargs))

    async def write(
        self, work: Callable[Concatenate[Tx, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do work that writes, all of it or nothing; it is on the disk when this returns."""
        return await self._on_thread(self._write, lambda tx: work(tx, *args, **kwargs), "FULL")

    async def write_unsynced(
        self, work: Callable[Concatenate[Tx, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do work that writes, all of it or nothing; a power cut may undo it."""
        return await self._on_thread(self._write, lambda tx: work(tx, *args, **kwargs), "NORMAL")

    async def version(self) -> int:
        """Give a number that differs whenever anybody has committed anything.

        Asked once a second by everyone who waits, so most of the time the files' times answer. They
        change before a commit does (the disk is waited for in between), so they are believed only
        some seconds later, and never for long.
        """
        now, files = time.time(), self._files()
        if self._known is not None and self._known[0] == files and now < self._known[1]:
            return self._known[2]
        version = await self._on_thread(self._version)
        settled = files is not None and files[0] < (now - _SETTLED) * 1e9
        self._known = (files, now + _BELIEVED, version) if files and settled else None
        return version

    def _files(self) -> tuple[int, ...] | None:
        """Give times and sizes of database and log, the newest time first; None: not to be had."""
        if self._is_network:
            return None
        found = []
        for path in self._names:
            try:
                stat = os.stat(path)  # noqa: PTH116 - once a second in every controller
            except FileNotFoundError:
                continue
            found += [stat.st_mtime_ns, stat.st_size, stat.st_ino]
        return (max(found[::3]), *found) if found else None

    # -- on the thread ---------------------------------------------------------------------

    async def _on_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        call = functools.partial(work, *args, **kwargs)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, call)
        except sqlite3.Error as error:
            raise self._in_words(error) from error
        except UnicodeEncodeError as error:
            raise StoreError(
                f"the database {self.path} takes no text that is not UTF-8 ({error.object!r}): "
                "rename the file, or mend the text"
            ) from error
        except OSError as error:
            raise StoreError(
                f"the database {self.path} cannot be used ({error.strerror or error}): check the "
                "permissions and the space of its folder"
            ) from error

    def _in_words(self, error: sqlite3.Error) -> StoreError:
        """Say what an error of SQLite's means, and what to do about it."""
        name = getattr(error, "sqlite_errorname", None) or ""
        remedy = next(
            (text for key, text in _REMEDIES.items() if name == key or name.startswith(key + "_")),
            "see what the message says, and check the disk",
        )
        return StoreError(f"the database {self.path} cannot be used ({error}): {remedy}")

    def _open(self, setup: Callable[[Tx], None], known: Callable[[Tx], bool]) -> None:
        _make_folder(self.path.parent)
        self._lock_file = os.open(
            self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600
        )
        # SQLite gives its side files the rights of the database, so it is made before.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._connection = sqlite3.connect(
            self.path, timeout=self._busy, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(self._connection, setup, known)
        except BaseException:
            self._close()
            raise

    def _prepare(
        self,
        connection: sqlite3.Connection,
        setup: Callable[[Tx], None],
        known: Callable[[Tx], bool],
    ) -> None:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        self._is_network = self._network(self.path.parent)
        journal = "delete" if self._is_network else "wal"
        current = self._schema(connection)
        if (
            current == len(self._steps)
            and _pragma(connection, "journal_mode") == journal
            and self._read(known)
        ):
            return
        with self._writers_turn():
            connection.execute(f"PRAGMA journal_mode = {journal}").fetchone()
        self._write(lambda tx: self._migrate(connection, tx, setup), "FULL")

    def _migrate(self, connection: sqlite3.Connection, tx: Tx, setup: Callable[[Tx], None]) -> None:
        """Take the steps that are missing; somebody else may have done so by now."""
        for step in self._steps[self._schema(connection) :]:
            for statement in step:
                tx.run(statement.replace("{strict}", "STRICT" if self._strict else ""))
        tx.run(f"PRAGMA user_version = {len(self._steps)}")
        setup(tx)

    def _schema(self, connection: sqlite3.Connection) -> int:
        """Give the schema's version; refuse one that is unknown here."""
        current = int(_pragma(connection, "user_version"))
        if current > len(self._steps):
            raise StoreError(
                f"the database of this home was made by a newer jobman (schema {current}, this "
                f"one knows {len(self._steps)}): upgrade jobman"
            )
        return current

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def _use(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"the database {self.path} is not open: open the store first")
        return self._connection

    def _read(self, work: Callable[[Tx], _T]) -> _T:
        connection = self._use()
        connection.execute("BEGIN")
        try:
            return work(Tx(connection))
        finally:
            # SQLite itself ends the transaction on some errors.
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _write(self, work: Callable[[Tx], _T], synchronous: str) -> _T:
        connection = self._use()
        with self._writers_turn():
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("BEGIN IMMEDIATE")
            before = connection.total_changes
            try:
                result = work(Tx(connection))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._writes += connection.total_changes != before
            return result

    def _version(self) -> int:
        # SQLite tells of the commits of others, this counts our own.
        return int(_pragma(self._use(), "data_version")) << 32 | self._writes

    @contextmanager
    def _writers_turn(self) -> Iterator[None]:
        """Wait for one's turn to write.

        Courtesy: SQLite's own lock is what protects the data, but its waiters sleep ever longer,
        and the unlucky one starves where twenty processes write.
        """
        deadline = time.monotonic() + self._busy
        wait = _SHORTEST_WAIT
        while True:
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"the database {self.path} cannot be used (locked for {self._busy:g} s): "
                        f"another process hangs while it writes, `fuser {self.path}` names it"
                    ) from None
            time.sleep(wait * random.uniform(0.5, 1))  # noqa: S311 - no secret depends on it
            wait = min(wait * 1.5, _LONGEST_WAIT)
        try:
            yield
        finally:
            fcntl.flock(self._lock_file, fcntl.LOCK_UN)


def _pragma(connection: sqlite3.Connection, name: str) -> str:
    return str(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _make_folder(folder: Path) -> None:
    """Make a folder and what it lies in, for the owner alone."""
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
