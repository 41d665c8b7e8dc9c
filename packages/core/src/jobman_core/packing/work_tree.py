"""What git itself lists of a folder. It is waited for: call this in a thread."""

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from jobman_core.errors import InvalidInputError

#: What is tracked, and what is neither tracked nor ignored.
_LIST: Final = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
#: What git begins with where it knows nothing of a folder; untranslated.
_UNKNOWN: Final = b"fatal: not a git repository"
#: What it lists in the place of a submodule that is not there.
_HOLLOW: Final = ["./"]
#: Set where a hook or an alias of git runs us: they mean another repository than the folder's.
_OTHERS: Final = frozenset(
    {
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_NAMESPACE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_WORK_TREE",
    }
)


_Walk = Callable[[Path], Iterable[str]]


def in_work_tree(folder: Path, walk: _Walk) -> Iterator[str] | None:
    """List the files of a folder of a git work tree that are not ignored, repositories in it too.

    None: it is none, or there is no git here.

    Args:
        folder: which.
        walk: lists a folder inside that looks like a repository and is none.

    Raises:
        InvalidInputError: git refuses to say.
    """
    told = _ask(folder)
    if told is None or told == _HOLLOW:
        return None
    return _files(folder, told, walk)


def _ask(folder: Path) -> list[str] | None:
    env = {name: value for name, value in os.environ.items() if name not in _OTHERS}
    try:
        done = subprocess.run(
            ("git", "-C", folder, *_LIST),
            env={**env, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        return None
    if done.returncode == 0:
        # What is in conflict is listed once for each side.
        return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})
    if done.stderr.startswith(_UNKNOWN):
        return None
    said = os.fsdecode(done.stderr).strip().partition("\n")[0]
    raise InvalidInputError(f"git cannot list {folder} ({said}): make `git status` work there")


def _files(folder: Path, told: Iterable[str], walk: _Walk) -> Iterator[str]:
    for name in told:
        path = name.rstrip("/")
        place = folder / path
        if not os.path.lexists(place):
            # Tracked, and deleted since.
            continue
        if place.is_dir() and not place.is_symlink():
            # A repository of its own: a submodule, or a clone.
            own = in_work_tree(place, walk) if (place / ".git").exists() else None
            yield from (f"{path}/{each}" for each in (walk(place) if own is None else own))
        else:
            yield path
