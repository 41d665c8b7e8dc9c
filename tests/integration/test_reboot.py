"""A login machine that reboots: all sessions are gone, and the programs on the slices run on."""

import contextlib
import json
import shutil
import sqlite3
import time
from pathlib import Path

import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

#: Tells which process it is, each time that it is started, and runs until it is ended.
PROGRAM = "echo process $$; sleep 600"


def _reboot(lab: Lab, *jobs: str) -> None:
    """End all controllers, as of an earlier boot of this machine."""
    for job in jobs:
        lab.kill_controller(job)
    with contextlib.closing(sqlite3.connect(lab.root / "jobs/.jobman/jobman.db")) as db:
        db.execute("UPDATE controllers SET boot_id = 'an-earlier-boot'")
        db.commit()
    for record in (lab.root / "jobs/.jobman/sessions").glob("*.json"):
        known = json.loads(record.read_text())
        record.write_text(json.dumps({**known, "boot_id": "an-earlier-boot"}))


def _said(lab: Lab, pattern: str) -> str:
    (log,) = lab.root.glob(pattern)
    return log.read_text()


def _nothing_open(lab: Lab) -> bool:
    return not [job for job in lab.json("list") if "controller" in (job["reason"] or "")]


def test_every_job_is_brought_back_once_with_what_runs_of_it(lab: Lab) -> None:
    lab.write(
        "tasks.yaml", f"accelerators:\n  v4-8:\n    tasks:\n      - id: a\n        run: {PROGRAM}\n"
    )
    command = lab.create(lab.job("command", cmd=PROGRAM))
    worker = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    broken = lab.create(lab.job("broken", cmd=PROGRAM))
    stopped = lab.create(lab.job("stopped", cmd=PROGRAM))
    lab.until_output(f"jobs/ada/{command}/logs/command_run_*", "process")
    lab.until_output("jobs/tasks/a/run_*", "process")
    lab.until_output(f"jobs/ada/{broken}/logs/command_run_*", "process")
    # Before its slice is ready, a stop would give it back.
    lab.until_output(f"jobs/ada/{stopped}/logs/command_run_*", "process")
    lab.run("stop", stopped)
    before = [
        _said(lab, f"jobs/ada/{command}/logs/command_run_*"),
        _said(lab, "jobs/tasks/a/run_*.log"),
    ]
    config = lab.root / f"jobs/ada/{broken}/config.yaml"
    shutil.copy(config, lab.root / "kept.yaml")
    config.write_text("job: [\n")

    _reboot(lab, command, worker, broken)
    views = {view["id"]: view for view in lab.json("list")}
    for job in (command, worker, broken):
        assert views[job]["status"] == "RUNNING"
        assert f"no controller: `jobman resume {job}` starts one" in views[job]["reason"]

    # By hand, and by cron at the same moment.
    both = [lab.start("-q", "resume", "--all") for _ in range(2)]
    ends = [(*process.communicate(timeout=60), process.returncode) for process in both]
    for _, err, code in ends:
        lines = err.splitlines()
        assert len(lines) == 1, ends
        assert "config.yaml" in lines[0]
        assert code == 2
    lab.until("both are driven", lambda: lab.controller(command) and lab.controller(worker))
    for job in (command, worker):
        (attempt,) = lab.json("show", job)["attempts"]
        assert (attempt["number"], attempt["outcome"]) == (1, None)
        lab.until_output(f"jobs/ada/{job}/logs/job.log", "adopts attempt 1")
    assert before == [
        _said(lab, f"jobs/ada/{command}/logs/command_run_*"),
        _said(lab, "jobs/tasks/a/run_*.log"),
    ]
    assert lab.status(stopped) == "IDLE"

    shutil.copy(lab.root / "kept.yaml", config)
    lab.run("resume", "--all")
    assert _nothing_open(lab)
    # Cron sends what is printed by mail: where nothing is open, nothing.
    said = lab.run("-q", "resume", "--all")
    assert (said.out, said.err) == ("", "")


def test_a_typing_error_in_a_crontab_is_no_empty_home(lab: Lab, tmp_path: Path) -> None:
    wrong = tmp_path / "hoem"
    said = lab.run("--home", wrong, "resume", "--all", code=3)
    assert said.err.startswith("error: ")
    assert str(wrong) in said.err
    wrong.mkdir()
    assert "no jobman home" in lab.run("--home", wrong, "resume", "--all", code=3).err


def test_dozens_of_jobs_are_back_in_a_minute(lab: Lab) -> None:
    count = 12
    lab.run("create", lab.job(cmd=None), "--count", str(count), limit=120)
    jobs = [view["id"] for view in lab.json("list")]
    lab.until("all hold", lambda: {v["status"] for v in lab.json("list")} == {"IDLE"}, limit=90)
    _reboot(lab, *jobs)
    began = time.monotonic()
    lab.run("resume", "--all", limit=60)
    assert _nothing_open(lab)
    print(f"{count} jobs brought back in {time.monotonic() - began:.1f} s")  # noqa: T201 - a figure
