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

    #: What bash runs.
    run: Script
    #: What logs and ``show`` call it; it is numbered where it has no name.
    name: Line | None = None
    #: The hosts that run it.
    workers: Workers = Workers((0,))
    #: A failure ends the job as ``PREFIX_FAIL``; else it is told and passed over.
    required: bool = False


#: A list of prefix scripts, or one plain script.
Prefixes = NewType("Prefixes", tuple[PrefixSection, ...])


@attrs.frozen
class PlacePriceSection:
    """``prices.FAMILY.zones.ZONE``, where it is no plain number."""

    #: Of a chip-hour on demand.
    ondemand: Amount | None = None
    #: Of a chip-hour of spot and preemptible slices.
    spot: Amount | None = None


#: What a chip-hour costs in a zone or region: an amount, or a map.
PlacePrice = NewType("PlacePrice", object)


@attrs.frozen
class PriceSection(PlacePriceSection):
    """``prices.FAMILY``, where it is no plain number."""

    #: What differs in zones (``us-central1-b``) and regions (``us-central1``).
    zones: dict[str, PlacePrice] | None = None


#: What a chip-hour of a family costs: an amount, or a map.
Price = NewType("Price", object)


@attrs.frozen
class QueueSection:
    """``job.queue``: where tasks come from."""

    #: A section that says nothing about it is meant.
    enabled: bool = True
    #: The tasks file, looked up from the home, then from the folder of this file.
    config: FilePath | None = None
    #: Scripts that run once on each new slice, before any task.
    prefix: Prefixes | None = None
    #: Without a task for so long, the slice is given back; by default it is kept.
    idle_timeout: Duration | None = None


@attrs.frozen
class NotifySection:
    """``notify`` where it is more than one word: in jobs, tasks files and settings."""

    #: Who is told.
    to: Audience = Audience.CHANNEL
    #: What is told; by default all of it.
    of: tuple[NoticeKind, ...] = tuple(NoticeKind)


@attrs.frozen
class JobSection:
    """``job``: what the job is, and how it goes on and ends."""

    #: What the job is called; a suffix makes it unique.
    name: Line
    #: The environment that commands run in: ``venv``, ``conda``, ``docker`` or of a plugin.
    env_type: Line | None = None
    #: ``true``: get another slice when this one is lost, and start a failed command again;
    #: ``always``: after success too; ``false``: the job ends with its first interruption.
    loop: Loop = Loop.NEVER
    #: How often a command that fails is started again, where ``loop`` is set.
    max_restarts: Count = Count(3)
    #: What becomes of the slice when the command has ended; one that is kept costs.
    on_end: OnEnd = OnEnd.KEEP
    #: The user of the hosts; by default OpenSSH chooses.
    remote_user: UserName | None = None
    #: What makes the names unique: ``auto`` (the smallest free number), a number or a word.
    worker_num: Suffix | None = None
    #: Where the controller lives: ``tmux``, ``screen``, ``process``, ``shared`` or of a plugin.
    session: Line | None = None
    #: Variables for prefix scripts, tasks and commands.
    environment: Environment = attrs.field(factory=lambda: Environment({}))
    #: Scripts run as ``bash -o pipefail``: a pipe fails when any part of it does.
    pipefail: bool = True
    #: Hosts may be silent for so long under a slice that its cloud calls ready.
    unreachable_timeout: Duration = Duration(600.0)
    #: Take tasks from a tasks file instead of running one command.
    queue: QueueSection | None = None
    #: Scripts that run once on each new slice, before anything else.
    prefix: Prefixes | None = None
    #: Who is told of what happens to this job.
    notify: NotifyRule | None = None


@attrs.frozen
class TpuSection:
    """``tpu``: the slice to get."""

    #: The type and size of the slice.
    accelerator: AcceleratorName
    #: ``gcp``, ``local`` (this machine) or of a plugin; by default that of the settings, else
    #: ``gcp``.
    cloud: Line | None = None
    #: What the slice is called at the cloud; by default like the job.
    name: Line | None = None
    #: The zone to ask first.
    zone: Line | None = None
    #: Further zones to try, in this order.
    zones: tuple[Line, ...] = ()
    #: The runtime of the hosts; by default the usual one of the accelerator.
    version: Line | None = None
    #: ``spot`` and ``preemptible`` cost less and can be taken away at any time.
    pricing: typing.Literal["spot", "preemptible", "ondemand"] = "ondemand"
    #: How the cloud is asked: for the node itself, or by a queued resource that waits.
    allocation_mode: typing.Literal["tpu-vm", "queued-resources"] = "tpu-vm"


@attrs.frozen
class TpuOptions:
    """The rest of ``tpu``, for a cloud that gives it no shape of its own."""

    #: The cloud project; by default that of the settings, else of the account.
    project: Line | None = None
    #: Further flags of gcloud's own commands.
    flags: tuple[str, ...] | None = None
    #: Network tags of the hosts.
    tags: tuple[str, ...] | None = None
    #: Metadata of the hosts.
    metadata: dict[str, str] | None = None
    #: What each host runs as root when it starts.
    startup_script: Script | None = None


@attrs.frozen
class ReapPlaceSection:
    """One entry of ``reap.places``."""

    #: The zone that is looked at.
    zone: ZoneName
    #: By default the account's.
    project: Line | None = None
    #: By default ``gcp``.
    cloud: Line | None = None


#: A list of such, or of plain names of zones.
ReapPlaces = NewType("ReapPlaces", tuple[ReapPlaceSection, ...])


@attrs.frozen
class ReapSection:
    """``reap`` of the lab's settings."""

    #: Zones to look at besides those where this home has had slices.
    places: ReapPlaces = ReapPlaces(())
    #: Something is dead for so long before it is deleted; by default 15 minutes.
    grace: Duration | None = None
    #: Delete what this home did not make, too.
    all: bool | None = None
    #: Names, with ``*`` and ``?``, of what is never deleted.
    keep: tuple[Line, ...] = ()
    #: Names, with ``*`` and ``?``, of what is not even told of.
    ignore: tuple[Line, ...] = ()
    #: Ids that this home had before its database was lost.
    lost_homes: tuple[Line, ...] = ()


@attrs.frozen
class CommandSection:
    """``command``: what the job runs, where it takes no tasks from a queue."""

    #: What bash runs.
    cmd: Script
    #: The hosts that run it.
    workers: Workers = Workers("all")


@attrs.frozen
class CodeSection:
    """``code``: a folder of this machine that hosts get; of tasks too."""

    #: The folder of this machine that hosts get a copy of.
    path: FilePath
    #: What stays behind: patterns as in a ``.gitignore``.
    exclude: tuple[Pattern, ...] = ()
    #: Where it is put, below the home folder of the host; by default the folder's name.
    workdir: WorkFolder | None = None


@attrs.frozen
class JobCodeSection(CodeSection):
    """``code``: a folder of this machine that hosts get."""

    #: Written by jobman into the files of its jobs: which copy is theirs.
    snapshot: Snapshot | None = None


@attrs.frozen
class CacheSection:
    """``gcsfuse.cache``: how files of the bucket are kept on the hosts."""

    #: The folder of the hosts that holds the cache.
    dir: Line | None = None
    #: Seconds for which metadata are good; -1: for ever.
    metadata_ttl_secs: int | None = None
    #: Size of the cache of attributes; -1: no limit.
    stat_cache_max_size_mb: int | None = None
    #: Size of the cache of types; -1: no limit.
    type_cache_max_size_mb: int | None = None
    #: Size of the cache of files; -1: no limit.
    file_cache_max_size_mb: int | None = None
    #: Fetch a whole file when a part of it is read.
    cache_file_for_range_read: bool | None = None
    #: Fetch large files over several connections.
    enable_parallel_downloads: bool | None = None
    #: A script that runs before the bucket is mounted.
    prefix: Script | None = None


@attrs.frozen
class MountSection:
    """One entry of ``gcsfuse.extra_mounts``."""

    #: Where it is mounted on the hosts.
    mount_path: Line
    #: By default the bucket of the section itself.
    bucket_name: Line | None = None
    #: How it is cached.
    cache: CacheSection | None = None


@attrs.frozen
class GcsfuseSection:
    """``gcsfuse``: buckets that hosts mount."""

    #: The bucket.
    bucket_name: Line
    #: Where it is mounted on the hosts.
    mount_path: Line
    #: How it is cached.
    cache: CacheSection | None = None
    #: Further mounts.
    extra_mounts: tuple[MountSection, ...] = ()


@attrs.frozen
class IdentitySection:
    """One entry of ``ssh.identities``."""

    #: The private key, which hosts get a copy of.
    private_key: FilePath
    #: The public key that belongs to it.
    public_key: FilePath | None = None
    #: What is added to the hosts' ``~/.ssh/config``.
    config_entry: str | None = None


@attrs.frozen
class SshSection:
    """``ssh``: how hosts are reached, and which keys they get."""

    #: The key to log in with.
    private_key: FilePath | None = None
    #: Keys that the hosts get, to go on from there.
    identities: tuple[IdentitySection, ...] = ()
    #: The port of the hosts.
    port: int | None = None
    #: OpenSSH's own settings, by name.
    options: Pairs | None = None


@attrs.frozen
class DockerSection:
    """``docker``: the container that commands run in."""

    #: The image of the container.
    image: Line
    #: Variables for the container.
    env_vars: Pairs | None = None
    #: Folders of the host: ``/folder``, or ``/folder:/folder/inside``.
    mount_dirs: tuple[str, ...] = ()
    #: The folder that commands start in.
    workdir: Line | None = None
    #: Further flags of ``docker run``.
    flags: tuple[str, ...] = ()


@attrs.frozen
class CondaSection:
    """``conda``: the environment that commands run in."""

    #: The name of the environment.
    name: Line
    #: An ``environment.yml`` of this machine.
    config_file: FilePath | None = None


@attrs.frozen
class VenvSection:
    """``venv``: the environment that commands run in."""

    #: The folder of the environment, below the home folder of the host.
    name: Line
    #: The requirements of pip, a file of this machine.
    requirements_file: FilePath | None = None
    #: Which Python: ``3.10``, ``python3.10`` or an absolute path of the hosts.
    python: str | None = None


@attrs.frozen(kw_only=True)
class TaskDefaults:
    """What a task, a group of tasks, or all of a tasks file may say."""

    #: The repository to check out, by its key below ``repos``.
    repo: Line | None = None
    #: A folder of this machine to ship, instead of a repository.
    code: CodeSection | None = None
    #: The branch; by default the repository's, else ``main``.
    branch: GitName | None = None
    #: Where the code is put, below the home folder of the host; by default the key of the
    #: repository.
    workdir: WorkFolder | None = None
    #: The environment to run in, instead of that of the job.
    env: Line | None = None
    #: Run in this zone alone; by default in any.
    zone: Line | None = None
    #: How many jobs may run it at once; the first success makes it DONE.
    max_jobs: Positive = Positive(1)
    #: Attempts in all, those that were interrupted not counted; 0 is one as well.
    max_retries: Count = Count(3)
    #: Tasks that must be DONE before.
    depends_on: TaskIds = TaskIds(())
    #: The hosts that run it.
    workers: Workers = Workers((0,))
    #: Leave it out of ``jobman queue``, unless ``--show-all``.
    hide: bool = False


@attrs.frozen(kw_only=True)
class TaskSection(TaskDefaults):
    """One entry of ``tasks``, with what it inherits."""

    #: What it is called, once in the file.
    id: TaskId
    #: What bash runs.
    run: Script


@attrs.frozen
class RepoSection:
    """One entry of ``repos``."""

    #: Where git fetches it from.
    url: GitName
    #: The branch; by default ``main``.
    branch: GitName | None = None


#: One entry of ``repos``: a URL, or a map.
RepoEntry = NewType("RepoEntry", object)


@attrs.frozen(kw_only=True)
class GroupSection(TaskDefaults):
    """The tasks for one type of accelerator."""

    #: The tasks.
    tasks: tuple[TaskSection, ...] = ()


@attrs.frozen(kw_only=True)
class TasksFile:
    """A tasks file; its reader goes through it by hand, since tasks inherit."""

    #: Repositories that tasks may check out, by a key.
    repos: dict[str, RepoEntry] | None = None
    #: What holds for all tasks that do not say otherwise.
    defaults: TaskDefaults | None = None
    #: Tasks, by the type of accelerator that they run on.
    accelerators: dict[AcceleratorName, GroupSection | None] | None
    #: Who is told of what happens to the tasks.
    notify: NotifyRule | None = None


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
    if isinstance(value, Workers):
        return value.indices
    cls: type = type(value)
    if attrs.has(cls):
        fields = {a.name: getattr(value, a.name) for a in attrs.fields(cls)}
        return {name: to_plain(item) for name, item in fields.items() if item is not None}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
