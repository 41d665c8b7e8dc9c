"""The settings files: text to :class:`~jobman_core.config.settings.Settings`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from jobman_core.config.faults import Faults
from jobman_core.config.nodes import Map, Node, is_null, locate
from jobman_core.config.places import DEFAULT_CLOUD
from jobman_core.config.sections import (
    Currency,
    Day,
    Line,
    Price,
    ReapSection,
    TimeZone,
    to_plain,
)
from jobman_core.config.source import Source, parse_source
from jobman_core.config.structure import structure
from jobman_core.config.text import decode
from jobman_core.errors import ConfigError, Fault
from jobman_core.interfaces.backend import Backend, Duration
from jobman_core.models.notice import NotifyRule
from jobman_core.models.reap import ReapRules
from jobman_core.models.settings import Settings
from jobman_core.plugins import Plugins

#: Sections that hold one section a backend.
BACKENDS: Final = ("clouds", "sessions", "environments", "storages", "stores", "notifiers")
#: What holds for everybody, and nobody may say for oneself: who may act on whose jobs, when a
#: controller counts as lost, and what is deleted.
_SHARED: Final = ("admins", "lease", "beat", "reap")
_Sections = dict[str, dict[str, Any]]


@attrs.frozen
class SettingsFile:
    """What holds for all jobs of a home, unless a file or a flag says otherwise."""

    #: For job files without ``tpu.cloud``; by default ``gcp``.
    cloud: Line | None = None
    #: For job files without ``job.session``; by default tmux where it is installed.
    session: Line | None = None
    #: The cloud project, for job files without ``tpu.project``.
    project: Line | None = None
    #: Users who may act on everybody's jobs; in the lab's file alone.
    admins: tuple[Line, ...] = ()
    #: That times are shown in, like ``Europe/Paris``; by default the machine's.
    time_zone: TimeZone | None = None
    #: What a chip-hour costs, by family (``v6e``): an amount, or a map.
    prices: dict[str, Price] | None = None
    #: The day that the prices are of.
    prices_of: Day | None = None
    #: That the prices are in; by default US dollars.
    currency: Currency | None = None
    #: Who is told of what.
    notify: NotifyRule | None = None
    #: Another name of ``notify``.
    notices: NotifyRule | None = None
    #: A job may wait for its slice for so long before people are told; by default 6 hours.
    stuck_after: Duration | None = None
    #: Without a beat for so long, a controller counts as lost; by default 90 seconds. In the
    #: lab's file alone.
    lease: Duration | None = None
    #: Between two beats of a controller; by default 15 seconds. In the lab's file alone.
    beat: Duration | None = None
    #: What may be done with what is dead at the cloud; in the lab's file alone.
    reap: ReapSection | None = None
    #: Settings of clouds, each by its name.
    clouds: _Sections | None = None
    #: Settings of sessions, each by its name.
    sessions: _Sections | None = None
    #: Settings of environments, each by its name.
    environments: _Sections | None = None
    #: Settings of storages, each by its name.
    storages: _Sections | None = None
    #: Settings of stores, each by its name.
    stores: _Sections | None = None
    #: Settings of notifiers, each by its name.
    notifiers: _Sections | None = None


def read_settings(
    files: Sequence[tuple[Path, bytes]], lab: Path, plugins: Plugins | None = None
) -> Settings:
    """Merge settings files, later ones beating earlier ones, key by key.

    Args:
        files: each with its content.
        lab: the one of them, if it is there, that may say what holds for everybody.
        plugins: give the sections of their backends their shapes; others are kept as written.

    Raises:
        ConfigError: the faults of all files.
    """
    merged: dict[str, Any] = {}
    faults: list[Fault] = []
    #: Where the keys of the heartbeat stand, as far as they are written.
    pulse: Fault | None = None
    for path, content in files:
        try:
            source, values = _read(path, content, lab, plugins)
        except ConfigError as error:
            faults += error.faults
            continue
        _overlay(merged, values)
        for key in ("beat", "lease"):
            if source is not None and key in values:
                pulse = Fault(source.path, *locate(source.root, (key,)), key, "")
    if not faults and pulse is not None:
        faults += _check_pulse(_settings(merged), pulse)
    if faults:
        raise ConfigError(faults)
    return _settings(merged)


def _read(
    path: Path, content: bytes, lab: Path, plugins: Plugins | None
) -> tuple[Source | None, dict[str, Any]]:
    """Give the keys of one file; of one with nothing but comments, none."""
    text = decode(content, path)
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return None, {}
    source = parse_source(text, path)
    faults = Faults(source.path, source.root, source.faults)
    root = _without_empty_sections(source.root)
    shape = structure(root, SettingsFile, (), faults)
    backends = _structure_backends(root, plugins, faults) if plugins is not None else {}
    if path != lab:
        _refuse_shared(root, lab, faults)
    faults.check()
    plain = to_plain(shape)
    assert isinstance(plain, dict)  # noqa: S101 - for the type checker: an attrs class gives one
    if not plain["admins"]:
        del plain["admins"]
    rules = [plain.pop(key) for key in ("notify", "notices") if key in plain]
    if rules:
        # What one says for oneself does not beat what the lab says: it goes with one's own jobs.
        plain["notify" if path == lab else "own_notify"] = NotifyRule.of_data(rules[0])
    for kinds, sections in backends.items():
        plain[kinds].update(sections)
    return source, plain


def _refuse_shared(root: Map, lab: Path, faults: Faults) -> None:
    """Tell of what somebody says for oneself and holds for everybody."""
    for key in _SHARED:
        if key in root and not is_null(root[key]):
            faults.add((key,), f"this holds for everybody: write it into {lab}", place=root.at[key])


def _structure_backends(root: Map, plugins: Plugins, faults: Faults) -> dict[str, Any]:
    """Read the sections of backends that are installed as their ``Settings`` say."""
    found: dict[str, Any] = {}
    for kinds in BACKENDS:
        section, kind = root.get(kinds), kinds.removesuffix("s")
        for name, node in section.items() if isinstance(section, Map) else ():
            if isinstance(node, Map) and plugins.has(kind, name):
                cls = plugins.get(kind, name, Backend).Settings
                settings = structure(node, cls, (kinds, name), faults)
                found.setdefault(kinds, {})[name] = _written(to_plain(settings), node)
    return found


def _written(value: object, node: Node) -> object:
    """Leave out the keys that a file does not say, as another file may."""
    if isinstance(value, dict) and isinstance(node, Map):
        said = {key: child for key, child in node.items() if not is_null(child)}
        return {key: _written(item, said[key]) for key, item in value.items() if key in said}
    return value


def _check_pulse(settings: Settings, place: Fault) -> list[Fault]:
    """Make sure that a controller can miss a beat."""
    if settings.beat <= 0:
        return [attrs.evolve(place, message="a beat must be more than 0: the default is 15s")]
    if settings.lease < 2 * settings.beat:
        told = f"a lease ({settings.lease:g}s) must outlast two beats ({settings.beat:g}s)"
        return [attrs.evolve(place, message=f"{told}: change one of them")]
    return []


def _without_empty_sections(root: Map) -> Map:
    """Let ``clouds: {local: null}`` say as much as nothing."""
    fresh = root.without(())
    for kind in BACKENDS:
        section: Node | None = root.get(kind)
        if isinstance(section, Map):
            fresh[kind] = section.without([name for name, node in section.items() if is_null(node)])
    return fresh


def _overlay(below: dict[str, Any], above: dict[str, Any]) -> None:
    for key, value in above.items():
        old = below.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            _overlay(old, value)
        else:
            below[key] = value


def _settings(merged: dict[str, Any]) -> Settings:
    values = {key: value for key, value in merged.items() if key not in BACKENDS}
    if "reap" in values:
        values["reap"] = _rules(**values["reap"])
    values["backends"] = {kind: merged[kind] for kind in BACKENDS if kind in merged}
    return Settings(**{**values, "admins": tuple(values.get("admins", ()))})


def _rules(places: Sequence[Mapping[str, str]], **rest: Any) -> ReapRules:  # noqa: ANN401 - fields
    """Give the rules of reaping, with what a place is where it does not say so."""
    triples = [(p.get("cloud", DEFAULT_CLOUD), p.get("project", ""), p["zone"]) for p in places]
    return ReapRules(places=triples, **rest)
