"""Jobs whose ``config.yaml`` was edited: what they run from the next start on, and what stays."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

QUEUE = "  queue:\n    enabled: true\n    config: tasks.yaml\n"


def config_of(lab: Lab, job: str) -> Path:
    """Give the file that a job's owner edits."""
    return lab.root / "jobs/ada" / job / "config.yaml"


def edit(lab: Lab, job: str, *changes: tuple[str, str]) -> None:
    """Edit a job's file."""
    path = config_of(lab, job)
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, text
        text = text.replace(old, new)
    path.write_text(text)


def write_tasks(lab: Lab, run: str = "echo task; sleep 600") -> None:
    lab.write("tasks.yaml", f"accelerators: {{v4-8: {{tasks: [{{id: one, run: '{run}'}}]}}}}\n")


def until_state(lab: Lab, *, running: int, ends: list[str]) -> None:
    """Wait until the state file, which may be some seconds behind, says this of the task."""

    def told() -> bool:
        one = YAML(typ="safe", pure=True).load(lab.root / "tasks_state.yaml")["tasks"]["one"]
        said = len(one["running"]), [end["status"] for end in one["history"]]
        return said == (running, ends)

    lab.until("the state file says so", told)


def said_by(lab: Lab, job: str, number: int, text: str) -> None:
    lab.until_output(f"jobs/ada/{job}/logs/command_run_{number:03d}_worker_0.log", text)


def test_a_worker_becomes_a_command_then_holds_then_takes_tasks_again(lab: Lab) -> None:
    write_tasks(lab)
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    lab.until_output("jobs/tasks/one/run_001_*_worker_0.log", "task")
    (slice_,) = lab.slices()

    edit(lab, job, ("enabled: true", "enabled: false"))
    with config_of(lab, job).open("a") as file:
        file.write("command:\n  cmd: echo fixed; sleep 600\n  workers: [0]\n")
    lab.run("reboot", job)
    said_by(lab, job, 1, "fixed")
    # What it ran is over, on record and in the file beside the tasks, before the command begins.
    one = lab.task("one")
    assert (one["status"], one["fail_count"], one["running"]) == ("PENDING", 0, [])
    assert [a["cause"] for a in one["attempts"]] == ["rebooted"]
    until_state(lab, running=0, ends=["interrupted"])
    assert lab.json("list")[0]["running"] == "command"
    shown = lab.json("show", job)
    assert (shown["name"], shown["status"]) == ("worker_1", "RUNNING")
    assert any(
        "counts from now on: it runs its command" in event["text"] for event in shown["events"]
    )

    text = config_of(lab, job).read_text()
    config_of(lab, job).write_text(text[: text.index("command:")])
    lab.run("reboot", job)
    lab.until("it holds", lambda: "holds its slice" in lab.json("show", job)["reason"])
    assert [a["outcome"] for a in lab.json("show", job)["attempts"]] == ["interrupted"] * 2

    edit(lab, job, ("enabled: false", "enabled: true"))
    lab.run("reboot", job)
    lab.until_output("jobs/tasks/one/run_002_*_worker_0.log", "task")
    assert lab.json("list")[0]["running"] == "one"
    until_state(lab, running=1, ends=["interrupted"])
    # It was the same slice all the time.
    assert lab.slices() == [slice_]


def test_a_command_becomes_a_worker(lab: Lab) -> None:
    write_tasks(lab)
    job = lab.create(lab.job(cmd="echo before"))
    lab.until_status(job, "DONE")
    edit(lab, job, ("job:\n", f"job:\n{QUEUE}"))
    # There is something new to do: it need not be said twice.
    said = lab.run("resume", job)
    assert "command is passed over" in said.err
    lab.until_output("jobs/tasks/one/run_001_*_worker_0.log", "task")
    shown = lab.json("show", job)
    assert (shown["name"], shown["status"]) == ("job_000001", "RUNNING")
    assert lab.json("queue", "tasks.yaml")["workers"]["v4-8"]["working"] == [job]


def test_an_edit_with_faults_is_refused_as_a_whole_and_the_job_goes_on_as_it_was(lab: Lab) -> None:
    write_tasks(lab)
    job = lab.create(lab.job(cmd="sleep 600"))
    lab.until_status(job, "RUNNING")
    before = lab.json("show", job)
    good = config_of(lab, job).read_text()

    edit(
        lab, job, ("loop: ", "lop: "), ("accelerator: v4-8", "accelerator: v9-8"), ("job_0", "j_0")
    )
    said = lab.run("reboot", job, code=2)
    for key in ("job.lop", "tpu.accelerator", "job.name"):
        assert f": {key}: " in said.err
    assert "keeps its name, job_000001" in said.err

    config_of(lab, job).write_text(good)
    edit(lab, job, ("job:\n", "job:\n" + QUEUE.replace("tasks.yaml", "nothing.yaml")))
    assert "nothing.yaml" in lab.run("reboot", job, code=2).err
    config_of(lab, job).write_text(good)
    edit(lab, job, ("job:\n", "job:\n  session: scren\n"))
    assert "'scren'" in lab.run("reboot", job, code=2).err

    config_of(lab, job).unlink()
    assert "create it anew" in lab.run("reboot", job, code=3).err
    after = lab.json("show", job)
    assert (after["attempts"], after["events"]) == (before["attempts"], before["events"])
    assert after["status"] == "RUNNING"


def test_a_slice_that_does_not_fit_any_more_is_given_back_after_a_yes(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo on $JOBMAN_NUM_WORKERS; sleep 600"))
    said_by(lab, job, 1, "on 1")
    (slice_,) = lab.slices()
    edit(lab, job, ("accelerator: v4-8", "accelerator: v4-16"))
    said = lab.run("reboot", job, code=2)
    assert "its file asks for accelerator v4-16 now, and the slice has v4-8" in said.err
    assert "add --yes" in said.err
    # Nothing was ended, and whoever resumes what is unattended does not give it back either.
    assert (lab.status(job), lab.slices()) == ("RUNNING", [slice_])
    lab.kill_controller(job)
    lab.run("resume", "--all")
    lab.until_output(f"jobs/ada/{job}/logs/job.log", "adopts attempt 1")
    assert lab.slices() == [slice_]

    edit(lab, job, ("accelerator: v4-16", "accelerator: v4-32"))
    assert "jobman reboot" in lab.run("resume", job).out
    lab.run("reboot", job, "--yes")
    said_by(lab, job, 2, "on 4")
    assert lab.slices() == ["job-000001-g2"]
    assert [view["accelerator"] for view in lab.json("list")] == ["v4-32"]


def test_a_file_that_changed_since_create_is_told_of_and_taken_in_by_reload(lab: Lab) -> None:
    write_tasks(lab)
    file = lab.job("worker", queue="tasks.yaml", loop="true", accelerator="v4-16")
    job = lab.create(file)
    mode = config_of(lab, job).stat().st_mode
    # Its original: other work, and another name, which the job does not take.
    lab.job("worker2", cmd="echo as $JOBMAN_TASK_ID; sleep 600", accelerator="v4-16")
    (lab.root / "worker2.yaml").replace(file)
    before = config_of(lab, job).read_text()
    said = lab.run("reboot", job)
    assert f"{file}, which it was created from, has changed since: `jobman reboot" in said.err
    assert config_of(lab, job).read_text() == before

    # Faults are all told, and change nothing.
    good = file.read_text()
    file.write_text(good.replace("loop:", "lop:").replace("v4-16", "v9-16"))
    said = lab.run("reboot", job, "--reload", code=2)
    assert [line.split(": ")[1] for line in said.err.splitlines()] == ["job.lop", "tpu.accelerator"]
    assert config_of(lab, job).read_text() == before

    file.write_text(good)
    said = lab.run("reboot", job, "--reload")
    assert "job.name is passed over: the job keeps its name, worker_1" in said.err
    said_by(lab, job, 1, "as worker_1")
    assert config_of(lab, job).stat().st_mode == mode
    assert "has changed" not in lab.run("reboot", job).err
