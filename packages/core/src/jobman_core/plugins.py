"""Find, load, isolate and list plugins; look up by name what they bring.

Entry points are loaded one by one, and what fails becomes a row of :meth:`Plugins.rows` instead of
a traceback. Registration hooks are called plugin by plugin, so that each backend has a known
provider and a second one of the same name is refused. All other hooks run in threads of their own
with a time limit: a plugin that hangs holds up neither a controller nor the end of its process.
"""

import asyncio
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final, TypeVar

import attrs
import pluggy

from jobman_core import hookspecs
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Backend
from jobman_core.interfaces.problem import HostProblem

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
    "problem": "jobman_problems",
}

#: Seconds that a judgement may take, or what a plugin does on an event.
LIMIT: Final = 10.0
#: How many events may wait for plugins that are slow.
ROOM: Final = 1000

#: What to install for the backends that job files of v3 and the documentation name.
KNOWN_DISTRIBUTIONS: Final = {
    ("cloud", "gcp"): "jobman-gcp",
    ("session", "tmux"): "jobman-tmux",
    ("session", "screen"): "jobman-screen",
    ("environment", "venv"): "jobman-venv",
    ("environment", "conda"): "jobman-conda",
    ("environment", "docker"): "jobman-docker",
    ("storage", "gcsfuse"): "jobman-gcsfuse",
    ("notifier", "email"): "jobman-notify-email",
}

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Builtins = Callable[[], Mapping[str, object]]
_B = TypeVar("_B", bound=Backend)
_T = TypeVar("_T")
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

    def __init__(
        self, builtins: Builtins = dict, *, disabled: str = "", limit: float = LIMIT
    ) -> None:
        """Say what to load; that is done when a plugin is first asked for.

        Args:
            builtins: gives the modules that come with the core, by name.
            disabled: names that are switched off, with commas between (JOBMAN_DISABLED_PLUGINS).
            limit: seconds that one plugin may take for one judgement or event.
        """
        self._builtins = builtins
        self._disabled = {name.strip() for name in disabled.split(",") if name.strip()}
        self._limit = limit
        self._registry: dict[tuple[str, str], tuple[object, _Provider]] = {}
        self._rows: list[PluginRow] = []
        #: Held by who loads: files are read in threads, and all wait for the whole of it.
        self._loading = threading.RLock()
        self._begun = self._loaded = False
        self._events: deque[tuple[str, Mapping[str, object]]] = deque()
        self._delivering: asyncio.Task[None] | None = None
        #: Calls that took too long, by plugin and hook.
        self._hung: dict[tuple[str, str], Future[object]] = {}
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
        with self._loading:
            # What is being added asks for what is loaded, too.
            if self._begun:
                return
            self._begun = True
            import importlib.metadata

            version = importlib.metadata.version(BUILTIN)
            for name, module in self._builtins().items():
                self.add(name, module, distribution=BUILTIN, version=version)
            for point in importlib.metadata.entry_points(group=GROUP):
                self._load(point)
            self._loaded = True

    async def judge(
        self,
        hook_name: str,
        *,
        expect: tuple[type[_T], ...],
        refuse: Callable[[_T], str] = lambda _: "",
        **arguments: object,
    ) -> tuple[str, _T] | None:
        """Ask plugin by plugin for a judgement: the first that can be used, and who gave it.

        A plugin that raises, takes too long, or answers what it may not is logged and passed
        over: it cannot keep jobs from running.

        Args:
            hook_name: the hook.
            expect: what types an answer may have.
            refuse: says what is wrong with an answer of such a type; "" where nothing is.
            arguments: of the hook.
        """
        for impl in self._impls(hook_name):
            answer = await self._call(impl, hook_name, arguments)
            if answer is None:
                continue
            if not isinstance(answer, expect):
                wrong = f"{type(answer).__name__} is not what this hook gives"
            elif not (wrong := refuse(answer)):
                return impl.plugin_name, answer
            _log.warning("plugin %s passed over in %s: %s", impl.plugin_name, hook_name, wrong)
        return None

    async def tell(self, hook_name: str, **arguments: object) -> None:
        """Hand an event over, at once; plugins hear of events in their order, in the background.

        Failures are logged and contained; so many events that no room is left are dropped.
        """
        if not self._impls(hook_name):
            return
        if len(self._events) >= ROOM:
            _log.warning("plugins are too slow: they will not hear of a %s", hook_name)
            return
        self._events.append((hook_name, arguments))
        if self._delivering is None or self._delivering.done():
            self._delivering = asyncio.create_task(self._deliver())

    def hears(self, hook_name: str) -> bool:
        """Tell whether any plugin implements a hook."""
        return bool(self._impls(hook_name))

    async def settle(self, limit: float) -> None:
        """Wait until plugins have heard of all events, for so many seconds at most."""
        if self._delivering is not None:
            await asyncio.wait((self._delivering,), timeout=limit)

    async def _deliver(self) -> None:
        while self._events:
            hook_name, arguments = self._events.popleft()
            for impl in self._impls(hook_name):
                await self._call(impl, hook_name, arguments)

    def _impls(self, hook_name: str) -> list[pluggy.HookImpl]:
        """Give who implements a hook: who came last is asked first."""
        self._load_all()
        caller: pluggy.HookCaller = getattr(self._manager.hook, hook_name)
        return caller.get_hookimpls()[::-1]

    async def _call(
        self, impl: pluggy.HookImpl, hook_name: str, arguments: Mapping[str, object]
    ) -> object:
        """Call one plugin; None as well where it fails, or takes too long now or since before."""
        who = (impl.plugin_name, hook_name)
        if who in self._hung and not self._hung[who].done():
            _log.debug("plugin %s still hangs in %s: left out", *who)
            return None
        call: Future[object] = Future()
        # So that giving up waiting does not cancel it: it sets its result whenever it ends.
        call.set_running_or_notify_cancel()

        def run() -> None:
            try:
                answer = impl.function(*(arguments[name] for name in impl.argnames))
            except BaseException:  # noqa: BLE001 - any plugin, any fault
                _log.exception("plugin %s failed in %s", *who)
                answer = None
            call.set_result(answer)

        # A daemon, unlike a pool's threads: the process can end without it.
        threading.Thread(target=run, name="-".join(who), daemon=True).start()
        try:
            return await asyncio.wait_for(asyncio.wrap_future(call), self._limit)
        except TimeoutError:
            self._hung[who] = call
            _log.warning(
                "plugin %s takes more than %g s in %s: left out until it is back",
                impl.plugin_name,
                self._limit,
                hook_name,
            )
            return None

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
        before = len(self._rows)
        for kind, hook_name in KINDS.items():
            self._collect(kind, hook_name, name, plugin, provider)
        if len(self._rows) == before:
            # It judges, or hears of events.
            self._rows.append(PluginRow("plugin", name, distribution, version))

    def names(self, kind: str) -> list[str]:
        """Give the names of all backends of a kind."""
        return sorted(name for k, name in self._backends if k == kind)

    def has(self, kind: str, name: str) -> bool:
        """Tell whether a backend is there."""
        return (kind, name) in self._backends

    @property
    def _backends(self) -> Mapping[tuple[str, str], tuple[object, _Provider]]:
        """What all plugins together bring."""
        self._load_all()
        return self._registry

    def get(self, kind: str, name: str, base: type[_B]) -> type[_B]:
        """Look up what YAML calls a backend.

        Raises:
            InvalidInputError: it is not installed; the message says what to install.
        """
        found, _ = self._backends.get((kind, name), (None, None))
        if not isinstance(found, type) or not issubclass(found, base):
            raise InvalidInputError(self.missing(kind, name))
        return found

    def problems(self) -> list[HostProblem]:
        """Give all checks on hosts, the core's own first."""
        return [found for found, _ in self._backends.values() if isinstance(found, HostProblem)]

    def missing(self, kind: str, name: str) -> str:
        """Say that a backend is not there, and what to do."""
        for row in self._rows:
            if row.error and row.name == name:
                return f"the plugin for {kind} {name!r} failed to load: {row.error}"
        distribution = KNOWN_DISTRIBUTIONS.get((kind, name))
        have = ", ".join(self.names(kind)) or "none"
        if distribution:
            return f"{kind} {name!r} is not installed: install {distribution} (installed: {have})"
        return f"no {kind} is called {name!r}: use one of {have}, or install a plugin that has it"

    def rows(self) -> list[PluginRow]:
        """List what plugins bring, those that bring nothing to name, and all that failed."""
        self._load_all()
        off = [PluginRow("plugin", name, None, None, "switched off") for name in self._disabled]
        good = [row for row in self._rows if row.error is None]
        failed = [row for row in self._rows if row.error is not None]
        return [
            *sorted(good, key=lambda row: (row.kind, row.name)),
            *failed,
            *sorted(off, key=lambda row: row.name),
        ]

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
                things = list(impl.function() or ())
            except Exception as error:  # noqa: BLE001 - any plugin, any fault
                self._fail(kind, name, provider, error)
                continue
            for thing in things:
                self._register(kind, thing, provider)

    def _register(self, kind: str, thing: object, provider: _Provider) -> None:
        name = getattr(thing, "name", None)
        if kind == "problem":
            fits, wanted = isinstance(thing, HostProblem), "host problem"
        else:
            fits = isinstance(thing, type) and issubclass(thing, Backend)
            wanted = "backend class"
        if not fits or not isinstance(name, str):
            self._fail(kind, repr(thing), provider, TypeError(f"not a {wanted} with a name"))
            return
        taken = self._registry.get((kind, name))
        if taken is not None:
            reason = f"{kind} {name!r} comes from {taken[1].distribution} already"
            self._fail(kind, name, provider, ValueError(reason))
            return
        self._registry[kind, name] = (thing, provider)
        self._rows.append(PluginRow(kind, name, provider.distribution, provider.version))

    def _fail(self, kind: str, name: str, provider: _Provider, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        _log.debug("plugin %s failed", name, exc_info=error)
        self._rows.append(PluginRow(kind, name, provider.distribution, provider.version, text))
