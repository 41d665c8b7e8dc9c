"""The shapes of a job file's sections: what each key is, and what it is without being written.

The sources of the keys are Jobman v3's own files and the contract's table of new keys.
"""

import functools
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NewType, Union

import attrs

from jobman_core.interfaces.backend import Count, Duration
from jobman_core.models.job import Loop, OnEnd
from jobman_core.models.notice import Audience, NoticeKind, NotifyRule
from jobman_core.models.task import Workers

#: One line of text that is not empty.
Line = NewType("Line", str)
#: The name of a zone.
ZoneName = NewType("ZoneName", str)
#: A shell script: only its ``${section.key}`` and ``${oc.env:…}`` are ours.
Script = NewType("Script", str)
#: A file on this machine, absolute once it was looked up.
FilePath = NewType("FilePath", str)
#: Names of shell variables and their values.
Environment = NewType("Environment", dict[str, str])
#: A TPU type that there is.
AcceleratorName = NewType("AcceleratorName", str)
#: A name that a user of a host may have.
UserName = NewType("UserName", str)
#: What can make a name unique: ``auto``, a number or a word.
Suffix = NewType("Suffix", str)
#: A whole number, 1 or more.
Positive = NewType("Positive", int)
#: What a task is called: any text that fits into one line of 200 characters.
TaskId = NewType("TaskId", str)
#: One task id, or a list of them.
TaskIds = NewType("TaskIds", tuple[str, ...])
#: Something that is handed to git, and must not look like one of its options.
GitName = NewType("GitName", str)
#: A folder below the home folder of a host.
WorkFolder = NewType("WorkFolder", str)
#: A pattern as in a ``.gitignore``.
Pattern = NewType("Pattern", str)
#: What was packed of a folder: the hash of an archive.
Snapshot = NewType("Snapshot", str)
#: A time zone of the IANA data base.
TimeZone = NewType("TimeZone", str)
#: Money, none or more.
Amount = NewType("Amount", float)
#: A day, like ``2026-12-01``.
Day = NewType("Day", str)
#: What money is counted in, like ``USD``.
Currency = NewType("Currency", str)
#: ``KEY: value`` or a list of ``KEY=VALUE``.
Pairs = NewType("Pairs", dict[str, str])


@attrs.frozen
class PrefixSection:
    """One script that runs once on each new slice."""

    run: Script
    name: Line | None = None
    workers: Workers = Workers((0,))
    required: bool = False


#: A list of prefix scripts, or one plain script.
Prefixes = NewType("Prefixes", tuple[PrefixSection, ...])


@attrs.frozen
class PlacePriceSection:
    """``prices.FAMILY.zones.ZONE``, where it is no plain number."""

    ondemand: Amount | None = None
    spot: Amount | None = None


#: What a chip-hour costs in a zone or region: an amount, or a map.
PlacePrice = NewType("PlacePrice", object)


@attrs.frozen
class PriceSection(PlacePriceSection):
    """``prices.FAMILY``, where it is no plain number."""

    zones: dict[str, PlacePrice] | None = None


#: What a chip-hour of a family costs: an amount, or a map.
Price = NewType("Price", object)


@attrs.frozen
class QueueSection:
    """``job.queue``."""

    #: A section that says nothing about it is meant.
    enabled: bool = True
    config: FilePath | None = None
    prefix: Prefixes | None = None
    idle_timeout: Duration | None = None


@attrs.frozen
class NotifySection:
    """``notify`` where it is more than one word: in jobs, tasks files and settings."""

    to: Audience = Audience.CHANNEL
    of: tuple[NoticeKind, ...] = tuple(NoticeKind)


@attrs.frozen
class JobSection:
    """``job``."""

    name: Line
    env_type: Line | None = None
    loop: Loop = Loop.NEVER
    max_restarts: Count = Count(3)
    on_end: OnEnd = OnEnd.KEEP
    remote_user: UserName | None = None
    worker_num: Suffix | None = None
    session: Line | None = None
    environment: Environment = attrs.field(factory=lambda: Environment({}))
    pipefail: bool = True
    unreachable_timeout: Duration = Duration(600.0)
    queue: QueueSection | None = None
    prefix: Prefixes | None = None
    notify: NotifyRule | None = None


@attrs.frozen
class TpuSection:
    """``tpu``, as far as it is the core's own."""

    accelerator: AcceleratorName
    cloud: Line | None = None
    name: Line | None = None
    zone: Line | None = None
    zones: tuple[Line, ...] = ()
    version: Line | None = None
    pricing: typing.Literal["spot", "preemptible", "ondemand"] = "ondemand"
    allocation_mode: typing.Literal["tpu-vm", "queued-resources"] = "tpu-vm"


@attrs.frozen
class TpuOptions:
    """The rest of ``tpu``, for a cloud that gives it no shape of its own."""

    project: Line | None = None
    flags: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    metadata: dict[str, str] | None = None
    startup_script: Script | None = None


@attrs.frozen
class ReapPlaceSection:
    """One entry of ``reap.places``."""

    zone: ZoneName
    project: Line | None = None
    cloud: Line | None = None


#: A list of such, or of plain names of zones.
ReapPlaces = NewType("ReapPlaces", tuple[ReapPlaceSection, ...])


@attrs.frozen
class ReapSection:
    """``reap`` of the lab's settings."""

    places: ReapPlaces = ReapPlaces(())
    grace: Duration | None = None
    all: bool | None = None
    keep: tuple[Line, ...] = ()
    ignore: tuple[Line, ...] = ()
    lost_homes: tuple[Line, ...] = ()


@attrs.frozen
class CommandSection:
    """``command``."""

    cmd: Script
    workers: Workers = Workers("all")


@attrs.frozen
class CodeSection:
    """``code``, of tasks too."""

    path: FilePath
    exclude: tuple[Pattern, ...] = ()
    #: None: the folder's name.
    workdir: WorkFolder | None = None


@attrs.frozen
class JobCodeSection(CodeSection):
    """``code`` of a job file."""

    #: Written into a job's own file.
    snapshot: Snapshot | None = None


@attrs.frozen
class CacheSection:
    """``gcsfuse.cache``."""

    dir: Line | None = None
    metadata_ttl_secs: int | None = None
    stat_cache_max_size_mb: int | None = None
    type_cache_max_size_mb: int | None = None
    file_cache_max_size_mb: int | None = None
    cache_file_for_range_read: bool | None = None
    enable_parallel_downloads: bool | None = None
    prefix: Script | None = None


@attrs.frozen
class MountSection:
    """One entry of ``gcsfuse.extra_mounts``."""

    mount_path: Line
    #: None: the section's own.
    bucket_name: Line | None = None
    cache: CacheSection | None = None


@attrs.frozen
class GcsfuseSection:
    """``gcsfuse``."""

    bucket_name: Line
    mount_path: Line
    cache: CacheSection | None = None
    extra_mounts: tuple[MountSection, ...] = ()


@attrs.frozen
class IdentitySection:
    """One entry of ``ssh.identities``."""

    private_key: FilePath
    public_key: FilePath | None = None
    config_entry: str | None = None


@attrs.frozen
class SshSection:
    """``ssh``."""

    private_key: FilePath | None = None
    identities: tuple[IdentitySection, ...] = ()
    port: int | None = None
    #: OpenSSH's own settings, by name.
    options: Pairs | None = None


@attrs.frozen
class DockerSection:
    """``docker``."""

    image: Line
    env_vars: Pairs | None = None
    mount_dirs: tuple[str, ...] = ()
    workdir: Line | None = None
    flags: tuple[str, ...] = ()


@attrs.frozen
class CondaSection:
    """``conda``."""

    name: Line
    config_file: FilePath | None = None


@attrs.frozen
class VenvSection:
    """``venv``."""

    name: Line
    requirements_file: FilePath | None = None
    python: str | None = None


@attrs.frozen(kw_only=True)
class TaskDefaults:
    """What a task, a group of tasks, or all of a tasks file may say."""

    repo: Line | None = None
    code: CodeSection | None = None
    branch: GitName | None = None
    workdir: WorkFolder | None = None
    env: Line | None = None
    zone: Line | None = None
    max_jobs: Positive = Positive(1)
    max_retries: Count = Count(3)
    depends_on: TaskIds = TaskIds(())
    workers: Workers = Workers((0,))
    hide: bool = False


@attrs.frozen(kw_only=True)
class TaskSection(TaskDefaults):
    """One entry of ``tasks``, with what it inherits."""

    id: TaskId
    run: Script


@attrs.frozen
class RepoSection:
    """One entry of ``repos``."""

    url: GitName
    branch: GitName | None = None


#: Sections that belong to plugins, by the kind of backend that has that name; None: no backend.
PLUGIN_SECTIONS: Final[Mapping[str, tuple[str | None, type]]] = {
    "gcsfuse": ("storage", GcsfuseSection),
    "ssh": (None, SshSection),
    "docker": ("environment", DockerSection),
    "conda": ("environment", CondaSection),
    "venv": ("environment", VenvSection),
}

#: Sections that are the core's own.
CORE_SECTIONS: Final[Mapping[str, type]] = {
    "job": JobSection,
    "tpu": TpuSection,
    "command": CommandSection,
    "code": JobCodeSection,
}

#: The mail settings of an old version of v3: accepted, and of no effect.
MAIL_SECTION: Final = "brevo_email"

_Keys = tuple[str, ...]


@functools.cache
def keys_of_kind(cls: type, kind: object, path: _Keys = ()) -> frozenset[_Keys]:
    """Find the keys of a class, and of those below it, whose values are of a kind.

    Args:
        cls: an attrs class.
        kind: the annotation to look for.
        path: where the class stands.

    Returns:
        paths in which ``*`` stands for any index of a list.
    """
    return frozenset(_keys(cls, kind, path, ()))


def _keys(hint: object, kind: object, path: _Keys, above: tuple[type, ...]) -> Iterator[_Keys]:
    if hint is kind:
        yield path
    elif hint is Prefixes:
        if kind is Script:
            # The plain form is itself a script, and so may an entry be.
            yield from (path, (*path, "*"))
        yield from _keys(PrefixSection, kind, (*path, "*"), above)
    elif isinstance(hint, type) and attrs.has(hint) and hint not in above:
        for name, child in typing.get_type_hints(hint).items():
            yield from _keys(child, kind, (*path, name), (*above, hint))
    elif typing.get_origin(hint) in (Union, types.UnionType):
        for child in typing.get_args(hint):
            yield from _keys(child, kind, path, above)
    elif typing.get_origin(hint) in (list, tuple):
        for child in typing.get_args(hint):
            yield from _keys(child, kind, (*path, "*"), above)


def to_plain(value: object) -> object:
    """Give a structured section as plain data; what is None is left out."""
    cls: type = type(value)
    if attrs.has(cls):
        fields = {a.name: getattr(value, a.name) for a in attrs.fields(cls)}
        return {name: to_plain(item) for name, item in fields.items() if item is not None}
    if isinstance(value, Workers):
        return value.indices
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
