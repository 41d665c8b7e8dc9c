"""Slices as folders: what is written of each, and how one is made, taken away and removed.

Everything here blocks, for milliseconds, and is called in a thread.

``<home>/jobs/.jobman/local/`` holds ``lock`` (who has it may make slices), one folder a slice and,
for an instant, folders whose names begin with ``.``: slices that are not there yet or any more.
"""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from jobman_core.builtin.local import keeper, mounts
from jobman_core.builtin.local.host import BOOT_ID, SLICE
from jobman_core.errors import CloudError, NotYoursError, TransientCloudError
from jobman_core.files import make_folder
from jobman_core.group import follow, is_mine, opener, owner_of

_FACTS: Final = "slice.json"
_LOCK: Final = "lock"
#: Words that ``Facts.state`` has besides: on the way out, with processes that may still live.
STANDING: Final = "STANDING"
PREEMPTING: Final = "PREEMPTING"
PREEMPTED: Final = "PREEMPTED"
DELETING: Final = "DELETING"


@attrs.frozen
class Facts:
    """What is written of a slice."""

    zone: str
    accelerator: str
    hosts: int
    labels: Mapping[str, str]
    #: Seconds of the wall clock: it must hold over a restart of the machine.
    asked_at: float
    ready_at: float
    state: str = STANDING

    def ready(self, now: float) -> bool:
        """Tell whether it is provisioned; a clock that was set back does not make it wait."""
        return not self.asked_at <= now < self.ready_at


class Folder:
    """The slices of one home."""

    def __init__(self, root: Path) -> None:
        """Name it; nothing is touched yet."""
        self.root = root

    def names(self) -> list[str]:
        """List the slices that exist."""
        if not self.root.is_dir():
            return []
        return sorted(p.name for p in self.root.iterdir() if p.is_dir() and p.name[0] != ".")

    def read(self, name: str) -> Facts | None:
        """Read what is written of a slice; None: there is no such slice.

        Raises:
            TransientCloudError: it is there, but cannot be read, or its home is not there now.
        """
        try:
            facts = json.loads((self.root / name / _FACTS).read_text(encoding="utf-8"))
            return Facts(**facts)
        except (OSError, ValueError, TypeError) as error:
            # Where the home itself is not there, nothing says that the slice is not.
            if self.root.parent.is_dir() and not (self.root / name).exists():
                return None
            raise TransientCloudError(
                f"local slice {name} cannot be read ({error}): look at {self.root / name}"
            ) from error

    @contextmanager
    def locked(self, name: str = ".") -> Iterator[None]:
        """Hold the lock of the whole, or of one slice, against other processes and threads."""
        folder = self.root / name
        if name == ".":
            make_folder(folder, 0o700)
        fd = self._open_lock(folder)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            # While this waited the slice may have been removed, and another one made.
            if (folder / _LOCK).stat().st_ino != os.fstat(fd).st_ino:
                raise FileNotFoundError(folder)
            yield
        finally:
            os.close(fd)

    def _open_lock(self, folder: Path) -> int:
        try:
            return opener(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        except PermissionError as error:
            owner = owner_of(folder) or "nobody knows whose"
            msg = (
                f"local slice {folder.name} is {owner}'s, and nobody else can end its processes: "
                f"ask them, or do it as them (`sudo -u {owner}`)"
            )
            raise NotYoursError(msg) from error

    def make(self, name: str, facts: Facts) -> None:
        """Make a slice, whole or not at all. The caller holds the lock."""
        aside = self.root / f".new-{secrets.token_hex(4)}"
        try:
            aside.mkdir()
            follow(aside, own=True)
            for index in range(facts.hosts):
                (aside / "hosts" / str(index) / "tmp").mkdir(mode=0o700, parents=True)
            (aside / keeper.ROOTS).mkdir(mode=0o700)
            (aside / BOOT_ID).write_text(f"{uuid.uuid4()}\n", encoding="ascii")
            _put(aside / _FACTS, facts)
            (aside / keeper.UP).touch()
            aside.rename(self.root / name)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def take_away(self, name: str, doing: str) -> Facts | None:
        """Let nothing start in a slice any more, and end every process of it.

        Returns once nothing of it is left; None: there is no such slice.

        Raises:
            TransientCloudError: processes are left that cannot be ended.
            NotYoursError: another account made it.
        """
        try:
            with self.locked(name):
                facts = self.read(name)
                if facts is None:
                    return None
                if facts.state in (PREEMPTED, DELETING) and doing == PREEMPTING:
                    return facts
                facts = attrs.evolve(facts, state=doing)
                self._write(name, facts)
                (self.root / name / keeper.UP).unlink(missing_ok=True)
                self._end_processes(name)
                if doing == PREEMPTING:
                    facts = attrs.evolve(facts, state=PREEMPTED)
                    self._write(name, facts)
                return facts
        except FileNotFoundError:
            return None

    def remove(self, name: str) -> None:
        """End every process of a slice and remove its folder; one that is absent is no error."""
        if self.take_away(name, DELETING) is None:
            return
        aside = self.root / f".gone-{secrets.token_hex(4)}"
        try:
            (self.root / name).rename(aside)
        except FileNotFoundError:
            return  # someone else was faster
        _remove(aside)

    def sweep(self) -> None:
        """Remove what interrupted calls of this account left: folders that are no slices."""
        for path in self.root.glob(".gone-*"):
            with contextlib.suppress(FileNotFoundError):
                if is_mine(path):
                    _remove(path)

    def forget_ended(self, name: str) -> None:
        """Drop the names of processes that are gone, which killed controllers leave."""
        for path in (self.root / name / keeper.ROOTS).glob("*"):
            process = keeper.from_name(path.name)
            if process is None or not keeper.alive(process):
                path.unlink(missing_ok=True)

    def _write(self, name: str, facts: Facts) -> None:
        path = self.root / name / _FACTS
        aside = path.with_suffix(f".{secrets.token_hex(4)}")
        _put(aside, facts)
        aside.replace(path)

    def _end_processes(self, name: str) -> None:
        """End each tree that began in a slice, and what lost its keepers.

        Until two passes over all of them find nothing: a command may be about to start, which
        then sees that the slice is down.
        """
        folder = self.root / name
        mark = f"{SLICE}={(folder / BOOT_ID).read_text(encoding='ascii').strip()}".encode()
        clean = 0
        deadline = time.monotonic() + keeper.GIVE_UP
        while clean < 2:  # noqa: PLR2004 - two passes
            clean += 1
            for path in (folder / keeper.ROOTS).iterdir():
                process = keeper.from_name(path.name)
                if process is not None and keeper.alive(process):
                    clean = 0
                    keeper.end_tree(process)
                path.unlink(missing_ok=True)
            strays = [p for p in keeper.carrying(mark) if p[0] != os.getpid()]
            if strays:
                clean = 0
                for process in strays:
                    keeper.end_tree(process)
            if time.monotonic() > deadline:
                raise TransientCloudError(
                    f"processes of local slice {name} cannot be ended: end them by hand"
                )


def _put(path: Path, facts: Facts) -> None:
    """Write what there is to know of a slice; whoever shares the home counts its slices."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        json.dump(attrs.asdict(facts), file)


def _remove(path: Path) -> None:
    """Remove a folder to which something may still be written for an instant.

    Raises:
        CloudError: it stays.
    """
    if left := mounts.let_go(path):
        raise CloudError(f"{left[0]} is mounted: unmount it by hand")
    for _ in range(20):
        _open_up(path)
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(0.05)
    raise CloudError(f"{path} cannot be removed: remove it by hand")


def _open_up(path: Path) -> None:
    """Give back the permissions that programs took from their folders."""
    for folder, _, _ in os.walk(path):
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            # Another process may be removing the same folder.
            with contextlib.suppress(FileNotFoundError):
                Path(folder).chmod(0o700)
