"""What is said of files before anything is created of them, and of tasks that wait."""

from pathlib import Path

import pytest

from jobman_core.builtin import builtins
from jobman_core.config.surroundings import Surroundings
from jobman_core.create import check_job_file, validate_file
from jobman_core.home import Home
from jobman_core.models.settings import Settings
from jobman_core.models.task import Counters, Task, TaskSpec, TaskStatus
from jobman_core.plugins import Plugins
from jobman_core.views import why_pending

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
    return why_pending(task, [])


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
    return [f"{fault.key}: {fault.message}" for fault in validate_file(path, around)]


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
