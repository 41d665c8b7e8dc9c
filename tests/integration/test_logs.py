"""``jobman logs`` on jobs that run: what is chosen, and what a follower gets to see and to know."""

import subprocess
import sys

import pytest
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

#: Says a number, then the next one once the file of that name is there.
STEPS = "for i in 1 2 3; do echo step $i; until [ -e {root}/go$i ]; do sleep 0.1; done; done"


def follow(lab: Lab, *args: str) -> subprocess.Popen[bytes]:
    """Follow a log, with both streams in files of the home."""
    with (lab.root / "out").open("wb") as out, (lab.root / "err").open("wb") as err:
        return subprocess.Popen(
            [sys.executable, "-m", "jobman_cli", "logs", "-f", *args],
            env=lab.env,
            cwd=lab.root,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )


def worker(lab: Lab, *tasks: str, accelerator: str = "v4-8") -> str:
    """Give a queue worker for a tasks file with one group."""
    body = "".join(f"      - {task}\n" for task in tasks)
    lab.write("tasks.yaml", f"accelerators:\n  {accelerator}:\n    tasks:\n{body}")
    return lab.create(lab.job("worker", queue="tasks.yaml", loop="true", accelerator=accelerator))


def test_a_follower_is_told_once_that_nobody_drives_the_job_and_goes_on(lab: Lab) -> None:
    job = lab.create(lab.job(cmd=STEPS.format(root=lab.root)))
    lab.until_output("jobs/ada/*/logs/*_worker_0.log", "step 1")
    program = follow(lab, job)
    try:
        lab.until_output("out", "step 1")
        lab.kill_controller(job)
        lab.until_output("err", f"job {job} has no controller: `jobman resume {job}` starts one")
        lab.write("go1", "")
        lab.run("resume", job)
        lab.until_output("out", "step 2")
        lab.write("go2", "")
        lab.until_output("out", "step 3")
        lab.write("go3", "")
        assert program.wait(30) == 0
    finally:
        program.kill()
        program.wait()
    assert (lab.root / "out").read_text() == "step 1\nstep 2\nstep 3\n"
    assert (lab.root / "err").read_text().count("no controller") == 1


def test_who_follows_a_controller_is_told_that_it_is_gone(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo up; sleep 300"))
    lab.until_output("jobs/ada/*/logs/*_worker_0.log", "up")
    program = follow(lab, job, "--controller")
    try:
        lab.until_output("out", "attempt 1")
        lab.kill_controller(job)
        lab.until_output("err", f"job {job} has no controller")
        assert program.poll() is None
    finally:
        program.kill()
        program.wait()


def test_a_follower_goes_from_task_to_task_and_over_a_re_creation(lab: Lab) -> None:
    long = f"echo long; until [ -e {lab.root}/go ]; do sleep 0.1; done"
    job = worker(
        lab,
        f"{{id: long, run: '{long}'}}",
        "{id: next, depends_on: long, run: 'echo next'}",
    )
    lab.until_output("jobs/tasks/long/run_001_*_worker_0.log", "long")
    program = follow(lab, job)
    try:
        lab.until_output("out", "long")
        lab.preempt(job)
        lab.until_output("jobs/tasks/long/run_002_*_worker_0.log", "long")
        lab.write("go", "")
        lab.until_output("out", "next")
        lab.run("stop", job)
        assert program.wait(30) == 0
    finally:
        program.kill()
        program.wait()
    heads = [line for line in (lab.root / "err").read_text().splitlines() if "==>" in line]
    assert heads == [
        "==> task long, run 1 <==",
        "==> task long, run 2 <==",
        "==> task next, run 1 <==",
    ]


def test_one_run_one_host_and_the_last_lines_can_be_chosen(lab: Lab) -> None:
    cmd = 'seq -f "host $JOBMAN_WORKER_ID line %g" 3; [ $JOBMAN_ATTEMPT != 1 ]'
    job = worker(lab, f"{{id: t, workers: all, run: {cmd!r}}}", accelerator="v4-16")
    lab.until("the task", lambda: lab.task("t")["status"] == "DONE")

    def said(*args: str) -> str:
        return lab.run("logs", *args).out

    assert said("--task", "t", "--run", "2", "--worker", "1", "--tail", "1") == "host 1 line 3\n"
    both = said("--task", "t", "--run", "1")
    assert both.splitlines() == [f"[{h}] host {h} line {n}" for h in (0, 1) for n in (1, 2, 3)]
    assert said("--task", "t", "--tail", "0") == ""
    assert said(job, "--worker", "0") == said("--task", "t", "--worker", "0")
    assert "task t" in said(job, "--controller")
    assert len(said(job, "--controller", "--tail", "2").splitlines()) == 2
    err = lab.run("logs", job, "--worker", "9", code=3).err
    assert err == "error: run 2 has no host 9: it has 0, 1\n"
    assert "no run 7: there are 1, 2" in lab.run("logs", "--task", "t", "--run", "7", code=3).err


def test_bytes_come_out_as_they_were_written(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="printf 'a\\0b\\377\\r\\n\\033[1mlast'"))
    lab.until_status(job, "DONE")
    program = follow(lab, job)
    assert program.wait(30) == 0
    assert (lab.root / "out").read_bytes() == b"a\0b\xff\r\n\x1b[1mlast"


def test_who_follows_is_told_why_nothing_is_said_and_how_it_ended(lab: Lab) -> None:
    lab.write("jobman.yaml", "session: process\nclouds: {local: {capacity: {full: 0}}}\n")
    waiting = lab.create(lab.job("waiting", zone="full"))
    with lab.start("logs", "-f", waiting) as following:
        lab.until_status(waiting, "QUEUEING")
        lab.until("it waits", lambda: "capacity" in lab.json("show", waiting)["reason"])
        lab.run("cancel", waiting)
        _, told = following.communicate(timeout=30)
    assert f"job {waiting} is QUEUEING" in told
    assert f"job {waiting} is CANCELLED" in told
    ended = lab.create(lab.job("ended", cmd="exit 3"))
    lab.until_status(ended, "FAILED")
    said = lab.run("logs", "-f", ended)
    assert f"job {ended} is FAILED: exit 3 on host 0" in said.err
    never = lab.create(lab.job("never"), "--no-start")
    assert "never started" in lab.run("logs", "-f", never).err
