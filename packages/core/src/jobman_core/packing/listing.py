"""What of a folder is shipped: what git would keep of it, short of what is excluded."""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs

from jobman_core.errors import InvalidInputError
from jobman_core.models.task import Code
from jobman_core.packing.ignoring import Rules
from jobman_core.packing.work_tree import in_work_tree
from jobman_core.queue import state_file

#: Bytes that a folder may ship.
LARGEST: Final = 500_000_000
#: How many of a folder's parts are named where it is too large.
_NAMED: Final = 3
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")
#: From here on three digits make it 1000.
_ROUND: Final = 999.5
#: Never shipped, wherever they lie: git's own, and a home's jobs.
_GIT: Final = ".git"
_JOBS: Final = "jobs"
_HOME_STATE: Final = ".jobman"
_STATE: Final = "_state.yaml"
_STATE_LOCK: Final = f"{_STATE}.lock"


@attrs.frozen
class Item:
    """One file or symbolic link."""

    #: Relative to the folder, as the file system has it.
    path: str
    #: Bytes; of a link those of what it says.
    size: int
    mode: int = 0
    #: When its content, and when anything of it, last changed: nanoseconds since 1970.
    mtime: int = 0
    ctime: int = 0
    inode: int = 0

    @classmethod
    def of(cls, path: str, seen: os.stat_result) -> "Item":
        """Take it from a look at it."""
        mtime, ctime = seen.st_mtime_ns, seen.st_ctime_ns
        return cls(path, seen.st_size, seen.st_mode, mtime, ctime, seen.st_ino)


@attrs.frozen
class Listing:
    """What a folder would ship."""

    folder: Path
    #: By path.
    items: tuple[Item, ...]

    @property
    def size(self) -> int:
        """Bytes, before they are packed."""
        return sum(item.size for item in self.items)

    @property
    def changed(self) -> float:
        """When anything of it last changed, in seconds since 1970."""
        return max(item.ctime for item in self.items) / 1e9

    @property
    def look(self) -> str:
        """By what it is known again, without reading it, as long as nothing of it changes."""
        digest = hashlib.sha256(os.fsencode(self.folder))
        for item in self.items:
            digest.update(os.fsencode(f"\0{item.path}\0{attrs.astuple(item)[1:]}"))
        return digest.hexdigest()

    def __str__(self) -> str:
        """Say it to people."""
        files = "1 file" if len(self.items) == 1 else f"{len(self.items)} files"
        return f"{files}, {in_units(self.size)}, of {self.folder}"


def list_folder(code: Code) -> Listing:
    """Find what a folder ships.

    Raises:
        InvalidInputError: it is not there, cannot be listed, ships nothing, or too much.
    """
    folder = Path(code.path)
    if not folder.is_dir():
        raise InvalidInputError(f"there is no folder {folder}: correct the path, or put it back")
    left_out = _LeftOut(folder, code.exclude)
    found: list[Item] = []
    try:
        names = in_work_tree(folder, _walk)
        for path in _walk(folder, left_out.folder) if names is None else names:
            if left_out.file(path):
                continue
            seen = (folder / path).lstat()
            if stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode):
                found.append(Item.of(path, seen))
    except OSError as error:
        raise _unreadable(error) from error
    listing = Listing(folder, tuple(sorted(found, key=lambda item: os.fsencode(item.path))))
    _check(listing)
    return listing


def in_units(size: int) -> str:
    """Say a number of bytes to people: ``3.4 kB``."""
    number = float(size)
    for unit in _UNITS:
        if number < _ROUND or unit == _UNITS[-1]:
            return f"{number:.3g} {unit}"
        number /= 1000
    raise AssertionError


def _check(listing: Listing) -> None:
    if not listing.items:
        raise InvalidInputError(
            f"nothing of {listing.folder} would be shipped: it holds no files but ignored ones"
        )
    if listing.size <= LARGEST:
        return
    parts: Counter[str] = Counter()
    for item in listing.items:
        top, slash, _ = item.path.partition("/")
        parts[top + slash] += item.size
    biggest = ", ".join(f"{name} ({in_units(size)})" for name, size in parts.most_common(_NAMED))
    raise InvalidInputError(
        f"{listing} are more than {in_units(LARGEST)}, most of it in {biggest}: name in "
        "`exclude` or in .gitignore what is not needed"
    )


def _unreadable(error: OSError) -> InvalidInputError:
    name = os.fsdecode(error.filename or "it")
    return InvalidInputError(
        f"{name} cannot be read ({error.strerror}): make it readable, or exclude it"
    )


def _walk(folder: Path, prune: Callable[[str], bool] = lambda _: False) -> Iterator[str]:
    """List a folder that git does not know, by the .gitignore files in it.

    Args:
        folder: which.
        prune: tells of a folder below it that nobody needs to look into.

    Raises:
        OSError: some of it cannot be read.
    """
    open_: list[tuple[str, Sequence[tuple[str, Rules]]]] = [("", ())]
    while open_:
        base, rules = open_.pop()
        with os.scandir(folder / base) as entries:
            here = list(entries)
        if any(entry.name == ".gitignore" and entry.is_file() for entry in here):
            lines = os.fsdecode((folder / base / ".gitignore").read_bytes()).splitlines()
            rules = (*rules, (base, Rules(lines)))
        for entry in here:
            path, is_folder = base + entry.name, entry.is_dir(follow_symlinks=False)
            if entry.name == _GIT or _is_ignored(path + "/" * is_folder, rules):
                continue
            if not is_folder:
                yield path
            elif not prune(path):
                open_.append((path + "/", rules))


def _is_ignored(path: str, rules: Sequence[tuple[str, Rules]]) -> bool:
    for base, own in reversed(rules):
        said = own.say(path.removeprefix(base))
        if said is not None:
            return said
    return False


class _LeftOut:
    """Knows what is not shipped whatever git says: what its owner excludes, and what is ours.

    What jobman itself writes changes all the time.
    """

    def __init__(self, top: Path, exclude: Sequence[str]) -> None:
        self._top = top
        self._rules = Rules(exclude)
        self._known = {"": False}

    def folder(self, path: str) -> bool:
        """Tell whether nothing of a folder is shipped; as for git, no rule brings it back."""
        if path not in self._known:
            above, _, name = path.rpartition("/")
            jobs = name == _JOBS and (self._top / path / _HOME_STATE).is_dir()
            out = self.folder(above) or jobs or bool(self._rules.say(path + "/"))
            self._known[path] = out
        return self._known[path]

    def file(self, path: str) -> bool:
        """Tell whether a file is not shipped."""
        above, _, name = path.rpartition("/")
        if self.folder(above) or self._rules.say(path):
            return True
        if name.endswith(_STATE_LOCK):
            # Hidden, beside what it is the lock of.
            name = name.removeprefix(".").removesuffix(".lock")
        return name.endswith(_STATE) and self._is_state(above, name)

    def _is_state(self, above: str, name: str) -> bool:
        return state_file.read_head(self._top / above / name) is not None
