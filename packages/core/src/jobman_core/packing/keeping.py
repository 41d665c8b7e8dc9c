"""Where archives lie: those of a job in its folder, those of tasks with the manager's own."""

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from jobman_core.errors import InvalidInputError
from jobman_core.files import make_folder, sync_folder
from jobman_core.group import follow, opener
from jobman_core.home import Home
from jobman_core.models.task import Code
from jobman_core.packing.archive import Archive, archive_in, pack, pack_aside
from jobman_core.packing.listing import Listing, list_folder

#: Seconds after which a file that changes again has another time.
_UNSETTLED: Final = 2.0


@contextlib.contextmanager
def packed(home: Home, code: Code) -> Iterator[Archive]:
    """Pack what a folder ships, for the length of a block.

    Raises:
        InvalidInputError: it cannot be packed.
        OSError: the archive cannot be written.
    """
    archive = pack_aside(list_folder(code), home.task_code)
    try:
        yield archive
    finally:
        archive.path.unlink(missing_ok=True)


def keep(archive: Archive, folder: Path) -> None:
    """Put an archive into a folder as well, at no cost where the file system can do so.

    Raises:
        OSError: it cannot be written.
    """
    place = archive_in(folder, archive.snapshot).path
    if place.exists():
        return
    make_folder(folder, mode=0o700)
    aside = place.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        try:
            os.link(archive.path, aside)
        except OSError:
            shutil.copy2(archive.path, aside)
        aside.replace(place)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(folder)


def kept(folder: Path, code: Code) -> Archive:
    """Give the archive of a job's code.

    Raises:
        InvalidInputError: it is not there.
    """
    archive = archive_in(folder, code.snapshot or "")
    if not archive.path.is_file():
        raise InvalidInputError(
            f"what was packed of {code.path} is not in {folder} any more: take `snapshot` out of "
            "the job's config.yaml, and `jobman reboot` ships the folder as it is then"
        )
    return archive


def of_run(home: Home, run_id: str, code: Code, now: datetime) -> Archive:
    """Give the archive for all attempts of one run of a task; the first that asks packs it.

    Args:
        home: keeps the archive.
        run_id: of the run.
        code: what it ships.
        now: a change that came just before may be followed by another one of the same time.

    Raises:
        InvalidInputError: it cannot be packed, or what was packed is not there.
        OSError: the archive cannot be written.
    """
    snapshot = snapshot_of(home, run_id, code)
    if snapshot is None:
        packed = _packed(home, list_folder(code), now)
        snapshot = _first(_record(home, run_id, code), packed.snapshot)
    archive = archive_in(home.task_code, snapshot)
    if not archive.path.is_file():
        raise InvalidInputError(
            f"what was packed of {code.path} is not in {home.task_code} any more: reset the task, "
            "and it gets the folder as it is then"
        )
    return archive


def _packed(home: Home, listing: Listing, now: datetime) -> Archive:
    """Pack a folder, unless it was packed before and has not changed since."""
    record = home.seen_code(listing.look)
    try:
        archive = archive_in(home.task_code, record.read_text(encoding="ascii"))
        if archive.path.is_file():
            return archive
    except FileNotFoundError:
        pass
    archive = pack(listing, home.task_code, secret=False)
    if now.timestamp() - listing.changed > _UNSETTLED:
        with open(record, "w", encoding="ascii", opener=opener) as file:
            file.write(archive.snapshot)
    return archive


def snapshot_of(home: Home, run_id: str, code: Code) -> str | None:
    """Tell what all attempts of one run have of a folder; None: it was not packed yet.

    Raises:
        OSError: that cannot be read.
    """
    if code.snapshot is not None:
        return code.snapshot
    try:
        return _record(home, run_id, code).read_text(encoding="ascii")
    except FileNotFoundError:
        return None


def _record(home: Home, run_id: str, code: Code) -> Path:
    # A task that is corrected to ship something else does so, without a reset.
    what = "\0".join((code.path, *code.exclude)).encode("utf-8", "surrogateescape")
    return home.run_code(run_id, hashlib.sha256(what).hexdigest()[:16])


def _first(record: Path, snapshot: str) -> str:
    """Decide for all who run the same at the same time: the first one's counts."""
    aside = record.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with aside.open("x", encoding="ascii") as file:
            file.write(snapshot)
            file.flush()
            os.fsync(file.fileno())
        follow(aside)
        with contextlib.suppress(FileExistsError):
            record.hardlink_to(aside)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(record.parent)
    return record.read_text(encoding="ascii")
