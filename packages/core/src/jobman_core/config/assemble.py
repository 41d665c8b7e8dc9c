"""The second half of reading a job file: from final values to a checked JobSpec."""

import os.path
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from jobman_core.config.faults import check_hosts
from jobman_core.config.identities import WITHOUT_SSH, faults_of, home_folder
from jobman_core.config.interpolate import NAME, TPU_NAME
from jobman_core.config.nodes import Map, Node, Path_, Scalar, Seq, as_int, is_null, short
from jobman_core.config.places import cloud_of, planned_hosts, read_places
from jobman_core.config.reading import Reading, section_kinds, section_shape
from jobman_core.config.sections import (
    MAIL_SECTION,
    PLUGIN_SECTIONS,
    CommandSection,
    JobSection,
    Prefixes,
    TpuOptions,
    to_plain,
)
from jobman_core.config.shipped import job_code
from jobman_core.config.structure import structure
from jobman_core.interfaces.backend import NoConfig
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.session import Session
from jobman_core.models.job import (
    CommandMode,
    HoldMode,
    JobSpec,
    PrefixScript,
    QueueMode,
    WorkMode,
)
from jobman_core.models.notice import NotifyRule
from jobman_core.models.slice import SliceRequest

_WITH_WORKERS: Final = (("command",),)
_WITH_PREFIX: Final = (("job", "prefix"), ("job", "queue", "prefix"))
_AUTO: Final = "auto"
#: What a job gets whose file and settings name no session, the first that works.
_SESSIONS: Final = ("tmux", "process")
_LAST_PORT: Final = 65535
#: Settings of OpenSSH that jobman makes itself, by their names in lower case, and what a job's file
#: says instead: without them commands are not data, or hosts not themselves.
SSH_OURS: Final = {
    "user": "write remote_user",
    "port": "write ssh.port",
    **dict.fromkeys(
        (
            "batchmode",
            "checkhostip",
            "clearallforwardings",
            "controlmaster",
            "controlpath",
            "forkafterauthentication",
            "globalknownhostsfile",
            "hashknownhosts",
            "hostkeyalias",
            "nohostauthenticationforlocalhost",
            "permitlocalcommand",
            "remotecommand",
            "stdinnull",
            "stricthostkeychecking",
            "updatehostkeys",
            "userknownhostsfile",
        ),
        "take it out",
    ),
}


@attrs.frozen
class Assembled:
    """What a job file comes to."""

    spec: JobSpec
    session: str
    queue: str | None
    worker_num: str | None
    notify: NotifyRule | None
    notes: tuple[str, ...]


def assemble(reading: Reading) -> Assembled | None:
    """Check all of a file's values; None if that leaves no job. Faults are in the reading."""
    notes: list[str] = []
    requests = read_places(reading)
    _note_options(reading, notes)
    hosts = planned_hosts(reading)
    if hosts is not None:
        for path, node in _workers(reading.tree, ()):
            check_hosts(node, path, hosts, reading.faults)
    job = _job(reading)
    command = _command(reading)
    code = job_code(reading)
    sections = _sections(reading, job, notes)
    session = _session(reading, job)
    if job is None:
        return None
    prefix = _prefix(reading, job, notes)
    work = _work(reading, job, command)
    if isinstance(work, QueueMode) and command is not None:
        notes.append("command is passed over, as job.queue.enabled is true")
    if reading.faults or not requests or work is None:
        return None
    spec = _spec(reading, job=job, requests=requests, work=work, prefix=prefix, sections=sections)
    spec = attrs.evolve(spec, code=code)
    _ask_environment(reading, spec)
    queue = work.config if isinstance(work, QueueMode) else None
    number = job.worker_num or (_AUTO if queue else None)
    return Assembled(spec, session, queue, number, job.notify, tuple(notes))


def _note_options(reading: Reading, notes: list[str]) -> None:
    """Say what of ``tpu`` has no meaning where nothing is asked of a cloud."""
    section = reading.section("tpu")
    if section is None or cloud_of(reading) != WITHOUT_SSH:
        return
    names = (a.name for a in attrs.fields(TpuOptions))
    if left := [f"tpu.{n}" for n in names if n in section and not is_null(section[n])]:
        why = "hosts of cloud 'local' are folders of this machine"
        notes.append(f"{', '.join(left)} passed over: {why}")


def _job(reading: Reading) -> JobSection | None:
    section = reading.section("job")
    if section is None:
        reading.faults.add(("job",), "it is missing: write `job:` with `name:` in it")
        return None
    return structure(section, JobSection, ("job",), reading.faults)


def _command(reading: Reading) -> CommandSection | None:
    section = reading.section("command")
    if section is None:
        return None
    return structure(section, CommandSection, ("command",), reading.faults)


def _work(reading: Reading, job: JobSection, command: CommandSection | None) -> WorkMode | None:
    """Tell what the job runs; None if that is faulty."""
    queue = job.queue
    if queue is not None and queue.enabled:
        if queue.config is None:
            path = ("job", "queue", "config")
            reading.faults.add(
                path, "it is missing: write `config:` with the tasks file, or `enabled: false`"
            )
            return None
        return QueueMode(queue.config, queue.idle_timeout)
    if command is not None:
        return CommandMode(command.cmd, command.workers)
    return None if reading.section("command") is not None else HoldMode()


def _prefixes(job: JobSection) -> dict[Path_, Prefixes]:
    places: dict[Path_, Prefixes | None] = {
        ("job", "prefix"): job.prefix,
        ("job", "queue", "prefix"): job.queue.prefix if job.queue else None,
    }
    return {path: scripts for path, scripts in places.items() if scripts is not None}


def _prefix(reading: Reading, job: JobSection, notes: list[str]) -> tuple[PrefixScript, ...]:
    scripts: list[PrefixScript] = []
    for path, sections in _prefixes(job).items():
        if "queue" in path and job.queue is not None and not job.queue.enabled:
            notes.append("job.queue.prefix is passed over, as job.queue.enabled is false")
            continue
        for index, section in enumerate(sections):
            name = section.name or f"prefix-{len(scripts) + 1}"
            if any(script.name == name for script in scripts):
                wrong = f"two prefix scripts are called {name!r}: give each a name of its own"
                reading.faults.add((*path, index, "name"), wrong)
            scripts.append(PrefixScript(name, section.run, section.workers, section.required))
    return tuple(scripts)


def _workers(node: Node, path: Path_) -> Iterator[tuple[Path_, Node]]:
    """Find all values of ``workers`` in a job file, of faulty sections too."""
    if path in _WITH_WORKERS and isinstance(node, Map):
        if "workers" in node:
            yield (*path, "workers"), node["workers"]
    elif path in _WITH_PREFIX and isinstance(node, Seq):
        for index, item in enumerate(node):
            if isinstance(item, Map) and "workers" in item:
                yield (*path, index, "workers"), item["workers"]
    elif isinstance(node, Map):
        for key, child in node.items():
            yield from _workers(child, (*path, key))


def _sections(
    reading: Reading, job: JobSection | None, notes: list[str]
) -> Mapping[str, Mapping[str, Any]]:
    """Check the sections that belong to plugins, and give those in use as plain data."""
    chosen = job.env_type if job else _raw(reading, "env_type")
    result: dict[str, Mapping[str, Any]] = {}
    for name in reading.tree:
        kinds = section_kinds(reading.around, name)
        if not kinds:
            continue
        section = reading.section(name)
        if section is None:
            continue
        unused = "environment" in kinds and name != chosen
        if unused and chosen is None:
            # With an env_type it is one to switch to.
            notes.append(f"{name} is passed over: `env_type: {name}` below job lets it count")
        shape = section_shape(reading.around, name)
        value = structure(section, shape, (name,), reading.faults, partial=unused)
        if value is not None and not unused:
            result[name] = to_plain(value)
        if name in PLUGIN_SECTIONS and "storage" in kinds:
            _installed(reading, "storage", name, (name,))
    if chosen is not None:
        _check_environment(reading, chosen)
    _check_ssh(reading, notes, result.get("ssh") or {})
    if MAIL_SECTION in reading.tree:
        notes.append(
            f"{MAIL_SECTION} belongs to an old version and has no effect: mail is set up once a "
            "home, below `notifiers: email:` of jobman.yaml, with jobman-notify-email installed"
        )
    return result


def _installed(reading: Reading, kind: str, name: str, path: Path_) -> bool:
    if reading.around.plugins.has(kind, name):
        return True
    reading.faults.add(path, reading.around.plugins.missing(kind, name))
    return False


def _check_environment(reading: Reading, name: str) -> None:
    path = ("job", "env_type")
    _installed(reading, "environment", name, path)
    known = PLUGIN_SECTIONS.get(name, (None, NoConfig))[0] == "environment"
    if known and reading.section(name) is None:
        reading.faults.add(path, f"there is no section {name!r}: write one, or take env_type out")


def _check_ssh(reading: Reading, notes: list[str], given: Mapping[str, Any]) -> None:
    section = reading.section("ssh")
    if section is None:
        return
    port = section.get("port")
    number = as_int(port) if isinstance(port, Scalar) else None
    if number is not None and not 0 < number <= _LAST_PORT:
        reading.faults.add(("ssh", "port"), f"{number} is no port: use 1 to {_LAST_PORT}")
    for name, value in (given.get("options") or {}).items():
        path = ("ssh", "options", name)
        if not (name.isascii() and name.isalnum()):
            # OpenSSH would read "Port 1" as one with a value of its own.
            wrong = f"{short(name)!r} is no setting of ssh_config(5): write one like ProxyJump"
            reading.faults.add(path, wrong)
        elif instead := SSH_OURS.get(name.lower()):
            reading.faults.add(path, f"jobman sets {name} itself: {instead}")
        elif not value.strip() or not value.isprintable():
            reading.faults.add(path, "it must be one line of plain text that is not empty")
    if cloud_of(reading) == WITHOUT_SSH:
        notes.append("ssh is passed over: hosts of cloud 'local' are folders of this machine")
        return
    key = given.get("private_key")
    # An agent may have what only the public one stands for here.
    if reading.fresh and key and not any(map(os.path.exists, (key, f"{key}.pub"))):
        wrong = f"the key file {key} is not there: correct its path"
        reading.faults.add(("ssh", "private_key"), wrong)
    for at, wrong in faults_of(given, home_folder(), notes if reading.fresh else None):
        reading.faults.add(("ssh", *at), wrong)


def _session(reading: Reading, job: JobSection | None) -> str:
    """Choose the session; faults are noted."""
    around, path = reading.around, ("job", "session")
    named = (job.session if job else _raw(reading, "session")) or around.settings.session
    if named is None:
        return _default_session(reading)
    session = around.find("session", named, Session)  # type: ignore[type-abstract]
    if session is None:
        reading.faults.add(path, around.plugins.missing("session", named))
    elif reading.fresh:
        # A job that exists may be run in the foreground where its session is not to be had.
        lacks = around.make("session", session).missing()
        if lacks:
            reading.faults.add(path, lacks)
    return named


def _raw(reading: Reading, key: str) -> str | None:
    """Give a name in a ``job`` section that has faults elsewhere, so that it is judged as well."""
    node = (reading.section("job") or Map()).get(key)
    known = (
        isinstance(node, Scalar) and not node.null and not reading.faults.is_broken(("job", key))
    )
    return node.text if isinstance(node, Scalar) and known else None


def _default_session(reading: Reading) -> str:
    around = reading.around
    for name in _SESSIONS:
        session = around.find("session", name, Session)  # type: ignore[type-abstract]
        if session is not None and around.make("session", session).missing() is None:
            return name
    last = _SESSIONS[-1]
    reading.faults.add(("job", "session"), around.plugins.missing("session", last))
    return last


def _spec(
    reading: Reading,
    *,
    job: JobSection,
    requests: tuple[SliceRequest, ...],
    work: WorkMode,
    prefix: tuple[PrefixScript, ...],
    sections: Mapping[str, Mapping[str, Any]],
) -> JobSpec:
    return JobSpec(
        name=reading.decided[NAME],
        tpu_name=reading.decided[TPU_NAME],
        work=work,
        candidates=requests,
        loop=job.loop,
        max_restarts=job.max_restarts,
        on_end=job.on_end,
        session=job.session,
        remote_user=job.remote_user,
        env_type=job.env_type,
        environment=job.environment,
        pipefail=job.pipefail,
        unreachable_timeout=job.unreachable_timeout,
        prefix=prefix,
        sections=sections,
    )


def _ask_environment(reading: Reading, spec: JobSpec) -> None:
    """Let the environment say what it would refuse; storage is asked at ``create``."""
    if spec.env_type is None:
        return
    environment = reading.around.find("environment", spec.env_type, Environment)  # type: ignore[type-abstract]
    if environment is not None:
        for problem in reading.around.make("environment", environment).check(spec):
            reading.faults.add((spec.env_type, problem.key), problem.message)
