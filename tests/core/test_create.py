"""What is said of files before anything is created of them, and of tasks that wait."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from jobman_core import hookimpl
from jobman_core.builtin import builtins
from jobman_core.config.surroundings import Surroundings
from jobman_core.create import ask_storages, check_job_file, validate_file
from jobman_core.errors import ConfigError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.storage import Storage
from jobman_core.models.job import JobSpec
from jobman_core.models.settings import Settings
from jobman_core.models.task import Counters, Task, TaskSpec, TaskStatus
from jobman_core.plugins import Plugins
from jobman_core.testing.fake_storage import FakeStorage
from jobman_core.views import explained

TASKS = "accelerators:\n  v4-8:\n    tasks:\n      - {id: one, run: echo one}\n"
WORKER = """\
job: {name: worker, session: process, queue: {enabled: true, config: tasks.yaml}}
tpu: {cloud: local, accelerator: v4-8, zone: here}
"""


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    """Give a home with the built-in backends."""
    return Surroundings(Home(tmp_path), Plugins.from_environment(builtins), Settings())


def pending(status: TaskStatus, reason: str) -> str:
    """Give why a task waits in a home without workers."""
    task = Task("q", TaskSpec("one", "true", "v4-8"), Counters(), status, reason)
    return explained(task, []).reason


def test_a_task_that_waits_says_for_what_once() -> None:
    assert pending(TaskStatus.PENDING, "waits for a free worker with v4-8") == (
        "no worker has v4-8"
    )
    assert pending(TaskStatus.RETRY, "failed 1 of 3 attempts") == (
        "failed 1 of 3 attempts; no worker has v4-8"
    )
    assert pending(TaskStatus.BLOCKED, "dependency a failed") == "dependency a failed"


def faults_of(path: Path, text: str, around: Surroundings) -> list[str]:
    """Give what is wrong with a file, as key and message."""
    path.write_text(text)
    return [f"{fault.key}: {fault.message}" for fault in validate_file(path, around).faults]


def test_tasks_at_the_top_are_told_where_they_belong(tmp_path: Path, around: Surroundings) -> None:
    text = "tasks:\n  - {id: one, run: echo one}\n"
    assert faults_of(tmp_path / "tasks.yaml", text, around) == [
        "tasks: it belongs below an accelerator: write `accelerators:`, `v4-8:`, `tasks:`"
    ]


@pytest.mark.parametrize("text", [TASKS, TASKS + "defaults:\n", WORKER])
def test_a_good_file_of_either_kind_has_no_fault(
    tmp_path: Path, around: Surroundings, text: str
) -> None:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    assert faults_of(tmp_path / "file.yaml", text, around) == []


def test_a_job_file_with_a_key_of_tasks_files_is_judged_as_a_job_file(
    tmp_path: Path, around: Surroundings
) -> None:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    (fault,) = faults_of(tmp_path / "file.yaml", WORKER + "defaults: {zone: here}\n", around)
    assert "unknown section 'defaults'" in fault


def test_a_command_beside_a_queue_is_passed_over_with_a_note(
    tmp_path: Path, around: Surroundings
) -> None:
    (tmp_path / "tasks.yaml").write_text(TASKS)
    path = tmp_path / "worker.yaml"
    path.write_text(WORKER + "command: {cmd: echo never}\n")
    note = "command is passed over, as job.queue.enabled is true"
    assert check_job_file(path, around).notes == (note,)


def test_a_wrong_session_is_told_beside_other_faults_of_its_section(
    tmp_path: Path, around: Surroundings
) -> None:
    text = WORKER.replace("session: process", "session: scren, env_type: cnda, loop: maybe")
    (tmp_path / "tasks.yaml").write_text(TASKS)
    keys = [fault.split(":")[0] for fault in faults_of(tmp_path / "job.yaml", text, around)]
    assert sorted(keys) == ["job.env_type", "job.loop", "job.session"]


# -- what would be shipped -----------------------------------------------------------------------

JOB = """\
job: {name: one, session: process}
tpu: {cloud: local, accelerator: v4-8, zone: here}
code: {path: project}
"""


def test_what_a_job_would_ship_is_noted(tmp_path: Path, around: Surroundings) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/train.py").write_text("x" * 1234)
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    note = f"ships 1 file, 1.23 kB, of {tmp_path}/project, to ~/project"
    assert check_job_file(path, around).notes == (note,)
    assert validate_file(path, around).notes == (note,)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["job.yaml", "project"]


def test_a_folder_that_cannot_be_shipped_is_a_fault_at_its_path(
    tmp_path: Path, around: Surroundings
) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (fault,) = validate_file(tmp_path / "job.yaml", around).faults
    assert str(fault).endswith(
        f"job.yaml:3:14: code.path: there is no folder {tmp_path}/project: "
        "correct the path, or put it back"
    )


def test_what_tasks_would_ship_is_told_once_for_each_folder(
    tmp_path: Path, around: Surroundings
) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "good/x").write_text("abc")
    more = "".join(
        f"      - {{id: {name}, run: x, code: {{path: {folder}}}}}\n"
        for name, folder in (("two", "good"), ("three", "good"), ("four", "bad"))
    )
    (tmp_path / "tasks.yaml").write_text(TASKS + more)
    ships = f"task two (and 1 more) ships 1 file, 3 B, of {tmp_path}/good, to ~/good"
    cannot = f"task four cannot ship its code: there is no folder {tmp_path}/bad"
    look = validate_file(tmp_path / "tasks.yaml", around)
    assert look.notes == (ships,)
    assert [fault.message.partition(": correct")[0] for fault in look.faults] == [cannot]
    # One old task is no reason to refuse a worker for the others.
    (tmp_path / "worker.yaml").write_text(WORKER)
    notes = check_job_file(tmp_path / "worker.yaml", around).notes
    assert [note.partition(": correct")[0] for note in notes] == [ships, cannot]


# -- what storages say -------------------------------------------------------------------------

STORED = """\
job: {name: job, session: process}
tpu: {cloud: local, accelerator: v4-8, zone: here}
fake:
  mount_path: data
  bucket: BUCKET
"""


class Doubtful(FakeStorage):
    """Cannot tell."""

    async def check(self, spec: JobSpec) -> Iterable[Problem]:
        return (Problem("bucket", "nobody answers", doubt=True),)


class Clumsy(FakeStorage):
    """Fails where it is asked."""

    async def check(self, spec: JobSpec) -> Iterable[Problem]:
        raise KeyError("region")


class Deep(FakeStorage):
    """Refuses what stands below a list, for good."""

    async def check(self, spec: JobSpec) -> Iterable[Problem]:
        return (Problem("extra[1].bucket", "wrong"),)


def stored(tmp_path: Path, storage: type[Storage] = FakeStorage) -> tuple[Path, Surroundings]:
    """Give a job file with a storage whose bucket is not there, and a home that has it."""

    class Brings:
        @hookimpl
        def jobman_storages(self) -> list[type[Storage]]:
            return [storage]

    plugins = Plugins(lambda: {**builtins(), "storage": Brings()}, disabled="gcsfuse")
    path = tmp_path / "job.yaml"
    path.write_text(STORED.replace("BUCKET", str(tmp_path / "bucket")))
    return path, Surroundings(Home(tmp_path), plugins, Settings())


async def asked(path: Path, around: Surroundings, *waived: str) -> tuple[str, ...]:
    """Give the notes of a file that storages were asked about."""
    return (await ask_storages(check_job_file(path, around), around, waived)).notes


async def test_what_a_storage_refuses_is_a_fault_at_its_key_and_says_how_to_go_on(
    tmp_path: Path,
) -> None:
    path, around = stored(tmp_path)
    with pytest.raises(ConfigError) as refused:
        await asked(path, around)
    told = f"there is no folder {tmp_path}/bucket; --force-bucket goes on all the same"
    assert str(refused.value) == f"{path}:5:11: fake.bucket: {told}"


async def test_what_is_waived_is_noted_and_passed_over(tmp_path: Path) -> None:
    path, around = stored(tmp_path)
    told = f"fake.bucket: there is no folder {tmp_path}/bucket"
    assert await asked(path, around, "--force-bucket") == (
        f"{told} (passed over, as --force-bucket says)",
    )
    with pytest.raises(ConfigError):
        await asked(path, around, "--force-region")


async def test_a_storage_that_is_content_says_nothing(tmp_path: Path) -> None:
    path, around = stored(tmp_path)
    (tmp_path / "bucket").mkdir()
    assert await asked(path, around) == ()


async def test_what_a_storage_cannot_tell_is_noted(tmp_path: Path) -> None:
    assert await asked(*stored(tmp_path, Doubtful)) == ("fake.bucket: nobody answers",)


async def test_a_storage_that_fails_keeps_no_job_from_being_made(tmp_path: Path) -> None:
    assert await asked(*stored(tmp_path, Clumsy)) == (
        "fake: it was not looked at: KeyError: 'region'",
    )


async def test_what_cannot_be_waived_says_so_by_saying_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        await asked(*stored(tmp_path, Deep))
    (fault,) = refused.value.faults
    assert (fault.line, fault.key, fault.message) == (3, "fake.extra[1].bucket", "wrong")


def test_no_storage_is_asked_where_a_file_is_only_checked(tmp_path: Path) -> None:
    path, around = stored(tmp_path)
    assert validate_file(path, around).faults == ()
