"""From a job file to jobs on record: checked as a whole before anything is created."""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import attrs

from jobman_core.config.job import JobFile, read_job
from jobman_core.config.source import read_source
from jobman_core.config.surroundings import Surroundings
from jobman_core.config.tasks import queue_notes, read_tasks
from jobman_core.errors import ConfigError, Fault
from jobman_core.hub import Hub
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.store import JobDraft
from jobman_core.models.job import CommandMode, QueueMode
from jobman_core.models.task import QueueDefinition, Workers
from jobman_core.models.view import Plan

#: Top-level keys that only a tasks file has.
_TASKS_KEYS = frozenset({"accelerators", "repos", "defaults", "tasks"})
#: Top-level keys without which a file is no job file.
_JOB_KEYS = frozenset({"job", "tpu"})


def check_job_file(path: Path, around: Surroundings) -> JobFile:
    """Read a job file, and the tasks file that it names.

    Raises:
        ConfigError: the faults of both.
    """
    file = read_job(path, around)
    spec, notes = file.spec("0"), list(file.notes)
    if spec.prefix:
        names = ", ".join(script.name for script in spec.prefix)
        notes.append(f"prefix scripts are not run by this version: {names}")
    if file.queue is not None:
        notes += queue_notes(spec, read_tasks(Path(file.queue)))
    return attrs.evolve(file, notes=tuple(notes))


async def create_jobs(hub: Hub, file: JobFile, count: int) -> list[str]:
    """Record so many jobs of a file, not yet wanted running; all of them, or none."""
    draft = await draft_of(hub, file, hub.user)
    created: list[str] = []
    try:
        while len(created) < count:
            created.append(await _create_one(hub, file, draft))
    except BaseException:
        for job in created:
            await hub.store.discard_job(job)
        raise
    for job in created:
        await hub.store.publish_job(job, spec_hash=snapshot_hash(hub.home.config(hub.user, job)))
    return created


async def draft_of(hub: Hub, file: JobFile, user: str) -> JobDraft:
    """Give what the store must know of a job, with its queue open."""
    draft = file.draft(user)
    if draft.queue is None:
        return draft
    # The queue knows its file by its real path, whatever link the job came by.
    queue = await hub.queues.open(Path(draft.queue))
    return attrs.evolve(draft, queue=queue.path)


async def _create_one(hub: Hub, file: JobFile, draft: JobDraft) -> str:
    job = await hub.store.draft_job(draft)
    try:
        text = file.snapshot(job.name.removeprefix(f"{file.base_name}_"))
        path = hub.home.config(job.user, job.id)
        path.parent.mkdir(parents=True)
        hub.home.logs(job.user, job.id).mkdir()
        # It may hold secrets: nobody else reads it, not even for an instant.
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
    except BaseException:
        await hub.store.discard_job(job.id)
        raise
    return job.id


def snapshot_hash(path: Path) -> str:
    """Give the hash by which an edit of a snapshot is noticed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def plan_of(file: JobFile, around: Surroundings) -> Plan:
    """Say what a job of a file would ask of the cloud and run on its hosts."""
    spec = file.spec("N")
    cloud_class = around.plugins.get("cloud", file.cloud, Cloud)  # type: ignore[type-abstract]
    cloud = around.make("cloud", cloud_class)
    name = cloud.slice_name(spec.tpu_name, 1)
    asks = [line for request in spec.candidates for line in cloud.describe_request(request, name)]
    steps: list[tuple[str, str, str]] = []
    match spec.work:
        case CommandMode(script, workers):
            steps.append(("command", _hosts(workers), script))
        case QueueMode(config):
            steps += _task_steps(read_tasks(Path(config)), spec.candidates[0].accelerator)
        case _:
            steps.append(("hold the slice", "no host", ""))
    return Plan(spec.name, tuple(asks), tuple(steps), file.notes)


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


def validate_file(path: Path, around: Surroundings) -> Sequence[Fault]:
    """Give the faults of a job or tasks file, whichever its keys say that it is."""
    try:
        keys = read_source(path).root.keys()
        if _TASKS_KEYS & keys and not _JOB_KEYS & keys:
            read_tasks(path)
        else:
            check_job_file(path, around)
    except ConfigError as error:
        return error.faults
    return ()
