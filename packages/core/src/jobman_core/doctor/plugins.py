"""What is installed: plugins that failed to load, and those of another version than the core."""

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from jobman_core.command import quote
from jobman_core.models.checkup import Checkup
from jobman_core.plugins import BUILTIN

#: How the distributions are called that are released together.
_OURS: Final = "jobman-"


class Installed(Protocol):
    """Something that is installed, whoever loads it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def distribution(self) -> str | None:
        """Where it comes from; None: it is switched off."""

    @property
    def version(self) -> str | None:
        """Of that."""

    @property
    def error(self) -> str | None:
        """Why it failed to load."""


def judge_plugins(rows: Sequence[Installed], version: str) -> Sequence[Checkup]:
    """Say what is wrong with what is installed; else how much there is.

    Args:
        rows: all plugins.
        version: the core's.
    """
    wrong = [*_failed(rows), *_strangers(rows, version)]
    names = {row.name for row in rows if row.error is None and row.distribution != BUILTIN}
    return wrong or [Checkup.well("plugins", ", ".join(sorted(names)) or "none is installed")]


def _failed(rows: Sequence[Installed]) -> Iterator[Checkup]:
    for row in rows:
        if row.error is None:
            continue
        if row.distribution is None:
            remedy = "take its name out of JOBMAN_DISABLED_PLUGINS to have it back"
            yield Checkup.well(row.name, f"{row.error}: {remedy}")
            continue
        remedy = f"run `{quote(['pip', 'install', '--force-reinstall', row.distribution])}`, or "
        remedy += f"leave it out: JOBMAN_DISABLED_PLUGINS={row.name}"
        yield Checkup.broken(row.name, f"it does not load: {row.error}", remedy)


def _strangers(rows: Sequence[Installed], version: str) -> Iterator[Checkup]:
    """Give what is released with the core, and is of another version."""
    found = {
        row.distribution: row.version
        for row in rows
        if row.distribution and row.distribution.startswith(_OURS) and row.version
    }
    for name, own in found.items():
        if own != version:
            told = f"{own} beside {BUILTIN} {version}: they are released together"
            remedy = f"run `{quote(['pip', 'install', f'{name}=={version}'])}`"
            yield Checkup.doubt(name, told, remedy)
