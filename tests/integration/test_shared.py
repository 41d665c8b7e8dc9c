"""``job.session: shared``: one process for many jobs, which act as those with their own do."""

import os
import shutil
import signal
import sqlite3
import time

import pytest
from tests.support.lab import Lab

from jobman_core.process import ProcessIdentity

pytestmark = pytest.mark.e2e

TASKS = "accelerators: {v4-8: {tasks: [{id: long, run: sleep 600}]}}\n"
SETTINGS = "session: shared\nsessions: {shared: {idle: 2s}}\nlease: 6s\nbeat: 1s\n"


@pytest.fixture
def lab(lab: Lab) -> Lab:
    """Let jobs of the home share a process that ends soon after the last."""
    lab.write("jobman.yaml", SETTINGS)
    return lab


def _pids(lab: Lab, *jobs: str) -> set[int]:
    return {lab.controller(job) for job in jobs}


def _start_two(lab: Lab) -> tuple[str, str]:
    one, two = (lab.create(lab.job(name, cmd="echo up; sleep 600")) for name in ("one", "two"))
    for job in (one, two):
        lab.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_0.log", "up")
    return one, two


def _attempts(lab: Lab, job: str) -> list[tuple[int, str | None]]:
    return [(a["number"], a["outcome"]) for a in lab.json("show", job)["attempts"]]


def test_one_process_drives_all_jobs_and_a_stop_of_one_is_no_matter_to_the_other(lab: Lab) -> None:
    one, two = _start_two(lab)
    (pid,) = _pids(lab, one, two)
    assert len([p for p in lab.processes() if "-m\\x00jobman_core" in p]) == 1
    lab.run("stop", one)
    assert lab.json("show", one)["status"] == "IDLE"
    assert lab.status(two) == "RUNNING"
    assert lab.controller(two) == pid
    lab.run("resume", one)
    lab.until_status(one, "RUNNING")
    assert _pids(lab, one, two) == {pid}
    assert _attempts(lab, one) == [(1, "interrupted"), (2, None)]
    assert _attempts(lab, two) == [(1, None)]
    said = lab.run("logs", "--controller", two).out
    assert "runs two" in said
    assert "one_" not in said


def test_it_ends_some_time_after_its_last_job_and_the_next_one_starts_it_again(lab: Lab) -> None:
    first = lab.create(lab.job("first", cmd="true", extra="on_end: delete"))
    lab.until_status(first, "DONE")
    lab.until("it has ended", lambda: not lab.processes())
    second = lab.create(lab.job("second", cmd="true", extra="on_end: delete"))
    lab.until_status(second, "DONE")


def test_killed_it_takes_nothing_with_it_and_resume_brings_all_jobs_back(lab: Lab) -> None:
    one, two = _start_two(lab)
    pid = lab.kill_controller(one)
    lab.until("its end is seen", lambda: "no controller" in lab.json("show", two)["reason"])
    lab.run("resume", "--all")
    (again,) = _pids(lab, one, two)
    assert again != pid
    for job in (one, two):
        lab.until_status(job, "RUNNING")
        assert _attempts(lab, job) == [(1, None)]


def test_stopped_by_a_signal_it_is_replaced_by_the_first_who_needs_it(lab: Lab) -> None:
    one, two = _start_two(lab)
    pid = lab.kill_controller(one, signal.SIGSTOP)
    hung = ProcessIdentity.of(pid)
    lab.run("stop", one)
    lab.until("the other has one again", lambda: "hangs" not in lab.json("show", two)["reason"])
    lab.until("it drives", lambda: lab.controller(two) != pid)
    assert hung.state() == "gone"
    assert _attempts(lab, one) == [(1, "interrupted")]
    assert _attempts(lab, two) == [(1, None)]


def test_a_clean_up_that_replaces_it_takes_no_controller_from_other_jobs(lab: Lab) -> None:
    lab.write("tasks.yaml", TASKS)
    worker = lab.create(lab.job("worker", queue="tasks.yaml"))
    other = lab.create(lab.job("other", cmd="echo up; sleep 600"))
    lab.until("the task runs", lambda: lab.task("long")["status"] == "RUNNING")
    lab.until_output(f"jobs/ada/{other}/logs/command_run_001_worker_0.log", "up")
    pid = lab.kill_controller(other, signal.SIGSTOP)
    assert lab.controller(worker) == pid
    lab.run("queue", "tasks.yaml", "--cleanup")
    lab.until("it is driven again", lambda: lab.json("show", other)["reason"] == "its command")
    assert lab.controller(other) != pid
    assert _attempts(lab, other) == [(1, None)]


def test_a_home_that_is_away_for_a_while_is_waited_for(lab: Lab) -> None:
    one, two = _start_two(lab)
    (pid,) = _pids(lab, one, two)
    jobs, away = lab.root / "jobs", lab.root / "away"
    jobs.rename(away)
    log = away / ".jobman/shared.log"
    lab.until("it noticed", lambda: "cannot be read" in log.read_text())
    # Longer than it stays without a job.
    time.sleep(3)
    assert not jobs.exists()
    away.rename(jobs)
    lab.until("all is as before", lambda: lab.json("show", two)["reason"] == "its command")
    assert _pids(lab, one, two) == {pid}
    lab.run("stop", one)
    assert _attempts(lab, one) == [(1, "interrupted")]


def test_a_process_that_a_restored_database_does_not_know_registers_anew(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo up; sleep 600"), "--no-start")
    database = lab.root / "jobs/.jobman/jobman.db"
    copy = lab.root / "copy.db"
    shutil.copy(database, copy)
    lab.run("resume", job)
    lab.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_0.log", "up")
    copy.replace(database)
    for name in ("jobman.db-wal", "jobman.db-shm"):
        (database.parent / name).unlink(missing_ok=True)
    lab.until("it noticed", lambda: "registers anew" in _said(lab))
    lab.run("resume", job)
    lab.until_status(job, "RUNNING")
    assert lab.json("show", job)["reason"] == "its command"


def test_where_its_records_are_removed_one_process_is_left_that_drives_all(lab: Lab) -> None:
    one, two = _start_two(lab)
    shutil.rmtree(lab.root / "jobs/.jobman/sessions")
    lab.until("it let go", lambda: "no controller" in lab.json("show", one)["reason"])
    lab.run("resume", "--all")

    def driven() -> bool:
        return all(lab.json("show", job)["reason"] == "its command" for job in (one, two))

    lab.until("both are driven", driven)
    assert len(_pids(lab, one, two)) == 1
    assert _attempts(lab, one) == _attempts(lab, two) == [(1, None)]


def test_a_file_on_its_roster_that_cannot_be_read_is_no_matter_to_others(lab: Lab) -> None:
    one, two = _start_two(lab)
    entry = lab.root / f"jobs/.jobman/sessions/shared-{os.getuid()}" / f"job-{one}"
    entry.unlink()
    entry.mkdir()
    lab.until("it let go", lambda: "no controller" in lab.json("show", one)["reason"])
    third = lab.create(lab.job("third", cmd="true", extra="on_end: delete"))
    lab.until_status(third, "DONE")
    assert lab.json("show", two)["reason"] == "its command"
    entry.rmdir()
    lab.run("resume", one)
    lab.until_status(one, "RUNNING")


def _said(lab: Lab) -> str:
    return (lab.root / "jobs/.jobman/shared.log").read_text()


def test_a_job_that_cannot_be_driven_says_so_and_the_others_go_on(lab: Lab) -> None:
    one, two = _start_two(lab)
    lab.run("stop", one)
    config = lab.root / f"jobs/ada/{one}/config.yaml"
    config.write_text(config.read_text() + "bogus: [\n")
    said = lab.run("resume", one, code=2)
    assert said.err.count("\n") == 1
    assert lab.status(two) == "RUNNING"
    assert _attempts(lab, two) == [(1, None)]


def test_a_reboot_cancel_and_delete_work_as_with_a_session_of_its_own(lab: Lab) -> None:
    one, two = _start_two(lab)
    lab.run("reboot", one)
    lab.until("it runs again", lambda: _attempts(lab, one) == [(1, "interrupted"), (2, None)])
    lab.run("cancel", one, "--yes")
    assert lab.status(one) == "CANCELLED"
    lab.run("clean", "--yes", two)
    assert not (lab.root / f"jobs/ada/{two}").exists()
    assert lab.slices() == []


def test_what_is_over_is_not_begun_again_by_the_process_after(lab: Lab) -> None:
    """Killed after the end was written and before the job was taken off the list of those to do."""
    job = lab.create(lab.job("one", cmd=f"echo run >> {lab.root}/runs"))
    lab.until_status(job, "DONE")
    roster = lab.root / f"jobs/.jobman/sessions/shared-{os.getuid()}"
    lab.until("it is off", lambda: not [p for p in roster.iterdir() if p.is_file()])
    (roster / f"job-{job}").write_text(f'["{job}", "token"]')
    other = lab.create(lab.job("two", cmd="sleep 2", extra="on_end: delete"))
    lab.until_status(other, "DONE")
    lab.until("it is off", lambda: not [p for p in roster.iterdir() if p.is_file()])
    assert (lab.root / "runs").read_text() == "run\n"
    with sqlite3.connect(lab.root / "jobs/.jobman/jobman.db") as db:
        assert db.execute("SELECT COUNT(*) FROM attempts WHERE job = ?", [int(job)]).fetchone() == (
            1,
        )
    db.close()
