"""The ``tpu`` section: the places to get a slice from, checked by their cloud."""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from jobman_core.config import values
from jobman_core.config.nodes import Map, Scalar, is_null
from jobman_core.config.reading import Reading
from jobman_core.config.sections import TpuOptions, TpuSection, to_plain
from jobman_core.config.structure import structure
from jobman_core.interfaces.backend import NoConfig
from jobman_core.interfaces.cloud import Cloud
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.slice import SliceRequest

#: The cloud of a file, and of settings, that name none.
DEFAULT_CLOUD: Final = "gcp"
_CORE_KEYS: Final = frozenset(a.name for a in attrs.fields(TpuSection))


def cloud_of(reading: Reading) -> str:
    """Give the name of the cloud that a job file chooses, or is given by the settings."""
    tpu = reading.tree.get("tpu")
    node = tpu.get("cloud") if isinstance(tpu, Map) else None
    if isinstance(node, Scalar) and not node.null:
        return node.text
    return reading.around.settings.cloud or DEFAULT_CLOUD


def planned_hosts(reading: Reading) -> int | None:
    """Tell how many hosts the slice will have; None: its accelerator is faulty."""
    tpu = reading.tree.get("tpu")
    node = tpu.get("accelerator") if isinstance(tpu, Map) else None
    try:
        return Accelerator.parse(node.text).hosts if isinstance(node, Scalar) else None
    except ValueError:
        # Told of where the section is read.
        return None


def read_places(reading: Reading) -> tuple[SliceRequest, ...]:
    """Give the places to get a slice from, the first wanted first; none if there are faults."""
    faults = reading.faults
    section = reading.section("tpu")
    if section is None:
        faults.add(("tpu",), "it is missing: write `tpu:` with `accelerator:` and `zone:` in it")
        return ()
    name = cloud_of(reading)
    cloud = reading.around.find("cloud", name, Cloud)  # type: ignore[type-abstract]
    if cloud is None:
        faults.add(("tpu", "cloud"), reading.around.plugins.missing("cloud", name))
    options_shape = TpuOptions if cloud is None or cloud.Config is NoConfig else cloud.Config
    known = _CORE_KEYS | {a.name for a in attrs.fields(options_shape)}
    for key in section:
        if key not in known:
            faults.unknown(("tpu", key), sorted(known), place=section.at.get(key))
    core = section.without(set(section) - _CORE_KEYS)
    shape = structure(core, TpuSection, ("tpu",), faults)
    if not _has_zone(section) and (cloud is None or cloud.default_zone is None):
        faults.add(("tpu", "zone"), "it is missing: write `zone:` with its value")
    rest = section.without({key for key in section if key in _CORE_KEYS or key not in known})
    options = _options(reading, rest, options_shape)
    if shape is None:
        return ()
    accelerator = Accelerator.parse(shape.accelerator)
    zones = _zones(reading, shape, cloud)
    if not zones or options is None:
        return ()
    requests = [
        SliceRequest(
            cloud=name,
            accelerator=accelerator.name,
            zone=zone,
            pricing=shape.pricing,
            mode=shape.allocation_mode,
            runtime=shape.version or accelerator.runtime,
            options=options,
        )
        for zone in zones
    ]
    if cloud is not None:
        _ask(reading, cloud, requests)
    return tuple(requests)


def _has_zone(tpu: Map) -> bool:
    return any(key in tpu and not is_null(tpu[key]) for key in ("zone", "zones"))


def _options(reading: Reading, section: Map, shape: type) -> Mapping[str, Any] | None:
    """Give the rest of the section as plain data; None if it is faulty."""
    options = structure(section, shape, ("tpu",), reading.faults)
    if options is None:
        return None
    plain = dict(to_plain(options))
    project = reading.around.settings.project
    if project and "project" in {a.name for a in attrs.fields(shape)}:
        plain.setdefault("project", project)
    return plain


def _zones(reading: Reading, shape: TpuSection, cloud: type[Cloud] | None) -> list[str]:
    """Give all zones, each once."""
    faults = reading.faults
    named = [(("tpu", "zone"), shape.zone)] if shape.zone else []
    named += [(("tpu", "zones", index), zone) for index, zone in enumerate(shape.zones)]  # type: ignore[misc]
    zones: list[str] = []
    for path, zone in named:
        if not values.is_zone(zone):
            faults.add(path, f"{zone!r} is no zone: write one like us-central1-b")
        elif zone not in zones:
            zones.append(zone)
    if not named and cloud is not None and cloud.default_zone is not None:
        return [cloud.default_zone]
    return zones


def _ask(reading: Reading, cloud: type[Cloud], requests: list[SliceRequest]) -> None:
    """Let the cloud say what it would refuse."""
    checker = reading.around.make("cloud", cloud)
    for index, request in enumerate(requests):
        for problem in checker.check(request):
            path = ("tpu", problem.key)
            if problem.key == "zone" and index:
                reading.faults.add(("tpu", "zones"), f"{request.zone}: {problem.message}")
            else:
                reading.faults.add(path, problem.message)
