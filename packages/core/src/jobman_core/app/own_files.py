"""Files that belong to a front end alone."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobman_core.config.foreign import Complaints


_T = TypeVar("_T")


def read_config(
    path: Path, shape: type[_T], check: "Callable[[_T], Complaints]" = lambda _: ()
) -> _T:
    """Read a front end's own YAML file, with errors like those of job files.

    Args:
        path: the file.
        shape: an attrs class that says what the file may hold: text, numbers, :data:`Duration`
            (``90s``, ``10m``), ``time``, ``ZoneInfo``, ``Path``, enums, other attrs classes, and
            tuples and maps of them. A class of text with a class method ``parse`` says itself, by
            a ValueError, what it may not be.
        check: says what is wrong with what was read as a whole, each with the keys and indices of
            its place.

    Raises:
        ConfigError: the file has faults; all of them.
    """
    # YAML is too slow to import for every command.
    from jobman_core.config.foreign import read_foreign

    return read_foreign(path, shape, check)
