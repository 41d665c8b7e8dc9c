"""What is wrong with a file, collected: every fault has the place of its key."""

import difflib
from collections.abc import Iterable
from typing import Final

from jobman_core.config.nodes import Map, Node, Path_, Scalar, Seq, as_int, dotted, locate, short
from jobman_core.errors import ConfigError, Fault

#: How alike two words must be for one to be a misspelling of the other.
_NEAR: Final = 0.65
#: So many possible words are listed where none is near.
_LISTED: Final = 24


class WrongValueError(ValueError):
    """A value that its key cannot have; the message says why."""


class Faults:
    """Collects what is wrong with a file, each fault at the place of its key."""

    def __init__(self, path: str, root: Map, known: Iterable[Fault] = ()) -> None:
        """Begin, with those that are known already."""
        self._path = path
        self._root = root
        self._faults = list(known)
        self._broken: set[Path_] = set()

    def __bool__(self) -> bool:
        """Tell whether there are any."""
        return bool(self._faults)

    def add(self, path: Path_, message: str, *, place: tuple[int, int] | None = None) -> None:
        """Note one; what stands under a key that is known to be broken is passed over."""
        if any(path[:n] in self._broken for n in range(1, len(path) + 1)):
            return
        line, column = place or locate(self._root, path)
        self._faults.append(Fault(self._path, line, column, dotted(path), message))

    def broken(self, path: Path_) -> None:
        """Say that a key's value cannot be judged any more."""
        self._broken.add(path)

    def is_broken(self, path: Path_) -> bool:
        """Tell whether a key's value cannot be judged."""
        return path in self._broken

    def unknown(
        self, path: Path_, choices: Iterable[str], *, place: tuple[int, int] | None = None
    ) -> None:
        """Note a key that nobody knows; the one that it is a misspelling of is not missing."""
        *above, key = path
        names = list(choices)
        self.add(path, f"unknown key {short(str(key))!r}{meant(str(key), names)}", place=place)
        self.broken(path)
        near = nearest(str(key), names)
        if near is not None:
            self.broken((*above, near))

    def check(self) -> None:
        """Raise ConfigError with all of them, if there are any."""
        if self._faults:
            raise ConfigError(self._faults)


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """Give the word that another is a misspelling of; None: it looks like none."""
    near = difflib.get_close_matches(word, list(choices), 1, _NEAR)
    return near[0] if near else None


def meant(word: str, choices: Iterable[str]) -> str:
    """Give the hint that follows a wrong word: the nearest right one, else all of them."""
    # Members of an enumeration are shown as they are written.
    names = [str(choice) for choice in choices]
    near = nearest(word, names)
    if near is not None:
        return f" (did you mean {near!r}?)"
    if names and len(names) <= _LISTED:
        return f": use one of {', '.join(names)}"
    return ": take it out" if not names else ": check its spelling"


def check_hosts(node: Node, path: Path_, hosts: int, faults: Faults) -> None:
    """Refuse hosts that a slice does not have, at their places in a value of ``workers``."""
    items = enumerate(node) if isinstance(node, Seq) else [(None, node)]
    for at, item in items:
        index = as_int(item) if isinstance(item, Scalar) else None
        if index is not None and index >= hosts:
            have = "only host 0" if hosts == 1 else f"hosts 0 to {hosts - 1}"
            message = f"there is no host {index}: the slice has {have}"
            faults.add(path if at is None else (*path, at), message)
