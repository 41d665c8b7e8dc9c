"""A local folder that jobs and tasks ship: as it was, through changes, restarts and preemptions."""

import shutil
from pathlib import Path

import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

_WAIT = """\
echo "says $(cat word) in ${PWD##*/}, attempt $JOBMAN_ATTEMPT"
until [ -e ../go ]; do sleep 0.1; done
"""


def project(lab: Lab, word: str) -> Path:
    """Write the folder that is shipped."""
    lab.write("project/word", word + "\n")
    lab.write("project/run.sh", _WAIT)
    lab.write("project/ignored.log", "x")
    lab.write("project/.gitignore", "*.log\n")
    return lab.root / "project"


def go(lab: Lab) -> None:
    """Let what runs come to its end, on whatever hosts there are."""
    for host in lab.root.glob("jobs/.jobman/local/*/hosts/*"):
        (host / "go").touch()


def test_a_job_runs_what_its_folder_was_when_it_was_created(lab: Lab) -> None:
    folder = project(lab, "first")
    config = lab.job(cmd="bash run.sh", loop="true", accelerator="v4-16")
    config.write_text(config.read_text() + "code:\n  path: project\n  workdir: src\n")
    said = lab.run("create", config, "--dry-run")
    note = f"note: ships 3 files, 114 B, of {folder}, to ~/src\n"
    assert note in said.err
    assert not (lab.root / "jobs").exists()

    job = lab.create(config)
    log = f"jobs/ada/{job}/logs/command_run_{{}}_worker_1.log"
    lab.until_output(log.format("001"), "says first in src, attempt 1")
    (kept,) = (lab.root / f"jobs/ada/{job}/code").iterdir()
    snapshot = kept.name.removesuffix(".tar.gz")
    config = lab.root / f"jobs/ada/{job}/config.yaml"
    text = config.read_text()
    assert f'\n  snapshot: "{snapshot}"\n' in text
    project(lab, "changed")
    lab.preempt(job)
    lab.until_output(log.format("002"), "says first in src, attempt 2")
    lab.run("stop", job)
    shutil.rmtree(folder)
    lab.run("resume", job)
    lab.until_output(log.format("003"), "says first in src, attempt 3")

    # Only its owner's word makes it another snapshot.
    config.write_text(text.replace(snapshot, "0" * 64))
    assert "take `snapshot` out" in lab.run("reboot", job, code=2).err
    config.write_text(text.replace(f'  snapshot: "{snapshot}"\n', ""))
    assert f"there is no folder {folder}" in lab.run("reboot", job, code=2).err
    assert lab.status(job) == "RUNNING"
    project(lab, "second")
    lab.run("reboot", job)
    lab.until_output(log.format("004"), "says second in src, attempt 4")
    project(lab, "third")
    lab.run("reboot", job, "--reload")
    lab.until_output(log.format("005"), "says third in src, attempt 5")
    go(lab)
    lab.until_status(job, "DONE")


def test_all_attempts_of_a_task_run_what_its_folder_was_at_the_first(lab: Lab) -> None:
    folder = project(lab, "first")
    lab.write(
        "tasks.yaml",
        """
        defaults: {code: {path: project}}
        accelerators:
          v4-8:
            tasks:
              - {id: one, run: bash run.sh}
              - {id: two, run: cat word}
              - {id: three, run: 'cd && cat mine/word', code: null}
        """,
    )
    lab.write("jobs-own/word", "the worker's\n")
    said = lab.run("validate", "tasks.yaml")
    assert (
        f"note: task one (and 1 more) ships 3 files, 114 B, of {folder}, to ~/project\n" == said.err
    )
    config = lab.job("worker", queue="tasks.yaml", loop="true")
    config.write_text(config.read_text() + "code: {path: jobs-own, workdir: mine}\n")
    job = lab.create(config)
    log = "jobs/tasks/one/run_{}_job*_worker_0.log"
    lab.until_output(log.format("001"), "says first in project, attempt 1")
    project(lab, "changed")
    lab.preempt(job)
    lab.until_output(log.format("002"), "says first in project, attempt 2")
    go(lab)
    lab.until("all is done", lambda: all(t["status"] == "DONE" for t in tasks(lab)))
    lab.until_output("jobs/tasks/three/run_001_job*_worker_0.log", "the worker's")
    # Its first attempt came after the change.
    lab.until_output("jobs/tasks/two/run_001_job*_worker_0.log", "changed")
    lab.until_output("jobs/tasks/two/run_001_job*_meta.yaml", f'code: "{folder}"\nsnapshot: "')

    # A reset is another run, of the folder as it is by then.
    shutil.rmtree(folder)
    lab.run("queue", "--reset", "two", "--yes")
    lab.until_output("jobs/tasks/two/run_002_job*_worker_0.log", f"there is no folder {folder}")


def tasks(lab: Lab) -> list[dict[str, str]]:
    """Give the tasks of the queue."""
    found: list[dict[str, str]] = lab.json("queue", "tasks.yaml")["tasks"]
    return found
