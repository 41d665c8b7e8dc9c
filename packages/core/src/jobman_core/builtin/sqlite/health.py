"""How a database is, by reading alone: nothing is made beside it, and nobody is kept waiting."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from jobman_core.builtin.sqlite.files import Files, put_back
from jobman_core.builtin.sqlite.schema import STEPS
from jobman_core.models.checkup import Checkup

#: Seconds for the look at all pages; of a large database on a slow disk it takes minutes.
_LIMIT: Final = 20.0
#: Virtual machine instructions between two looks at the time.
_STEPS: Final = 100_000
#: Where the file says how it is written (https://sqlite.org/fileformat.html): 2 is with a log.
_FORMAT_AT: Final = 18
_WITH_LOG: Final = 2
_MIB: Final = 2**20


@attrs.frozen
class Look:
    """What a look at a database came to."""

    #: What is wrong with its pages; empty: nothing, None: nobody could tell in time.
    wrong: str | None
    schema: int


def checkups(
    path: Path, network: Callable[[Path], bool], seconds: Callable[[], float]
) -> Iterator[Checkup]:
    """Say how a home's database is.

    Args:
        path: the database.
        network: tells whether a folder is on a network file system.
        seconds: a clock that rises.
    """
    if network(path.parent):
        yield Checkup.doubt(
            "file system",
            "the home is on a network file system: its database goes without a log, so that "
            "writers wait for readers, and it is for one machine alone",
            "keep the home on a disk of this machine, if there is one",
        )
    if not path.is_file():
        yield Checkup.broken("database", f"{path} is gone", put_back(path))
        return
    if hindrance := Files(path).hindrance():
        yield Checkup.of_text("database", hindrance)
    try:
        yield from judge(look(path, seconds), path)
    except (OSError, sqlite3.Error) as error:
        yield _unreadable(path, error)


def judge(found: Look, path: Path) -> Iterator[Checkup]:
    """Say what a look at a database means."""
    known = len(STEPS)
    if found.schema > known:
        told = f"schema {found.schema} was made by a newer jobman; this one knows {known}"
        yield Checkup.broken("database", told, "upgrade jobman")
    elif found.wrong is None:
        told = f"its pages were not all looked at within {_LIMIT:g} s"
        yield Checkup.unknown("database", told)
    elif found.wrong:
        yield Checkup.broken("database", f"it is damaged: {found.wrong}", put_back(path))
    else:
        size = sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*")) / _MIB
        older = f"; the next command brings it to {known}" if found.schema < known else ""
        yield Checkup.well("database", f"sound, {size:.1f} MiB, schema {found.schema}{older}")


def look(path: Path, seconds: Callable[[], float]) -> Look:
    """Look at all pages of a database.

    Raises:
        OSError: it cannot be read.
        sqlite3.Error: the same, or it is no database.
    """
    if not _has_log(path):
        return _look(path, "mode=ro", seconds)
    log = Files(path).wal
    # To read with a log SQLite would make its side files; where there are none nobody writes,
    # and if somebody begins to meanwhile, what looks damaged may only be new.
    if not log.exists():
        found = _look(path, "immutable=1", seconds)
        if not found.wrong or not log.exists():
            return found
    return _look(path, "mode=ro", seconds)


def _has_log(path: Path) -> bool:
    with path.open("rb") as file:
        head = os.pread(file.fileno(), 1, _FORMAT_AT)
    return head == bytes((_WITH_LOG,))


def _look(path: Path, how: str, seconds: Callable[[], float]) -> Look:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
    try:
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        until = seconds() + _LIMIT
        connection.set_progress_handler(lambda: seconds() > until, _STEPS)
        try:
            (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
                raise
            return Look(None, schema)
        return Look("" if said == "ok" else " ".join(said.split()), schema)
    finally:
        connection.close()


def _unreadable(path: Path, error: OSError | sqlite3.Error) -> Checkup:
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
        return Checkup.broken("database", f"it is damaged: {error}", put_back(path))
    told = f"{path} cannot be read ({error})"
    return Checkup.broken("database", told, "check the permissions of it and of its folder")
