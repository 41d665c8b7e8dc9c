"""The connection: one thread, transactions, the writers' queue, and errors in words."""

import fcntl
import functools
import os
import random
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from jobman_core.builtin.sqlite.asked import Asked, NotNeeded, Write
from jobman_core.builtin.sqlite.files import Files, Marks, check_head, put_back
from jobman_core.builtin.sqlite.mounts import is_network
from jobman_core.builtin.sqlite.schema import STEPS, Step
from jobman_core.builtin.sqlite.thread import StoreThread
from jobman_core.errors import StoreError
from jobman_core.files import make_folder
from jobman_core.group import opener

_P = ParamSpec("_P")
_T = TypeVar("_T")

#: What a column holds.
Value = str | int | float | bytes | None

#: The first SQLite with STRICT tables.
_STRICT_SINCE = (3, 37)
#: Seconds after which files that did not change are believed, and for how long then.
_SETTLED = 2.0
_BELIEVED = 5.0
#: Writes that share a transaction at most: other processes want their turn too.
_LARGEST_BATCH = 100
_SHORTEST_WAIT = 0.0005
_LONGEST_WAIT = 0.01

#: How a transaction is committed: surely on the disk, or so that a power cut may undo it. With a
#: rollback journal the first also syncs the folder in which the journal is no more, without which
#: it could come back and undo what was committed; the second could damage the database there.
_SYNCED = "EXTRA"
_UNSYNCED = "NORMAL"

_REMEDIES: Final = {
    "SQLITE_BUSY": "another process has kept it locked: try again, or see who has it open with "
    "`fuser -v`",
    "SQLITE_LOCKED": "another process has kept it locked: try again",
    "SQLITE_FULL": "the disk is full: free some space",
    "SQLITE_READONLY": "it cannot be written: check the permissions of it and of its folder",
    "SQLITE_CANTOPEN": "it cannot be opened: check the permissions of it and of its folder",
    "SQLITE_PERM": "it cannot be used: check the permissions of it and of its folder",
    "SQLITE_AUTH": "it cannot be used: check the permissions of it and of its folder",
    "SQLITE_IOERR": "the disk gave an error: check it, and the space on it",
    "SQLITE_CORRUPT": "it is damaged: {put_back}",
    "SQLITE_NOTADB": "it is damaged: {put_back}",
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
        self._thread = StoreThread()
        #: Writes that were asked for and not begun.
        self._waiting: deque[Write[Tx, Any]] = deque()
        self._connection: sqlite3.Connection | None = None
        self._lock_file = self._head = -1
        self._synchronous = ""
        self._writes = 0
        self._closed = False
        self._is_network = False
        self._files = Files(path)
        self._names = (str(path), str(self._files.wal))
        #: What to do with what is found there; None until it is opened.
        self._setup: tuple[Callable[[Tx], None], Callable[[Tx], bool]] | None = None
        #: The files that the connection is to.
        self._marks: Marks | None = None
        #: How often it was opened: each connection counts versions of its own.
        self._connections = 0
        #: Why it is open only to look; empty: it can be written.
        self._hindered = ""
        self._connecting = False
        #: It was there before: one that is missing now was lost.
        self._found = False
        #: What the files were like, until when that is believed, and the version then.
        self._known: tuple[tuple[int, ...], float, int] | None = None

    async def open(
        self,
        setup: Callable[[Tx], None],
        known: Callable[[Tx], bool],
        *,
        found: bool = False,
    ) -> None:
        """Open, make or migrate the database; one that cannot be written can be looked at.

        Args:
            setup: writes what a new database needs, in the transaction that makes it.
            known: tells, by reading alone, that nothing of ``setup`` is left to do.
            found: it was there before: one that is missing now is not made anew.

        Raises:
            StoreError: it cannot be used.
        """
        self._found = found
        await self._on_thread(self._open, setup, known)

    async def aclose(self) -> None:
        """Close it; what was asked for before is done first."""
        if not self._closed:
            self._closed = True
            await self._on_thread(self._close)
            self._thread.stop()

    async def read(
        self, work: Callable[Concatenate[Tx, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do work that only reads, in one transaction, so that it sees one moment."""
        return await self._on_thread(self._read, lambda tx: work(tx, *args, **kwargs))

    async def write(
        self, work: Callable[Concatenate[Tx, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do work that writes, all of it or nothing; it is on the disk when this returns.

        What others ask for while the thread is busy shares a transaction with it, and so a wait for
        the disk; what becomes of one is nothing to the others. A caller who is cancelled cannot
        know whether it was done.
        """
        return await self._ask(lambda tx: work(tx, *args, **kwargs), synced=True)

    async def write_if(
        self,
        needed: Callable[[Tx], bool] | None,
        work: Callable[Concatenate[Tx, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T | None:
        """Do work that writes, as :meth:`write` does, or give None if it is not needed.

        Args:
            needed: tells whether it is, by reading alone, which holds up nobody who writes; None:
                do the work and see.
            work: the work.
            args: for the work.
            kwargs: for the work.
        """
        try:
            return await self._ask(lambda tx: work(tx, *args, **kwargs), synced=True, needed=needed)
        except NotNeeded:
            return None

    async def write_unsynced(
        self, work: Callable[Concatenate[Tx, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do work that writes, all of it or nothing; a power cut may undo it."""
        return await self._ask(lambda tx: work(tx, *args, **kwargs), synced=False)

    async def write_quietly(
        self, work: Callable[Concatenate[Tx, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Do work that writes, unsynced, and that nobody in this process waits to hear of.

        The others cannot tell it from any other.
        """
        return await self._ask(lambda tx: work(tx, *args, **kwargs), synced=False, counted=False)

    async def hindrance(self, *, patience: float | None = None) -> str:
        """Say why nothing can be written now; empty where nothing is seen that keeps anyone.

        Args:
            patience: seconds to wait for one's turn to write; None: others who write are no matter.
        """
        return await self._on_thread(self._hindrance, patience)

    async def version(self) -> int:
        """Give a number that differs whenever anybody has committed anything.

        Asked once a second by everyone who waits, so most of the time the files' times answer. They
        change before a commit does (the disk is waited for in between), so they are believed only
        some seconds later, and never for long.
        """
        now, files = time.time(), self._times()
        if self._known is not None and self._known[0] == files and now < self._known[1]:
            return self._known[2]
        version = await self._on_thread(self._version)
        settled = files is not None and files[0] < (now - _SETTLED) * 1e9
        self._known = (files, now + _BELIEVED, version) if files and settled else None
        return version

    def _hindrance(self, patience: float | None) -> str:
        found = self._files.hindrance()
        if found or patience is None:
            return found
        try:
            # Before the turn, whose lock belongs to the connection.
            connection = self._use()
            with self._writers_turn(patience):
                connection.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}")
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute("ROLLBACK")
                finally:
                    connection.execute(f"PRAGMA busy_timeout = {self._busy * 1000:.0f}")
        except StoreError as error:
            return str(error)
        except sqlite3.Error as error:
            return str(self._in_words(error))
        return ""

    def _times(self) -> tuple[int, ...] | None:
        """Give times and sizes of database and log, the newest time first; None: not to be had."""
        if self._is_network:
            return None
        found = []
        for path in self._names:
            try:
                stat = os.stat(path)  # noqa: PTH116 - once a second in every controller
            except FileNotFoundError:
                continue
            except OSError:
                # Whoever asks the database itself is told why.
                return None
            found += [stat.st_mtime_ns, stat.st_size, stat.st_ino]
        return (max(found[::3]), *found) if found else None

    # -- on the thread ---------------------------------------------------------------------

    async def _on_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        asked = Asked(functools.partial(work, *args, **kwargs))
        self._thread.tell(functools.partial(_do_alone, asked))
        return await self._answer(asked)

    async def _ask(
        self,
        work: Callable[[Tx], _T],
        *,
        synced: bool,
        counted: bool = True,
        needed: Callable[[Tx], bool] | None = None,
    ) -> _T:
        asked = Write(work, synced=synced, counted=counted, needed=needed)
        self._waiting.append(asked)
        # Each has a turn of its own on the thread, so it is done no later than then.
        self._thread.tell(self._write_waiting)
        return await self._answer(asked)

    async def _answer(self, asked: Asked[..., _T]) -> _T:
        """Wait for what comes of it; errors are put in words."""
        try:
            return await asked.answer
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
        what_to_do = remedy.format(put_back=put_back(self.path))
        return StoreError(f"the database {self.path} cannot be used ({error}): {what_to_do}")

    def _open(self, setup: Callable[[Tx], None], known: Callable[[Tx], bool]) -> None:
        self._setup = (setup, known)
        if self._found:
            # A new one in its place would hide all that the lost one knew.
            if self._files.marks()[0] is None:
                raise self._lost()
        else:
            make_folder(self.path.parent, 0o700)
            # SQLite gives its side files the rights of the database, so it is made before.
            os.close(opener(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        self._connect()

    def _lost(self) -> StoreError:
        return StoreError(f"the database {self.path} is gone or empty: {put_back(self.path)}")

    def _connect(self) -> None:
        """Open what lies there now: to write, or where that is impossible to look at it."""
        assert self._setup is not None  # noqa: S101 - set by whoever opens it
        self._close()
        self._connecting = True
        try:
            self._connect_to_write()
            self._prepare(self._use_now(), *self._setup)
            check_head(self._head, self.path)
        except (OSError, sqlite3.OperationalError) as error:
            self._close()
            self._hindered = self._files.hindrance()
            if not self._hindered:
                raise
            try:
                self._connection = self._files.connect_to_read(self._busy)
            except (OSError, sqlite3.Error):
                raise error from None
            self._connection.row_factory = sqlite3.Row
            self._refuse_unknown(self._connection, self._setup[1])
        except BaseException:
            self._close()
            raise
        else:
            self._hindered = ""
        finally:
            self._connecting = False
        self._connections += 1
        self._marks = self._files.marks()

    def _connect_to_write(self) -> None:
        lock = self.path.with_name(self.path.name + ".lock")
        self._lock_file = opener(lock, os.O_RDWR | os.O_CREAT, 0o600)
        self._head = os.open(self.path, os.O_RDONLY)
        # Never made here: one that vanished must not be followed by an empty one.
        self._connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=self._busy,
            isolation_level=None,
            check_same_thread=False,
        )
        self._connection.row_factory = sqlite3.Row

    def _refuse_unknown(self, connection: sqlite3.Connection, known: Callable[[Tx], bool]) -> None:
        """Refuse to look at what could be understood only after a change."""
        if self._schema(connection) == len(self._steps) and self._read(known):
            return
        self._close()
        raise StoreError(
            f"the database {self.path} has to be made ready and cannot be written: {self._hindered}"
        )

    def _prepare(
        self,
        connection: sqlite3.Connection,
        setup: Callable[[Tx], None],
        known: Callable[[Tx], bool],
    ) -> None:
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
        self._write(lambda tx: self._migrate(connection, tx, setup))

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
            with self._files.spared(self._marks):
                self._connection.close()
            self._connection = None
        self._marks = None
        for descriptor in (self._lock_file, self._head):
            if descriptor >= 0:
                os.close(descriptor)
        self._lock_file = self._head = -1
        self._synchronous = ""

    def _use(self) -> sqlite3.Connection:
        """Give the connection; where the files are not those of before, a new one."""
        if self._connecting:
            return self._use_now()
        if self._setup is None or self._closed:
            raise StoreError(f"the database {self.path} is not open: open the store first")
        found = self._files.marks()
        if found[0] is None:
            # It may come back as it was: nothing is let go of, and nothing made in its place.
            raise self._lost()
        if self._connection is None or self._hindered or found != self._marks:
            if found != self._marks:
                self._save_log(found)
            self._connect()
        elif self._head >= 0:
            check_head(self._head, self.path)
        return self._use_now()

    def _use_now(self) -> sqlite3.Connection:
        assert self._connection is not None  # noqa: S101 - as its callers have seen
        return self._connection

    def _save_log(self, found: Marks) -> None:
        """Bring what only a removed log says into the database; the descriptor still reads it.

        Not where there is a new log already: what this one says may be older than that.
        """
        known = self._marks
        if self._connection is None or known is None or found[0] != known[0]:
            return
        if known[1] is not None and found[1] is None and not self._hindered:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _read(self, work: Callable[[Tx], _T]) -> _T:
        connection = self._use()
        connection.execute("BEGIN")
        try:
            return work(Tx(connection))
        finally:
            # SQLite itself ends the transaction on some errors.
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def _write(self, work: Callable[[Tx], _T]) -> _T:
        """Do one piece of work, synced."""
        return self._transact(_SYNCED, lambda connection: work(Tx(connection)))

    def _write_waiting(self) -> None:
        """Do what waits, in one transaction, and tell who waits once that has been committed."""
        taken = self._take()
        if not taken:
            return
        batch = [asked for asked in taken if self._is_needed(asked)]
        if batch:
            self._do(batch)
        _tell(taken)

    def _take(self) -> list[Write[Tx, Any]]:
        """Take what waits, up to a limit; not for those who left."""
        taken: list[Write[Tx, Any]] = []
        while self._waiting and len(taken) < _LARGEST_BATCH:
            asked = self._waiting.popleft()
            if not asked.answer.cancelled():
                taken.append(asked)
        return taken

    def _is_needed(self, asked: Write[Tx, Any]) -> bool:
        if asked.needed is None:
            return True
        try:
            if self._read(asked.needed):
                return True
            asked.fail(NotNeeded())
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            asked.fail(error)
        return False

    def _do(self, batch: Sequence[Write[Tx, Any]]) -> None:
        synced = self._is_network or any(asked.synced for asked in batch)
        synchronous = _SYNCED if synced else _UNSYNCED
        counted = any(asked.counted for asked in batch)
        try:
            self._transact(synchronous, functools.partial(_do_all, batch), counted=counted)
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            # What was refused may have been so for what another did that is now taken back.
            for asked in batch:
                asked.fail(error)

    def _transact(
        self, synchronous: str, work: Callable[[sqlite3.Connection], _T], *, counted: bool = True
    ) -> _T:
        """Do work in a transaction and commit it, or take all of it back on an error."""
        connection = self._use()
        if self._hindered:
            raise StoreError(f"the database {self.path} cannot be written: {self._hindered}")
        self._take_turn(self._busy)
        try:
            if self._synchronous != synchronous:
                connection.execute(f"PRAGMA synchronous = {synchronous}")
                self._synchronous = synchronous
            connection.execute("BEGIN IMMEDIATE")
            before = connection.total_changes
            try:
                result = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._writes += counted and connection.total_changes != before
            return result
        finally:
            self._give_turn()

    def _version(self) -> int:
        # SQLite tells a connection of the commits of others, this counts our own.
        version = int(_pragma(self._use(), "data_version"))
        return self._connections << 96 | version << 32 | self._writes

    @contextmanager
    def _writers_turn(self, patience: float | None = None) -> Iterator[None]:
        """Have one's turn to write for the length of a block."""
        self._take_turn(self._busy if patience is None else patience)
        try:
            yield
        finally:
            self._give_turn()

    def _take_turn(self, patience: float) -> None:
        """Wait for one's turn to write.

        Courtesy: SQLite's own lock is what protects the data, but its waiters sleep ever longer,
        and the unlucky one starves where twenty processes write.
        """
        deadline = time.monotonic() + patience
        wait = _SHORTEST_WAIT
        while True:
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"the database {self.path} cannot be used (locked for {patience:g} s): "
                        f"another process hangs while it writes: it is one of those that `fuser -v "
                        f"{self.path}` lists, where controllers are `python -m jobman_core` "
                        "to `ps`"
                    ) from None
            else:
                return
            time.sleep(wait * random.uniform(0.5, 1))  # noqa: S311 - no secret depends on it
            wait = min(wait * 1.5, _LONGEST_WAIT)

    def _give_turn(self) -> None:
        fcntl.flock(self._lock_file, fcntl.LOCK_UN)


def _do_alone(asked: Asked[[], Any]) -> None:
    """Do what was asked for, unless nobody waits for it any more, and tell what came of it."""
    if asked.answer.cancelled():
        return
    try:
        asked.do()
    except BaseException as error:  # noqa: BLE001 - whoever waits gets it
        asked.fail(error)
    _tell([asked])


def _do_all(batch: Sequence[Asked[[Tx], Any]], connection: sqlite3.Connection) -> None:
    if len(batch) == 1:
        batch[0].do(Tx(connection))
    else:
        for asked in batch:
            _do_apart(connection, asked)


def _do_apart(connection: sqlite3.Connection, asked: Asked[[Tx], Any]) -> None:
    """Do one piece of work of several in a transaction: if it fails, the others do not."""
    connection.execute("SAVEPOINT apart")
    try:
        asked.do(Tx(connection))
    except Exception as error:
        if not connection.in_transaction:
            # SQLite itself has ended the transaction: what the others did is lost as well.
            raise
        connection.execute("ROLLBACK TO apart")
        asked.fail(error)
    connection.execute("RELEASE apart")


def _tell(batch: Sequence[Asked[..., Any]]) -> None:
    """Tell all who wait what came of it, on their loop."""
    # The loop may have ended: then nobody waits any more.
    with suppress(RuntimeError):
        batch[0].answer.get_loop().call_soon_threadsafe(_tell_here, batch)


def _tell_here(batch: Iterable[Asked[..., Any]]) -> None:
    for asked in batch:
        asked.tell()


def _pragma(connection: sqlite3.Connection, name: str) -> str:
    return str(connection.execute(f"PRAGMA {name}").fetchone()[0])
