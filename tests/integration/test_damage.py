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
    job = lab.create(lab.job(cmd='rm -rf "$HOME/.jobman"; touch removed; sleep 600'))
    lab.until("it did", lambda: list(lab.root.glob("jobs/.jobman/local/*/hosts/0/removed")))
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
