"""``tpu.flags``: the flags of ``gcloud compute tpus … create`` that jobman understands.

Source: gcloud's own definitions of ``tpu-vm create`` and ``queued-resources create``.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import attrs

_DURATION: Final = re.compile(r"(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s?)?")
_UNITS: Final = (86400, 3600, 60, 1)
#: What fits into the API's own numbers: a Duration's seconds, and an int32.
_LONGEST: Final = 315_576_000_000
_GREATEST: Final = 2**31 - 1
_DISK_MODES: Final = {"read-write": "READ_WRITE", "read-only": "READ_ONLY"}
#: Of an instance's text, the first character says what the items are kept apart by.
_DELIMITER: Final = re.compile(r"\^(.+?)\^(.*)", re.DOTALL)


class WrongFlagError(ValueError):
    """A flag that cannot be followed; the message names it and says what to do."""


@attrs.frozen
class Flags:
    """What flags ask for."""

    project: str = ""
    network: str = ""
    subnetwork: str = ""
    internal_ips: bool = False
    queue_count: int | None = None
    range: str = ""
    service_account: str = ""
    scopes: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = attrs.field(factory=dict)
    #: Files to read values of metadata from.
    metadata_from_file: Mapping[str, str] = attrs.field(factory=dict)
    labels: Mapping[str, str] = attrs.field(factory=dict)
    description: str = ""
    #: Each as the API wants it.
    data_disk: tuple[Mapping[str, str], ...] = ()
    shielded_secure_boot: bool = False
    reserved: bool = False
    spot: bool = False
    preemptible: bool = False
    best_effort: bool = False
    guaranteed: bool = False
    reservation_host_project: str = ""
    reservation_host_folder: str = ""
    reservation_host_organization: str = ""
    #: Seconds.
    valid_until_duration: int | None = None
    valid_until_time: datetime | None = None
    #: Seconds.
    valid_after_duration: int | None = None
    valid_after_time: datetime | None = None


def read_flags(items: Sequence[str]) -> Flags:
    """Read flags, ``--name=value`` in one item or in two.

    Raises:
        WrongFlagError: one that is not known, or whose value is not.
    """
    found: dict[str, Any] = {}
    for name, value in _pairs(items):
        known = _ALIASES.get(name, name)
        reader = _READERS.get(known)
        if reader is None:
            raise WrongFlagError(_unknown(name))
        try:
            read = reader(value)
        except ValueError as error:
            raise WrongFlagError(f"--{name}: {error}") from error
        key = known.replace("-", "_")
        before = found.get(key)
        if key in _ADDED and before is not None:
            read = {**before, **read} if isinstance(read, dict) else (*before, *read)
        found[key] = read
    return Flags(**{key: value for key, value in found.items() if key not in _NO_EFFECT})


def _pairs(items: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """Tell flags from their values: a switch has none of its own."""
    rest = list(items)
    while rest:
        item = rest.pop(0)
        name, equals, value = item.removeprefix("--").partition("=")
        if not item.startswith("--") or not name:
            raise WrongFlagError(f"{item!r} is no flag: write one like --network=NAME")
        if re.search(r"\s", name):
            raise WrongFlagError(f"{item!r} is not one flag: write --NAME=VALUE, one in each entry")
        if equals:
            yield name, value
        elif _ALIASES.get(name, name) in _SWITCHES or not rest or rest[0].startswith("--"):
            yield name, None
        else:
            yield name, rest.pop(0)


def _unknown(name: str) -> str:
    if name in _ELSEWHERE:
        return f"--{name}: {_ELSEWHERE[name]}"
    known = sorted(_READERS.keys() - _NO_EFFECT)
    if near := get_close_matches(name, known, n=1):
        return f"unknown flag --{name} (did you mean --{near[0]}?)"
    return f"unknown flag --{name}: jobman understands {', '.join(f'--{flag}' for flag in known)}"


def _text(value: str | None) -> str:
    if not value:
        raise ValueError("it needs a value")
    return value


def _switch(value: str | None) -> bool:
    match (value or "true").lower():
        case "true" | "yes" | "1":
            return True
        case "false" | "no" | "0":
            return False
    raise ValueError(f"{value!r} is neither true nor false")


def _number(value: str | None) -> int:
    text = _text(value)
    # As digits first: Python reads no number that is too long for it.
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(_GREATEST)):
        raise ValueError(f"{text!r} is no whole number up to {_GREATEST}")
    if (number := int(text)) > _GREATEST:
        raise ValueError(f"{text!r} is no whole number up to {_GREATEST}")
    return number


def _list(value: str | None) -> tuple[str, ...]:
    text = _text(value)
    given = _DELIMITER.fullmatch(text)
    delimiter, text = (given[1], given[2]) if given else (",", text)
    return tuple(part for part in text.split(delimiter) if part)


def _map(value: str | None) -> dict[str, str]:
    pairs = {}
    for item in _list(value):
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise ValueError(f"{item!r} is no KEY=VALUE")
        pairs[key.strip()] = text
    return pairs


def _files(value: str | None) -> dict[str, str]:
    files = _map(value)
    for path in files.values():
        if not Path(path).is_absolute():
            raise ValueError(f"{path!r} depends on a folder: write it from / on")
        if not Path(path).is_file():
            raise ValueError(f"there is no file {path!r}")
    return files


def _disk(value: str | None) -> tuple[Mapping[str, str], ...]:
    parts = _map(value)
    unknown = set(parts) - {"source", "mode"}
    mode = _DISK_MODES.get(parts.get("mode", "read-write"))
    if unknown or "source" not in parts or mode is None:
        raise ValueError("write source=DISK,mode=read-write or source=DISK,mode=read-only")
    return ({"source_disk": parts["source"], "mode": mode},)


def _seconds(value: str | None) -> int:
    text = _text(value)
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration: write one like 6h or 1d12h")
    parts = zip(match.groups(), _UNITS, strict=True)
    seconds = sum(_number(part or "0") * unit for part, unit in parts)
    if seconds > _LONGEST:
        raise ValueError(f"{text!r} is longer than the API's longest, 10000 years")
    return seconds


def _moment(value: str | None) -> datetime:
    text = _text(value)
    try:
        # One without a zone is local time, as gcloud has it.
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r} is no time: write one like 2030-01-31T18:00:00Z") from None


_READERS: Final[Mapping[str, Callable[[str | None], Any]]] = {
    "project": _text,
    "network": _text,
    "subnetwork": _text,
    "internal-ips": _switch,
    "queue-count": _number,
    "range": _text,
    "service-account": _text,
    "scopes": _list,
    "tags": _list,
    "metadata": _map,
    "metadata-from-file": _files,
    "labels": _map,
    "description": _text,
    "data-disk": _disk,
    "shielded-secure-boot": _switch,
    "reserved": _switch,
    "spot": _switch,
    "preemptible": _switch,
    "best-effort": _switch,
    "guaranteed": _switch,
    "reservation-host-project": _text,
    "reservation-host-folder": _text,
    "reservation-host-organization": _text,
    "valid-until-duration": _seconds,
    "valid-until-time": _moment,
    "valid-after-duration": _seconds,
    "valid-after-time": _moment,
    # How gcloud itself behaves: nothing of it reaches the API.
    "quiet": _switch,
    "async": _switch,
}
_NO_EFFECT: Final = frozenset({"quiet", "async"})
_SWITCHES: Final = frozenset(name for name, reader in _READERS.items() if reader is _switch)
_ALIASES: Final = {"enable-secure-boot": "shielded-secure-boot"}
#: Flags that may be given more than once.
_ADDED: Final = frozenset({"metadata", "metadata_from_file", "labels", "data_disk", "tags"})
#: What has a key of its own.
_ELSEWHERE: Final = {
    "zone": "say it with tpu.zone",
    "accelerator-type": "say it with tpu.accelerator",
    "type": "say it with tpu.accelerator",
    "topology": "say it with tpu.accelerator",
    "version": "say it with tpu.version",
    "runtime-version": "say it with tpu.version",
    "node-id": "jobman names nodes, after tpu.name",
    "node-prefix": "jobman names nodes, after tpu.name",
    "node-count": "a job has one slice: create several jobs with --count",
}
