"""Controllers that are killed, and links that drop, at the moments that matter most."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cloud import ZONE, CloudLab

from jobman_emulator.process_hosts import ProcessHosts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

ROOT = Path(__file__).parents[3]
QUEUED = "allocation_mode: queued-resources\n"


def worker(cloud: CloudLab, run: str, tpu: str = "") -> Path:
    """Write a queue of one task, and a job that does it and is done."""
    tasks = f"accelerators: {{v4-8: {{tasks: [{{id: only, run: '{run}'}}]}}}}\n"
    cloud.write("tasks.yaml", tasks)
    extra = "queue: {enabled: true, config: tasks.yaml, idle_timeout: 0.2s}\n"
    return cloud.job(cmd=None, loop="true", extra=extra, tpu=tpu)


def attempts(cloud: CloudLab, job: str) -> list[tuple[str, int]]:
    """Give the outcome and the exit code of each of a job's attempts."""
    return [(each["outcome"], each["exit_code"]) for each in cloud.json("show", job)["attempts"]]


@pytest.mark.parametrize("moment", ["after store.claim 1", "after store.save_attempt 1"])
def test_f37_a_task_whose_controller_died_between_claim_and_launch_is_run_once(
    cloud: CloudLab, moment: str
) -> None:
    starts = cloud.root / "starts"
    job = cloud.create(worker(cloud, f"echo $JOBMAN_ATTEMPT >> {starts}"), "--no-start")
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.doomed", str(cloud.root), job, moment],
        env=cloud.env,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done
    assert not starts.exists()
    cloud.run("resume", job)
    cloud.until_status(job, "DONE")
    assert cloud.task("only")["status"] == "DONE"
    assert starts.read_text(encoding="utf-8").split() == ["1"]


def test_f38_a_request_that_waits_is_adopted_with_its_type_by_the_next_controller(
    cloud: CloudLab,
) -> None:
    cloud.emulator.capacity(ZONE, "v4-8", 0)
    job = cloud.create(worker(cloud, "true", QUEUED))
    cloud.until("it waits", lambda: "WAITING_FOR_RESOURCES" in cloud.json("show", job)["reason"])
    name = cloud.slice(job)
    cloud.kill_controller(job)
    cloud.run("resume", job)
    cloud.emulator.capacity(ZONE, "v4-8", 1)
    # A task is only for a slice of its type.
    cloud.until_status(job, "DONE")
    assert cloud.task("only")["status"] == "DONE"
    (listed,) = cloud.json("list")
    assert (listed["accelerator"], listed["zone"]) == ("v4-8", ZONE)
    assert cloud.slice(job) == name


def test_f40_restarts_that_are_used_up_stay_so_when_the_controller_is_killed_between_them(
    cloud: CloudLab,
) -> None:
    gate = cloud.root / "go"
    script = f"echo begun; until [ -e {gate}.$JOBMAN_ATTEMPT ]; do sleep 0.1; done; exit 3"
    job = cloud.create(cloud.job(cmd=script, loop="true", extra="max_restarts: 1\n"))
    Path(f"{gate}.1").touch()
    cloud.until_output("jobs/*/*/logs/command_run_002_worker_0.log", "begun")
    cloud.kill_controller(job)
    cloud.run("resume", "--all")
    Path(f"{gate}.2").touch()
    cloud.until_status(job, "FAILED")
    assert "started again 1 times" in cloud.json("show", job)["reason"]
    assert attempts(cloud, job) == [("failed", 3), ("failed", 3)]


@pytest.mark.parametrize("controller", ["sleeps", "is killed"])
def test_f41_a_run_that_ends_while_the_link_is_down_is_not_run_again(
    cloud: CloudLab, controller: str
) -> None:
    gate, ends = cloud.root / "go", cloud.root / "ends"
    script = f"echo begun; until [ -e {gate} ]; do sleep 0.1; done; echo end | tee -a {ends}"
    job = cloud.create(cloud.job(cmd=script, loop="true"))
    cloud.until_output("jobs/*/*/logs/command_run_001_worker_0.log", "begun")
    fate = signal.SIGSTOP if controller == "sleeps" else signal.SIGKILL
    pid = cloud.kill_controller(job, fate)
    cloud.cut_links()
    gate.touch()
    cloud.until("the program ends", ends.exists)
    if controller == "sleeps":
        os.kill(pid, signal.SIGCONT)
    else:
        cloud.run("resume", job)
    cloud.until_status(job, "DONE")
    assert attempts(cloud, job) == [("succeeded", 0)]
    assert ends.read_text(encoding="utf-8") == "end\n"
    assert cloud.run("logs", job).out == "begun\nend\n"


def test_f44_a_host_that_does_not_answer_once_is_asked_again_and_nothing_is_replaced(
    cloud: CloudLab,
) -> None:
    assert isinstance(cloud.machines, ProcessHosts)
    gate = cloud.root / "go"
    script = f"echo begun; until [ -e {gate} ]; do sleep 0.1; done"
    cloud.ssh("options: {ConnectTimeout: 1}")
    job = cloud.create(cloud.job(cmd=script, loop="true"))
    cloud.until_output("jobs/*/*/logs/command_run_001_worker_0.log", "begun")
    cloud.machines.latency = 5.0
    cloud.cut_links()
    cloud.until_output("jobs/*/*/logs/job.log", "cannot be reached")
    cloud.machines.latency = 0.0
    gate.touch()
    cloud.until_status(job, "DONE")
    assert attempts(cloud, job) == [("succeeded", 0)]
    shown = cloud.json("show", job)
    assert shown["slice"]["generation"] == 1
    assert cloud.json("list")[0]["recoveries"] == 0
