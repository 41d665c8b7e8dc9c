"""A checkout of Jobman v3 as it lies there. It is only read, and may hold anything."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs

from jobman_core.clock import from_text
from jobman_core.config.text import LARGE, SMALL, decode, read_bytes
from jobman_core.errors import ConfigError, InvalidInputError, NotFoundError

#: Where v3's own configuration of a job is kept when jobman's takes its place.
KEPT: Final = "config.v3.yaml"
_ID: Final = re.compile(r"[0-9]{6}")
_STATE: Final = ".jobman"
_TASKS: Final = "tasks"
_HIDDEN: Final = "hide"
#: Keys that v3 adds to its copy of a job file.
_OWN_KEYS: Final = {"job": ("id", "user", "dir"), "tpu": ("num_workers", "ips")}
_KEY: Final = re.compile(r"( *)([A-Za-z_]\w*):")


@attrs.frozen
class OldFolder:
    """The folder of one job."""

    id: str
    user: str
    path: Path
    created: datetime
    #: Of tmux.
    session: str

    def text(self) -> str:
        """Give what v3 says of the job, without the keys that it adds itself.

        Raises:
            InvalidInputError: it cannot be read.
        """
        path = self.path / KEPT
        if not path.exists():
            path = self.path / "config.yaml"
        if path.is_symlink():
            msg = f"{path} is a link: it is not followed"
            raise InvalidInputError(msg)
        return without_own_keys(decode(read_bytes(path, SMALL), path))


@attrs.frozen
class OldTask:
    """The logs of one task."""

    name: str
    hidden: bool
    path: Path


@attrs.define
class OldTree:
    """All of it."""

    root: Path
    jobs: list[OldFolder] = attrs.field(factory=list)
    #: State files of queues.
    states: list[Path] = attrs.field(factory=list)
    tasks: list[OldTask] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    problems: list[str] = attrs.field(factory=list)


def read_tree(folder: Path) -> OldTree:
    """Look at a checkout of v3, or at its ``jobs`` folder.

    Raises:
        NotFoundError: it is neither.
    """
    root = folder.resolve()
    if not (root / "jobs").is_dir():
        if root.name != "jobs" or not root.is_dir():
            msg = f"{folder} holds no folder `jobs`: name a checkout of Jobman v3"
            raise NotFoundError(msg)
        root = root.parent
    tree = OldTree(root)
    meta = _meta(root / "jobs" / _STATE / "meta.json", tree)
    for user in _folders(root / "jobs", tree):
        if user.name == _TASKS:
            _read_tasks(user, tree)
            continue
        for job in _folders(user, tree):
            if _ID.fullmatch(job.name):
                tree.jobs.append(_job(job, meta.get(f"job_{job.name}")))
            else:
                tree.notes.append(f"{job} is no folder of a job: passed over")
    for place in (root, root / "queue_machines"):
        tree.states += sorted(p for p in place.glob("*_state.yaml") if p.is_file())
    return tree


def without_own_keys(text: str) -> str:
    """Leave out of v3's copy of a job file what it adds itself."""
    kept: list[str] = []
    section, drop = "", False
    for line in text.splitlines(keepends=True):
        found = _KEY.match(line)
        if found and not found[1]:
            section, drop = found[2], False
        elif found and len(found[1]) == 2:  # noqa: PLR2004 - how v3 writes
            drop = found[2] in _OWN_KEYS.get(section, ())
        elif drop and line.strip() and not line.startswith("  "):
            drop = False
        if not drop:
            kept.append(line)
    return "".join(kept)


def _meta(path: Path, tree: OldTree) -> Mapping[str, Any]:
    """Read what v3 knows of its jobs; what cannot be read is no loss."""
    try:
        found = json.loads(read_bytes(path, LARGE)) if path.exists() else {}
    except (ConfigError, ValueError, RecursionError) as error:
        tree.notes.append(f"{path} cannot be read ({error}): jobs have the times of their folders")
        return {}
    return found if isinstance(found, dict) else {}


def _job(folder: Path, meta: object) -> OldFolder:
    said: Mapping[str, Any] = meta if isinstance(meta, dict) else {}
    created = _moment(said.get("created_at"))
    if created is None:
        created = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    session = said.get("session_name")
    name = session if isinstance(session, str) and session else f"job_{folder.name}"
    return OldFolder(folder.name, folder.parent.name, folder, created, name)


def _moment(text: object) -> datetime | None:
    """Read a time of v3's, which is local."""
    try:
        return from_text(text) if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None


def _read_tasks(folder: Path, tree: OldTree) -> None:
    for task in _folders(folder, tree):
        if task.name != _HIDDEN:
            tree.tasks.append(OldTask(task.name, hidden=False, path=task))
            continue
        for hidden in _folders(task, tree):
            tree.tasks.append(OldTask(hidden.name, hidden=True, path=hidden))


def _folders(folder: Path, tree: OldTree) -> Iterator[Path]:
    """Give the folders in a folder by name; links are not followed, hidden ones not looked at."""
    for path in entries(folder, tree.problems):
        if path.name.startswith("."):
            continue
        try:
            linked, folder_ = path.is_symlink(), path.is_dir()
        except OSError as error:
            tree.problems.append(f"{path} cannot be looked at ({error.strerror})")
            continue
        if not is_text(path.name):
            tree.problems.append(f"{path} has a name that is not UTF-8: rename it")
        elif linked:
            tree.problems.append(f"{path} is a link: it is not followed")
        elif folder_:
            yield path


def is_text(name: str) -> bool:
    """Tell whether a file's name is UTF-8; nothing else is ever written down."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def entries(folder: Path, problems: list[str]) -> list[Path]:
    """Give what lies in a folder by name; what cannot be read is noted."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        problems.append(f"{folder} cannot be read ({error.strerror}): let its owner import it")
        return []
