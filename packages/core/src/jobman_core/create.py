"""From a job file to jobs on record: checked as a whole before anything is created."""

import asyncio
import contextlib
import logging
from collections.abc import Collection, Sequence
from pathlib import Path

import attrs

from jobman_core.config.job import JobFile, read_job
from jobman_core.config.source import read_source
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.tasks import queue_notes, read_tasks
from jobman_core.errors import ConfigError, Fault, InvalidInputError, PermanentCloudError
from jobman_core.files import digest, make_folder, put, sync_folder
from jobman_core.group import check_mine, follow
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.storage import Storage
from jobman_core.interfaces.store import JobDraft
from jobman_core.models.job import CommandMode, JobSpec, QueueMode
from jobman_core.models.slice import Slice, SliceIdentity
from jobman_core.models.task import Code, QueueDefinition, Workers
from jobman_core.models.view import Checked, Plan
from jobman_core.origin import Origin
from jobman_core.packing import Archive, keep, list_folder, packed
from jobman_core.run.steps import prefix_step, steps_of
from jobman_core.ssh import Access, Links, public_keys

#: Top-level keys that only a tasks file has.
_TASKS_KEYS = frozenset({"accelerators", "repos", "defaults", "tasks"})
#: Top-level keys without which a file is no job file.
_JOB_KEYS = frozenset({"job", "tpu"})
#: Stand for the number of a job, and for the UUID of a home, that are still to come.
_JOB, _HOME = "n", "new"
#: Seconds that a storage may take to say what is wrong.
_PATIENCE = 20.0
_log = logging.getLogger(__name__)


def check_job_file(path: Path, around: Surroundings) -> JobFile:
    """Read a job file, and the tasks file that it names.

    Raises:
        ConfigError: the faults of both.
    """
    file = read_job(path, around)
    spec, notes = file.spec("0"), list(file.notes)
    if spec.code is not None:
        try:
            notes.append(ships(spec.code))
        except InvalidInputError as error:
            raise ConfigError([file.fault(("code", "path"), str(error))]) from error
    if file.queue is not None:
        definition = read_tasks(Path(file.queue), around.home.root)
        notes += queue_notes(spec, definition)
        shipped, refused = task_ships(definition)
        # An old task whose folder has gone is no reason to refuse a worker for the others.
        notes += [*shipped, *refused]
    return attrs.evolve(file, notes=tuple(notes))


async def ask_storages(
    file: JobFile, around: Surroundings, waived: Collection[str] | None = ()
) -> JobFile:
    """Let storages look whether what a job file says of them is so.

    Args:
        file: has no faults of its own.
        around: what it was read against.
        waived: the options (``--force-region``) whose problems are passed over; None: all of them,
            as the job is there already.

    Returns:
        the file, with a note more for each thing that is passed over or that nobody could tell.

    Raises:
        ConfigError: something is not so.
    """
    spec = file.checked
    wrong: list[tuple[str, Problem]] = []
    notes: list[str] = []
    for name in spec.sections:
        storage = around.find("storage", name, Storage)  # type: ignore[type-abstract]
        if storage is None:
            continue
        for problem in await _problems(around.make("storage", storage), spec):
            key = f"{name}.{problem.key}" if problem.key else name
            told = f"{key}: {problem.message}"
            if problem.doubt:
                notes.append(told)
            elif waived is None and problem.waiver is not None:
                notes.append(f"{told} (passed over, as the job is there already)")
            elif problem.waiver in (waived or ()):
                notes.append(f"{told} (passed over, as {problem.waiver} says)")
            else:
                wrong.append((name, _with_waiver(problem)))
    file.refuse(wrong)
    return attrs.evolve(file, notes=(*file.notes, *notes))


async def _problems(storage: Storage, spec: JobSpec) -> Sequence[Problem]:
    try:
        async with asyncio.timeout(_PATIENCE):
            return tuple(await storage.check(spec))
    except TimeoutError:
        why = f"it does not answer within {_PATIENCE:g} s"
    except Exception as error:  # noqa: BLE001 - any plugin, any fault
        _log.debug("storage %s failed", storage.name, exc_info=error)
        why = f"{type(error).__name__}: {error}"
    # What nobody could tell is no reason to refuse the job.
    return (Problem("", f"it was not looked at: {why}", doubt=True),)


def _with_waiver(problem: Problem) -> Problem:
    if problem.waiver is None:
        return problem
    message = f"{problem.message}; {problem.waiver} goes on all the same"
    return attrs.evolve(problem, message=message)


def ships(code: Code) -> str:
    """Say what a folder would ship, in one line.

    Raises:
        InvalidInputError: it cannot be shipped.
    """
    return f"ships {list_folder(code)}, to ~/{code.workdir}"


def task_ships(definition: QueueDefinition) -> tuple[list[str], list[str]]:
    """Say what the folders of tasks would ship, a line each, and which cannot be."""
    shipped: list[str] = []
    refused: list[str] = []
    tasks: dict[Code, list[str]] = {}
    for task in definition.tasks:
        if task.code is not None:
            tasks.setdefault(task.code, []).append(task.id)
    for code, (first, *more) in tasks.items():
        who = f"task {first}" + (f" (and {len(more)} more)" if more else "")
        try:
            shipped.append(f"{who} {ships(code)}")
        except InvalidInputError as error:
            refused.append(f"{who} cannot ship its code: {error}")
    return shipped, refused


async def create_jobs(hub: Hub, file: JobFile, count: int) -> list[str]:
    """Record so many jobs of a file, not yet wanted running; all of them, or none."""
    draft = await draft_of(hub, file, hub.user)
    created: list[str] = []
    with contextlib.ExitStack() as stack:
        archive = None
        if (code := file.code) is not None:
            archive = await asyncio.to_thread(stack.enter_context, packed(hub.home, code))
        try:
            while len(created) < count:
                created.append(await _create_one(hub, file, draft, archive))
        except BaseException:
            for job in created:
                await hub.store.discard_job(job)
            raise
    for job in created:
        await hub.store.publish_job(job, spec_hash=digest(hub.home.config(hub.user, job)))
    return created


async def draft_of(hub: Hub, file: JobFile, user: str) -> JobDraft:
    """Give what the store must know of a job, with its queue open."""
    draft = file.draft(user)
    if draft.queue is None:
        return draft
    # The queue knows its file by its real path, whatever link the job came by.
    queue = await hub.queues.open(Path(draft.queue))
    return attrs.evolve(draft, queue=queue.path)


async def _create_one(hub: Hub, file: JobFile, draft: JobDraft, archive: Archive | None) -> str:
    job = await hub.store.draft_job(draft)
    try:
        code = archive.snapshot if archive else None
        text = file.snapshot(job.name.removeprefix(f"{file.base_name}_"), code=code)
        path = hub.home.config(job.user, job.id)
        make_folder(path.parent.parent, own=True)
        if hub.home.shared:
            check_mine(path.parent.parent)
        # A folder that is there already is somebody else's, and stays so.
        path.parent.mkdir()
        follow(path.parent)
        make_folder(hub.home.logs(job.user, job.id))
        if archive is not None:
            await asyncio.to_thread(keep, archive, hub.home.code(job.user, job.id))
        Origin.of(*file.origin, text).put(hub.home.origin(job.user, job.id))
        put(path, text)
        sync_folder(path.parent.parent)
    except BaseException:
        await hub.store.discard_job(job.id)
        raise
    return job.id


async def plan_of(file: JobFile, around: Surroundings, user: str) -> Plan:
    """Say what a user's job of a file would ask of the cloud and run on its hosts."""
    spec = file.spec(_JOB)
    asks, notes = await _requests(file, spec, around, user)
    steps = await asyncio.to_thread(_preparation, spec, around)
    match spec.work:
        case CommandMode(script, workers):
            steps.append(("command", _hosts(workers), script))
        case QueueMode(config):
            tasks = read_tasks(Path(config), around.home.root)
            steps += _task_steps(tasks, spec.candidates[0].accelerator)
        case _:
            steps.append(("hold the slice", "", ""))
    return Plan(spec.name, tuple(asks), tuple(steps), (*file.notes, *notes))


async def _requests(
    file: JobFile, spec: JobSpec, around: Surroundings, user: str
) -> tuple[Sequence[str], Sequence[str]]:
    """Give what a cloud would be asked for, a line each, and what would stand in the way."""
    cloud_class = around.plugins.get("cloud", file.cloud, Cloud)  # type: ignore[type-abstract]
    cloud = around.make("cloud", cloud_class)
    name, home = cloud.slice_name(spec.tpu_name, 1), around.home_id or _HOME
    now = around.clock.now()
    slices = [
        Slice(_JOB, 1, request, SliceIdentity(name, request.zone, home, user, _JOB, 1), now)
        for request in spec.candidates
    ]
    asks: list[str] = []
    keys: tuple[str, ...] = ()
    notes: Sequence[str] = ()
    try:
        if cloud.hosts(slices[0]) is None:
            keys, notes = await _keys(Access.of_job(user, spec))
        for each in slices:
            request = attrs.evolve(each.request, public_keys=(*each.request.public_keys, *keys))
            asks += await cloud.describe_request(each.identity, request)
    finally:
        await cloud.aclose()
    return asks, notes


async def _keys(access: Access) -> tuple[tuple[str, ...], Sequence[str]]:
    """Give the keys that hosts would have to let in, or why there are none."""
    try:
        return await public_keys(access, Links()), ()
    except PermanentCloudError as error:
        return (), (str(error),)


def _preparation(spec: JobSpec, around: Surroundings) -> list[tuple[str, str, str]]:
    """Give what would be done on hosts before work: title, hosts, commands or script."""
    storages = [
        around.make("storage", found)
        for name in spec.sections
        if (found := around.find("storage", name, Storage)) is not None  # type: ignore[type-abstract]
    ]
    chosen = spec.env_type and around.find("environment", spec.env_type, Environment)  # type: ignore[type-abstract]
    environment = around.make("environment", chosen) if chosen else None
    scripts = {prefix_step(script, spec).key: script.run for script in spec.prefix}
    return [
        (step.title, _hosts(step.workers), scripts.get(step.key, step.in_short()))
        for step in steps_of(spec, environment, storages)
    ]


def _task_steps(definition: QueueDefinition, accelerator: str) -> list[tuple[str, str, str]]:
    return [
        (f"task {task.id}", _hosts(task.workers), task.run)
        for task in definition.tasks
        if task.accelerator == accelerator
    ]


def _hosts(workers: Workers) -> str:
    if workers.indices == "all":
        return "all hosts"
    return "host " + ", ".join(map(str, workers.indices))


def validate_file(path: Path, around: Surroundings) -> Checked:
    """Check a job or tasks file, whichever its keys say that it is."""
    try:
        keys = read_source(path).root.keys()
        if _TASKS_KEYS & keys and not _JOB_KEYS & keys:
            shipped, refused = task_ships(read_tasks(path, around.home.root))
            faults = tuple(Fault(str(path), 0, 0, "", why) for why in refused)
            return Checked(path, faults, tuple(shipped))
        return Checked(path, (), check_job_file(path, around).notes)
    except ConfigError as error:
        return Checked(path, tuple(error.faults), ())
