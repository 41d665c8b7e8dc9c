"""Files that people or programs damage: nothing is lost, and nothing stays behind."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e


def _append(folder: Path) -> None:
    with (folder / "config.yaml").open("a") as file:
        file.write("bogus: [\n")


DAMAGE: dict[str, Callable[[Path], None]] = {
    "its file has a fault": _append,
    "its file is gone": lambda folder: (folder / "config.yaml").unlink(),
    "its folder is gone": shutil.rmtree,
}


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.parametrize("controller", ["alive", "dead"])
def test_a_job_can_be_ended_whatever_became_of_its_file(
    lab: Lab, what: str, controller: str
) -> None:
    job = lab.create(lab.job(cmd="setsid sleep 600 & sleep 600"))
    lab.until_output(f"jobs/ada/{job}/logs/job.log", "on hosts 0")
    if controller == "dead":
        lab.kill_controller(job)
    DAMAGE[what](lab.root / "jobs/ada" / job)
    lab.run("stop", job)
    lab.run("delete", "--yes", job)
    assert lab.slices() == []
    assert lab.processes() == []


def test_a_reboot_with_a_fault_in_the_file_ends_nothing(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="sleep 600"))
    lab.until_output(f"jobs/ada/{job}/logs/job.log", "on hosts 0")
    _append(lab.root / "jobs/ada" / job)
    lab.run("reboot", job, code=2)
    assert [a["outcome"] for a in lab.json("show", job)["attempts"]] == [None]
    assert lab.status(job) == "RUNNING"


def test_a_program_that_removes_what_jobman_knows_of_it_does_not_survive_a_stop(lab: Lab) -> None:
    # Not on its host: whoever finds no trace of it there may have given that back by now.
    mark = lab.root / "removed"
    job = lab.create(lab.job(cmd=f'rm -rf "$HOME/.jobman"; touch {mark}; sleep 600'))
    lab.until("it did", mark.exists)
    lab.run("stop", job)
    assert lab.processes() == []
    (attempt,) = lab.json("show", job)["attempts"]
    assert attempt["outcome"] == "interrupted"


def test_a_host_that_is_gone_keeps_nobody_from_deleting(lab: Lab) -> None:
    job = lab.create(lab.job(cmd='rm -rf "$HOME"; sleep 600'))
    lab.until("it is gone", lambda: not list(lab.root.glob("jobs/.jobman/local/*/hosts/0")))
    lab.run("delete", "--yes", job, limit=90)
    assert lab.slices() == []


def test_a_plan_can_be_checked_in_a_home_that_cannot_be_opened(lab: Lab) -> None:
    (lab.root / "jobs/.jobman").mkdir(parents=True)
    (lab.root / "jobs/.jobman/jobman.db").write_bytes(b"not a database, and not empty either")
    assert lab.json("validate", lab.job()) == []
    said = lab.run("list", code=1)
    assert said.err.startswith("error: ")
    shutil.rmtree(lab.root / "jobs")


def test_a_worker_whose_folder_is_removed_goes_on_and_copies_its_output_anew(lab: Lab) -> None:
    job = lab.create(
        lab.job(cmd='echo first; until [ -e "$HOME/go" ]; do sleep 0.1; done; echo last')
    )
    log = lab.until_output(f"jobs/ada/{job}/logs/command_run_001_*", "first")
    (host,) = lab.root.glob("jobs/.jobman/local/*/hosts/0")
    shutil.rmtree(lab.root / "jobs/ada" / job)
    (host / "go").touch()
    lab.until_status(job, "DONE")
    lab.until("all of it is there", lambda: log.exists() and log.read_text() == "first\nlast\n")
    (attempt,) = lab.json("show", job)["attempts"]
    assert attempt["outcome"] == "succeeded"


def test_a_file_where_a_tasks_folder_belongs_holds_up_its_output_and_nothing_else(
    lab: Lab,
) -> None:
    (lab.root / "jobs/tasks").mkdir(parents=True)
    in_the_way = lab.write("jobs/tasks/a", "in the way")
    lab.write(
        "tasks.yaml",
        "accelerators:\n  v4-8:\n    tasks:\n      - {id: a, run: 'echo up; sleep 600'}\n",
    )
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    log = f"jobs/ada/{job}/logs/job.log"
    lab.until_output(log, "move away what lies in its folder's place")
    assert lab.task("a")["status"] == "RUNNING"
    in_the_way.unlink()
    lab.until_output("jobs/tasks/a/run_001_*_worker_0.log", "up")
    assert "Traceback" not in (lab.root / log).read_text()
    assert len(lab.task("a")["attempts"]) == 1
    lab.run("stop", job)


@pytest.mark.parametrize("what", DAMAGE)
def test_a_clean_up_releases_a_task_whatever_became_of_its_workers_file(
    lab: Lab, what: str
) -> None:
    lab.write(
        "tasks.yaml",
        "accelerators:\n  v4-8:\n    tasks:\n      - {id: a, run: 'echo up; sleep 600'}\n",
    )
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    lab.until_output("jobs/tasks/a/run_001_*_worker_0.log", "up")
    lab.kill_controller(job)
    DAMAGE[what](lab.root / "jobs/ada" / job)
    assert lab.run("queue", "--cleanup").out == f"job {job}: released a\n"
    assert lab.task("a")["status"] == "PENDING"
    assert lab.processes() == []
