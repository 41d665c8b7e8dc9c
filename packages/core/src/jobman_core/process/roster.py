"""Who is to run in a process that several sessions share: one small file each."""

import json
import os
from pathlib import Path
from typing import Self

import attrs

from jobman_core.group import check_mine, is_shared
from jobman_core.home import Home, make_inside
from jobman_core.process.records import plain_name


@attrs.frozen
class Entry:
    """One controller that a shared process is asked to run."""

    job: str
    #: Differs with every start.
    token: str


@attrs.frozen
class Roster:
    """The controllers that a shared process is asked to run, and those that it does run.

    A file by the session's name is the wish, one below ``on.d`` says that it is being done. Wishes
    outlive the process, so that the next one takes all of them up.
    """

    folder: Path

    @classmethod
    def of_home(cls, home: Path, uid: int) -> Self:
        """Give the roster of the process that one user of the machine has in a home."""
        return cls(Home(home).sessions / f"shared-{uid}")

    @property
    def process(self) -> str:
        """Give the name of that process among the home's sessions."""
        return self.folder.name

    @property
    def lock(self) -> str:
        """Give the name of the lock that starters, enders and the process itself take."""
        return f"{self.process}-roster"

    @property
    def log(self) -> Path:
        """Give what is said about the process itself; where several accounts have one each, its."""
        if self._has_others:
            return self.folder / "process.log"
        return self.folder.parent.parent / "shared.log"

    def add(self, name: str, job: str) -> None:
        """Ask for a job's controller, anew if it was asked for before.

        Raises:
            NotYoursError: in a home that a group shares, somebody else has laid the folder.
        """
        make_inside(self.folder, own=True)
        if self._has_others:
            check_mine(self.folder)
        aside = self._path(name).with_suffix(".new")
        aside.write_text(json.dumps([job, os.urandom(16).hex()]), encoding="utf-8")
        aside.replace(self._path(name))

    def get(self, name: str) -> Entry | None:
        """Give what is asked for under a name; None: nothing, or not yet the whole of it."""
        try:
            job, token = json.loads(self._path(name).read_bytes())
        except (FileNotFoundError, IsADirectoryError, ValueError, TypeError):
            return None
        return Entry(str(job), str(token))

    def remove(self, name: str, token: str | None = None) -> None:
        """Ask for no such controller any more; with a token, only if it is that start's."""
        if token is None or (entry := self.get(name)) is None or entry.token == token:
            self._path(name).unlink(missing_ok=True)

    def entries(self) -> dict[str, Entry]:
        """Give all that is asked for, by the name that its file has.

        Raises:
            OSError: that cannot be told, as where the home was moved away.
        """
        state = self.folder.parent.parent
        if not self.folder.is_dir() and state.is_dir():
            return {}
        names = [entry.name for entry in os.scandir(self.folder) if "." not in entry.name]
        found = {name: self.get(name) for name in names}
        return {name: entry for name, entry in found.items() if entry is not None}

    def changed_at(self) -> int:
        """Give a number that differs once a name was added, replaced or removed."""
        try:
            return self.folder.stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def begin(self, name: str) -> None:
        """Say that a controller runs."""
        self._running.mkdir(exist_ok=True, mode=0o700)
        self._on(name).touch(mode=0o600)

    def finish(self, name: str) -> None:
        """Say that it does not run any more."""
        self._on(name).unlink(missing_ok=True)

    def runs(self, name: str) -> bool:
        """Tell whether a controller runs, as long as the process lives."""
        return self._on(name).exists()

    def begin_afresh(self) -> None:
        """Forget what the process before this one ran."""
        for path in self._running.glob("*"):
            path.unlink(missing_ok=True)

    @property
    def _has_others(self) -> bool:
        """Whether other accounts have rosters of theirs beside it."""
        return is_shared(self.folder.parent.parent)

    def _path(self, name: str) -> Path:
        return self.folder / plain_name(name)

    def _on(self, name: str) -> Path:
        return self._running / plain_name(name)

    @property
    def _running(self) -> Path:
        return self.folder / "on.d"
