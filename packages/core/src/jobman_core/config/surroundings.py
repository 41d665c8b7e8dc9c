"""What a job file is read against: the home, the plugins, the settings, the environment."""

import os
from collections.abc import Mapping
from typing import TypeVar

import attrs

from jobman_core.clock import Clock, SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Backend, Context
from jobman_core.models.settings import Settings
from jobman_core.plugins import Plugins

_B = TypeVar("_B", bound=Backend)


def _environ() -> Mapping[str, str]:
    return dict(os.environ)


@attrs.frozen
class Surroundings:
    """All that the meaning of a job file depends on besides its text."""

    home: Home
    plugins: Plugins
    settings: Settings = attrs.field(factory=Settings)
    #: What ``${oc.env:NAME}`` reads.
    environ: Mapping[str, str] = attrs.field(factory=_environ, repr=False)
    #: Backends that only check a file have no use for it.
    home_id: str = ""
    clock: Clock = attrs.field(factory=SystemClock)

    def find(self, kind: str, name: str, base: type[_B]) -> type[_B] | None:
        """Look up a backend; None: it is not installed."""
        return self.plugins.get(kind, name, base) if self.plugins.has(kind, name) else None

    def make(self, kind: str, cls: type[_B]) -> _B:
        """Make a backend that is only asked to check something."""
        settings = self.settings.backend(kind, cls.name)
        return cls(Context(self.home.root, self.home_id, self.clock, settings))
