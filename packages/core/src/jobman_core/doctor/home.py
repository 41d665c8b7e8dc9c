"""The home: whether it is there, who may read it, the room on its disk, and who holds its locks."""

import asyncio
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from jobman_core.command import quote
from jobman_core.doctor.asking import ask_all
from jobman_core.doctor.disks import Room, judge_room, quota
from jobman_core.errors import NotFoundError
from jobman_core.home import Home
from jobman_core.models.checkup import Checkup
from jobman_core.process import ProcessIdentity

#: Seconds by which files may be dated ahead of this machine's clock.
_AHEAD: Final = 5.0
#: So many paths are named.
_NAMED: Final = 3
#: Each lock of the system: its holder, and the file by device and inode (proc_locks(5)).
_LOCKS: Final = Path("/proc/locks")


async def home(found: Home, now: float) -> Sequence[Checkup]:
    """Look at all of it but the database; nothing is written.

    Args:
        found: the home.
        now: seconds since the epoch, by this machine's clock.
    """
    name = "home"
    if not found.root.is_dir():
        told = f"{found.root} is no folder" if found.root.exists() else f"{found.root} is not there"
        return [Checkup.broken(name, told, "check --home and JOBMAN_HOME, or make it")]
    disk = await ask_all(("disk", _disk(found.root)), ("quota", quota("quota")))
    if not found.state.is_dir():
        told = f"none in {found.root} yet: `jobman create` makes one there"
        return [Checkup.well(name, told), *disk]
    more = await ask_all(
        ("permissions", asyncio.to_thread(_permissions, found)),
        ("file times", asyncio.to_thread(_times, found, now)),
        ("locks", asyncio.to_thread(_held, found.state)),
    )
    return [Checkup.well(name, str(found.root)), *disk, *more, *_bot(found.root)]


def _bot(root: Path) -> Sequence[Checkup]:
    """Say of a Slack bot's file who looks at that."""
    if not (root / "bot.yaml").is_file():
        return []
    how = "run `jobman-slackbot check`"
    return [Checkup.unknown("slack bot", "its bot.yaml has a check of its own", how)]


async def _disk(folder: Path) -> Checkup:
    return judge_room("disk", folder, await asyncio.to_thread(Room.of, folder))


# -- permissions ---------------------------------------------------------------------------


def _permissions(found: Home) -> Checkup:
    return judge_permissions(sorted(filter(_world_reads, _secrets(found))))


def _secrets(found: Home) -> Iterator[Path]:
    """Give the files that may hold secrets."""
    yield from found.state.glob(f"{found.database.name}*")
    for name in ("config.yaml", "origin.json"):
        yield from (found.root / "jobs").glob(f"*/*/{name}")


def _world_reads(path: Path) -> bool:
    """Tell whether anybody at all may read a file: every folder above lets them through."""
    try:
        if not path.stat().st_mode & stat.S_IROTH:
            return False
        return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents)
    except OSError:
        return False


def judge_permissions(open_: Sequence[Path]) -> Checkup:
    """Say whether secrets are kept.

    Args:
        open_: what anybody may read, and should not.
    """
    if not open_:
        return Checkup.well("permissions", "what may be secret is read by nobody else")
    named = ", ".join(map(str, open_[:_NAMED]))
    more = f" and {len(open_) - _NAMED} more" if len(open_) > _NAMED else ""
    remedy = f"run `{quote(['chmod', '-R', 'o-rwx', os.path.commonpath(open_)])}`"
    return Checkup.broken("permissions", f"anybody here may read {named}{more}", remedy)


# -- time ----------------------------------------------------------------------------------


def _times(found: Home, now: float) -> Checkup | None:
    newest = max((path.stat().st_mtime for path in _written(found)), default=0.0)
    return judge_times(newest - now)


def _written(found: Home) -> Iterable[Path]:
    """Give what is written all the time."""
    wal = found.database.with_name(f"{found.database.name}-wal")
    return [path for path in (found.state, found.database, wal) if path.exists()]


def judge_times(ahead: float) -> Checkup | None:
    """Say whether the home's files are dated by another clock than this machine's.

    Args:
        ahead: seconds by which the newest file is dated ahead of this machine's clock.
    """
    if ahead <= _AHEAD:
        return None
    told = f"files of the home are dated {ahead:.0f} s ahead of this machine's clock"
    return Checkup.doubt("file times", told, "let both machines keep their clocks by NTP")


# -- locks ---------------------------------------------------------------------------------


def _held(state: Path) -> Checkup | None:
    try:
        table = _LOCKS.read_text()
    except OSError:
        # Nobody can tell, as on a system that is not Linux.
        return None
    files: dict[tuple[int, int, int], Path] = {}
    for path in state.glob("*.lock"):
        about = path.stat()
        files[os.major(about.st_dev), os.minor(about.st_dev), about.st_ino] = path
    held = {files[key]: pid for pid, key in holders(table) if key in files}
    return judge_locks({path: pid for path, pid in held.items() if _is_halted(pid)})


def holders(table: str) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Read ``/proc/locks``: the process that holds each, and its file by device and inode."""
    for line in table.splitlines():
        match line.split():
            # Those who wait have an arrow before the kind.
            case [_, kind, _, _, pid, file, *_] if kind != "->" and int(pid) > 0:
                major, minor, inode = file.split(":")
                yield int(pid), (int(major, 16), int(minor, 16), int(inode))


def _is_halted(pid: int) -> bool:
    try:
        return ProcessIdentity.of(pid).state() == "stopped"
    except NotFoundError:
        return False


def judge_locks(halted: Mapping[Path, int]) -> Checkup:
    """Say whether anybody keeps the others waiting: a lock goes with its process, not before.

    Args:
        halted: locks whose processes do not run on, with those.
    """
    for path, pid in halted.items():
        told = f"process {pid}, which is halted, keeps {path.name}: others wait for it"
        return Checkup.broken("locks", told, f"run `kill -CONT {pid}`, or `kill -KILL {pid}`")
    return Checkup.well("locks", "nobody who is halted keeps one")
