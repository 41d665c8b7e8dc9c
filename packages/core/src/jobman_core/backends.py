"""The backends of one home, made when they are first used."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import attrs

from jobman_core.clock import Clock
from jobman_core.interfaces.backend import Backend, Context
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.notifier import Notifier
from jobman_core.interfaces.session import Session
from jobman_core.interfaces.storage import Storage
from jobman_core.models.settings import Settings
from jobman_core.plugins import Plugins

_B = TypeVar("_B", bound=Backend)


@attrs.define
class Backends:
    """Makes each backend once."""

    plugins: Plugins
    home: Path
    home_id: str
    clock: Clock
    settings: Settings
    _made: dict[tuple[str, str], Backend] = attrs.field(factory=dict, init=False)

    def cloud(self, name: str) -> Cloud:
        """Give a cloud."""
        return self._get("cloud", name, Cloud)  # type: ignore[type-abstract]

    def session(self, name: str) -> Session:
        """Give a session backend."""
        return self._get("session", name, Session)  # type: ignore[type-abstract]

    def environment(self, name: str | None) -> Environment | None:
        """Give an environment, where a job has one."""
        if name is None:
            return None
        return self._get("environment", name, Environment)  # type: ignore[type-abstract]

    def storages(self, sections: Iterable[str]) -> list[Storage]:
        """Give those storages that have a section in a job's file."""
        return [
            self._get("storage", name, Storage)  # type: ignore[type-abstract]
            for name in sections
            if self.plugins.has("storage", name)
        ]

    def notifier(self, name: str) -> Notifier:
        """Give a notifier."""
        return self._get("notifier", name, Notifier)  # type: ignore[type-abstract]

    def any(self, kind: str, name: str) -> Backend:
        """Give a backend of whatever kind."""
        return self._get(kind, name, Backend)

    async def aclose(self) -> None:
        """Let go of connections."""
        for backend in self._made.values():
            if isinstance(backend, Cloud):
                await backend.aclose()

    def _get(self, kind: str, name: str, base: type[_B]) -> _B:
        made = self._made.get((kind, name))
        if made is None:
            section = self.settings.backend(kind, name)
            context = Context(self.home, self.home_id, self.clock, section)
            made = self.plugins.get(kind, name, base)(context)
            self._made[kind, name] = made
        assert isinstance(made, base)  # noqa: S101 - the registry checked it
        return made
