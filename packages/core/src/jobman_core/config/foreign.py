"""YAML files whose keys are not the core's own: a front end says what they may hold."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from jobman_core.config.faults import Faults
from jobman_core.config.nodes import Path_
from jobman_core.config.source import read_source
from jobman_core.config.structure import structure

_T = TypeVar("_T")

#: What is wrong with an object that was read: under which key, and what to write instead.
Complaints = Iterable[tuple[Path_, str]]


def read_foreign(path: Path, shape: type[_T], check: Callable[[_T], Complaints]) -> _T:
    """Read a file into an attrs class.

    Raises:
        ConfigError: it has faults.
    """
    source = read_source(path)
    faults = Faults(source.path, source.root, source.faults)
    found = structure(source.root, shape, (), faults)
    for key, message in () if found is None else check(found):
        faults.add(key, message)
    faults.check()
    assert found is not None  # noqa: S101 - for the type checker: without one there are faults
    return found
