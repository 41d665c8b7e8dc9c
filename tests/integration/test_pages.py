"""What ``docs/`` says of copies, lost databases and moves, done in a home word by word."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.lab import Lab

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(180),
    pytest.mark.skipif(shutil.which("sqlite3") is None, reason="needs the program sqlite3"),
]

DOCS = Path(__file__).parents[2] / "docs"
TASKS = "accelerators:\n  v4-8:\n    tasks:\n      - {id: a, run: 'echo ran; sleep 600'}\n"


def _section(page: str, title: str) -> str:
    text = (DOCS / page).read_text("utf-8")
    (found,) = re.findall(rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text)
    return str(found)


def _do(lab: Lab, page: str, title: str) -> None:
    """Do what a section says, but for what has a number to be put in."""
    script = ["set -e"]
    for block in re.findall(r"(?ms)^ *```console\n(.*?)^ *```$", _section(page, title)):
        lines = [line.strip().removeprefix("$ ") for line in block.splitlines()]
        if not any("PID" in line for line in lines):
            script += lines
    jobman = f'jobman() {{ {sys.executable} -m jobman_cli "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", jobman + "\n".join(script)],
        cwd=lab.root,
        env=lab.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (script, done)


def _end_controllers(lab: Lab, *jobs: str) -> None:
    """End them as the pages say: find them, and send each the signal that ``kill`` sends."""
    for page, title in (
        ("when-disks-fail.md", "To start without the database"),
        ("upgrading.md", "To a newer version"),
    ):
        (line,) = re.findall(r"(?m)^\$ (pgrep .*jobman_core.*)$", _section(page, title))
        found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
        named = [row.split() for row in found.stdout.splitlines() if str(lab.root) in row.split()]
        assert {int(row[0]) for row in named} == {lab.controller(job) for job in jobs}
    for job in jobs:
        lab.kill_controller(job, signal.SIGTERM)


@pytest.fixture
def running(lab: Lab) -> tuple[Lab, str]:
    """Give a home with a worker that runs a task."""
    lab.write("tasks.yaml", TASKS)
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    lab.until_output("jobs/tasks/a/run_*.log", "ran")
    return lab, job


def test_a_copy_is_made_and_put_back_while_a_worker_runs(running: tuple[Lab, str]) -> None:
    lab, job = running
    _do(lab, "when-disks-fail.md", "To copy a database that is in use")
    copy, database = lab.root / "jobman-copy.db", lab.root / "jobs/.jobman/jobman.db"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    database.write_bytes(b"no database" * 999)
    assert "damaged: put a copy of it back" in lab.run("list", code=1).err
    # However it was kept meanwhile.
    copy.chmod(0o644)
    _do(lab, "when-disks-fail.md", "To put a copy back")
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert lab.status(job) == "RUNNING"
    lab.run("stop", job)


def test_a_home_whose_database_is_lost_starts_without_it(running: tuple[Lab, str]) -> None:
    lab, job = running
    lab.run("delete", "--yes", job)
    os.truncate(lab.root / "jobs/.jobman/jobman.db", 0)
    assert f"move {lab.root / 'jobs'} away" in lab.run("list", code=1).err
    _do(lab, "when-disks-fail.md", "To start without the database")
    again = lab.create("worker.yaml")
    assert again == job
    lab.until_output("jobs/tasks/a/run_*.log", "ran")
    assert list((lab.root / "jobs-lost/tasks/a").glob("run_*.log"))
    assert (lab.root / "jobs-lost/tasks_state.yaml").exists()


def test_controllers_are_ended_and_brought_back_by_an_upgrade(running: tuple[Lab, str]) -> None:
    lab, job = running
    before = lab.controller(job)
    _end_controllers(lab, job)
    _do(lab, "upgrading.md", "To a newer version")
    lab.run("resume", "--all")
    lab.until("it is driven again", lambda: lab.controller(job))
    assert lab.controller(job) != before
    (attempt,) = lab.json("show", job)["attempts"]
    assert (attempt["number"], attempt["outcome"]) == (1, None)
    assert (lab.root / "before-upgrade.db").exists()


def test_a_home_moves_to_another_machine(running: tuple[Lab, str]) -> None:
    lab, job = running
    _end_controllers(lab, job)
    bond = lab.root / "jobs/.jobman/machine.json"
    bond.write_text(json.dumps({"machine": "another", "name": "login1"}))
    assert "login1" in lab.run("list", code=4).err
    _do(lab, "upgrading.md", "To another machine")
    lab.until("it is driven again", lambda: lab.controller(job))
    assert json.loads(bond.read_text())["name"] != "login1"
