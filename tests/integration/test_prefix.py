"""Prefix scripts as a person has them: one that fails, is mended, and runs on the next slice."""

import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

PREFIX = """
prefix:
  - name: gcloud setup
    required: true
    run: |
      echo ran >> ~/ran
      echo no such project
      exit 3
"""
SAID = "host 0: prefix script gcloud setup: `bash -o pipefail script` ended with 3: no such project"


def write_tasks(lab: Lab, *tasks: str) -> None:
    lines = "".join(f"      - {{id: {task}, run: 'wc -l < ~/ran'}}\n" for task in tasks)
    lab.write("tasks.yaml", f"accelerators:\n  v4-8:\n    tasks:\n{lines}")


def times(lab: Lab, task: str) -> int:
    """Give how often the script had run on the slice when a task did."""
    lab.until(f"task {task}", lambda: lab.task(task)["status"] == "DONE")
    (log,) = lab.root.glob(f"jobs/tasks/{task}/run_001_*_worker_0.log")
    return int(log.read_text())


def test_a_required_script_that_fails_is_told_once_and_each_slice_has_it_anew(lab: Lab) -> None:
    write_tasks(lab, "one")
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true", extra=PREFIX))
    lab.until_status(job, "PREFIX_FAIL")
    shown = lab.json("show", job)
    assert shown["reason"].startswith(f"{SAID}; correct it in its config.yaml")
    assert "; slice worker-1-g1 is READY and still costs" in shown["reason"]
    assert SAID in " ".join(lab.run("show", job).out.split())
    (row,) = lab.json("list")
    assert (row["status"], row["running"]) == ("PREFIX_FAIL", None)
    log = lab.root / f"jobs/ada/{job}/logs/prefix_gcloud setup_worker_0.log"
    assert log.read_text().startswith("no such project\n")

    # It is over: nothing was begun, and nobody starts it again but its owner.
    lab.run("resume", "--all")
    assert (lab.status(job), lab.task("one")["status"]) == ("PREFIX_FAIL", "PENDING")

    config = lab.root / f"jobs/ada/{job}/config.yaml"
    config.write_text(config.read_text().replace("exit 3", "true"))
    lab.run("reboot", job)
    assert times(lab, "one") == 2

    # Once for each slice: what a lost one had done, the next has not.
    lab.preempt(job)
    lab.until("another slice", lambda: lab.slices() == ["worker-1-g2"])
    write_tasks(lab, "one", "two")
    assert times(lab, "two") == 1
