"""The base of everything that a plugin provides."""

from abc import ABC
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NewType

import attrs

from jobman_core.clock import Clock
from jobman_core.models.checkup import Checkup
from jobman_core.models.job import JobSpec
from jobman_core.models.zone import Zone

#: Seconds; in files also ``90s``, ``10m``, ``2h`` or ``1d``.
Duration = NewType("Duration", float)
#: A whole number, 0 or more.
Count = NewType("Count", int)


@attrs.frozen
class NoConfig:
    """The shape of a section that may not have any key."""


@attrs.frozen
class Problem:
    """Something that a backend refuses in a job file, under the key that it is about."""

    key: str
    message: str
    #: The option of ``jobman create`` (``--force-region``) with which it is passed over.
    waiver: str | None = None
    #: Nothing is known to be wrong: it is told, and passed over.
    doubt: bool = False


@attrs.frozen
class Context:
    """What a backend gets when it is made: where it works, and for whom."""

    #: The home folder.
    home: Path
    #: The home's UUID, part of every label and name that must not meet another home's.
    home_id: str
    clock: Clock
    #: The backend's section of ``jobman.yaml`` (``clouds.local``, ``sessions.tmux``, …): the keys
    #: that are written, read as ``Settings`` says (a :data:`Duration` is seconds), as plain data.
    settings: Mapping[str, Any] = attrs.field(factory=dict)


@attrs.frozen
class Scope:
    """What a check-up is about: for what a backend is to be used."""

    #: Settings, jobs or job files name it: what it lacks is broken, and no mere surprise.
    wanted: bool = False
    #: Nothing of a network may be asked.
    offline: bool = False
    #: The cloud account of jobs that name none, as the settings say.
    project: str | None = None
    #: Where the home has had slices, or keeps some.
    zones: tuple[Zone, ...] = ()
    #: What the job files ask for that are to be run.
    specs: tuple[JobSpec, ...] = ()


class Backend(ABC):
    """Anything that a plugin provides; made once a home, when it is first used.

    Its ``name`` is what YAML says. Modules of SDKs are imported inside methods: whoever types
    ``jobman --help`` pays for every import at the top of a plugin.
    """

    #: What YAML calls it.
    name: ClassVar[str]
    #: attrs class that its section of a job file is structured into, with errors like core keys'.
    Config: ClassVar[type] = NoConfig
    #: attrs class that its section of ``jobman.yaml`` is structured into, with errors like core
    #: keys'. The lab's file and one's own may each say a part: every key has a default.
    Settings: ClassVar[type] = NoConfig

    def __init__(self, context: Context) -> None:
        """Keep what it was given; nothing is touched yet."""
        self.context = context

    async def checkups(self, scope: Scope) -> Sequence[Checkup]:
        """Say how what it needs of this machine, or of an account, stands (``jobman doctor``).

        Asked all at once, each backend with a limit of half a minute; what raises is told. Nothing
        is made in the home, which need not be there.

        Args:
            scope: for what it is to be used.
        """
        del scope
        return ()
