"""Find, load, isolate and list plugins; look up by name what they bring.

Entry points are loaded one by one, and what fails becomes a row of :meth:`Plugins.rows` instead of
a traceback. Registration hooks are called plugin by plugin, so that each backend has a known
provider and a second one of the same name is refused.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs
import pluggy

from jobman_core import hookspecs
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Backend

GROUP: Final = "jobman"
BUILTIN: Final = "jobman-core"

#: kind: the hook that registers it.
KINDS: Final = {
    "cloud": "jobman_clouds",
    "session": "jobman_sessions",
    "environment": "jobman_environments",
    "storage": "jobman_storages",
    "store": "jobman_stores",
    "notifier": "jobman_notifiers",
}

#: What to install for the backends that job files of v3 and the documentation name.
KNOWN_DISTRIBUTIONS: Final = {
    ("cloud", "gcp"): "jobman-gcp",
    ("session", "tmux"): "jobman-tmux",
    ("session", "screen"): "jobman-screen",
    ("environment", "venv"): "jobman-env-venv",
    ("environment", "conda"): "jobman-env-conda",
    ("environment", "docker"): "jobman-env-docker",
    ("storage", "gcsfuse"): "jobman-storage-gcsfuse",
    ("notifier", "email"): "jobman-notify-email",
}

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Builtins = Callable[[], Mapping[str, object]]
_B = TypeVar("_B", bound=Backend)
_log = logging.getLogger(__name__)


@attrs.frozen
class PluginRow:
    """One line of ``jobman plugins``."""

    kind: str
    name: str
    distribution: str | None
    version: str | None
    error: str | None = None


@attrs.frozen
class _Provider:
    distribution: str
    version: str | None


class Plugins:
    """The plugins of one process, with pluggy's manager behind a typed face."""

    def __init__(self, builtins: Builtins = dict, *, disabled: str = "") -> None:
        """Say what to load; that is done when a plugin is first asked for.

        Args:
            builtins: gives the modules that come with the core, by name.
            disabled: names that are switched off, with commas between (JOBMAN_DISABLED_PLUGINS).
        """
        self._builtins = builtins
        self._disabled = {name.strip() for name in disabled.split(",") if name.strip()}
        self._registry: dict[tuple[str, str], tuple[type[Backend], _Provider]] = {}
        self._failed: list[PluginRow] = []
        self._loaded = False
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)

    @classmethod
    def from_environment(cls, builtins: Builtins) -> "Plugins":
        """Leave out what the process's environment switches off."""
        return cls(builtins, disabled=os.environ.get("JOBMAN_DISABLED_PLUGINS", ""))

    def _load_all(self) -> None:
        """Load everything, at the first look: commands that only read the store need none of it."""
        if self._loaded:
            return
        self._loaded = True
        import importlib.metadata

        version = importlib.metadata.version(BUILTIN)
        for name, module in self._builtins().items():
            self.add(name, module, distribution=BUILTIN, version=version)
        for point in importlib.metadata.entry_points(group=GROUP):
            self._load(point)

    def judge(self, hook_name: str, **arguments: object) -> tuple[str, Any] | None:
        """Ask plugin by plugin for a judgement: the first result, and who gave it.

        One that raises is logged and passed over: a plugin cannot keep jobs from running.
        """
        for name, result in self._ask(hook_name, arguments):
            if result is not None:
                return name, result
        return None

    async def tell(self, hook_name: str, **arguments: object) -> None:
        """Tell every plugin of an event, in a thread; failures are logged and contained."""
        self._load_all()
        if getattr(self._manager.hook, hook_name).get_hookimpls():
            await asyncio.to_thread(list, self._ask(hook_name, arguments))

    def _ask(self, hook_name: str, arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        self._load_all()
        caller = getattr(self._manager.hook, hook_name)
        for impl in reversed(caller.get_hookimpls()):
            try:
                result = impl.function(*(arguments[name] for name in impl.argnames))
            except Exception:  # noqa: BLE001 - any plugin, any fault
                _log.exception("plugin %s failed in %s", impl.plugin_name, hook_name)
                continue
            yield impl.plugin_name, result

    def add(
        self, name: str, plugin: object, *, distribution: str, version: str | None = None
    ) -> None:
        """Register one plugin and what it brings; what fails becomes a row."""
        self._load_all()
        if name in self._disabled:
            return
        provider = _Provider(distribution, version)
        try:
            self._manager.register(plugin, name)
            self._manager.check_pending()
        except Exception as error:  # noqa: BLE001 - any plugin, any fault
            self._fail("plugin", name, provider, error)
            if self._manager.has_plugin(name):
                self._manager.unregister(name=name)
            return
        for kind, hook_name in KINDS.items():
            self._collect(kind, hook_name, name, plugin, provider)

    def names(self, kind: str) -> list[str]:
        """Give the names of all backends of a kind."""
        return sorted(name for k, name in self._backends if k == kind)

    def has(self, kind: str, name: str) -> bool:
        """Tell whether a backend is there."""
        return (kind, name) in self._backends

    @property
    def _backends(self) -> Mapping[tuple[str, str], tuple[type[Backend], _Provider]]:
        """What all plugins together bring."""
        self._load_all()
        return self._registry

    def get(self, kind: str, name: str, base: type[_B]) -> type[_B]:
        """Look up what YAML calls a backend.

        Raises:
            InvalidInputError: it is not installed; the message says what to install.
        """
        found = self._backends.get((kind, name))
        if found is None or not issubclass(found[0], base):
            raise InvalidInputError(self.missing(kind, name))
        return found[0]

    def missing(self, kind: str, name: str) -> str:
        """Say that a backend is not there, and what to do."""
        for row in self._failed:
            if row.name == name:
                return f"the plugin for {kind} {name!r} failed to load: {row.error}"
        distribution = KNOWN_DISTRIBUTIONS.get((kind, name))
        have = ", ".join(self.names(kind)) or "none"
        if distribution:
            return f"{kind} {name!r} is not installed: install {distribution} (installed: {have})"
        return f"no {kind} is called {name!r}: use one of {have}, or install a plugin that has it"

    def rows(self) -> list[PluginRow]:
        """List every backend, and every plugin that failed and why."""
        rows = [
            PluginRow(kind, name, provider.distribution, provider.version)
            for (kind, name), (_, provider) in sorted(self._backends.items())
        ]
        off = [PluginRow("plugin", name, None, None, "switched off") for name in self._disabled]
        return [*rows, *self._failed, *sorted(off, key=lambda row: row.name)]

    def _load(self, point: "EntryPoint") -> None:
        if point.name in self._disabled:
            return
        dist = point.dist
        provider = _Provider(dist.name if dist else "?", dist.version if dist else None)
        try:
            plugin = point.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any plugin, any fault
            self._fail("plugin", point.name, provider, error)
            return
        self.add(point.name, plugin, distribution=provider.distribution, version=provider.version)

    def _collect(
        self, kind: str, hook_name: str, name: str, plugin: object, provider: _Provider
    ) -> None:
        """Ask one plugin what it brings of one kind."""
        caller = getattr(self._manager.hook, hook_name)
        for impl in caller.get_hookimpls():
            if impl.plugin is not plugin:
                continue
            try:
                classes = list(impl.function() or ())
            except Exception as error:  # noqa: BLE001 - any plugin, any fault
                self._fail(kind, name, provider, error)
                continue
            for cls in classes:
                self._register(kind, cls, provider)

    def _register(self, kind: str, cls: Any, provider: _Provider) -> None:  # noqa: ANN401
        name = getattr(cls, "name", None)
        if not isinstance(cls, type) or not issubclass(cls, Backend) or not isinstance(name, str):
            self._fail(kind, repr(cls), provider, TypeError("not a backend class with a name"))
            return
        taken = self._registry.get((kind, name))
        if taken is not None:
            reason = f"{kind} {name!r} comes from {taken[1].distribution} already"
            self._fail(kind, name, provider, ValueError(reason))
            return
        self._registry[kind, name] = (cls, provider)

    def _fail(self, kind: str, name: str, provider: _Provider, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        _log.debug("plugin %s failed", name, exc_info=error)
        self._failed.append(PluginRow(kind, name, provider.distribution, provider.version, text))
