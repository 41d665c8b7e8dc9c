"""Workers that take tasks from a queue: claim, run, release, and what comes between."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e


def git(*args: str | Path, cwd: Path) -> str:
    """Run git as somebody."""
    who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(
        ["git", *who, *map(str, args)], cwd=cwd, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Give a bare repository with what the tasks of the seed run."""
    work = tmp_path / "work"
    for name in ("train/run_seed42", "train/run_seed43", "train/run_large", "eval/run_eval"):
        script = work / f"{name}.sh"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(f"echo {name} on $JOBMAN_ACCELERATOR in $JOBMAN_ZONE\nsleep 1\n")
    git("init", "-q", "-b", "main", ".", cwd=work)
    git("add", ".", cwd=work)
    git("commit", "-qm", "scripts", cwd=work)
    bare = tmp_path / "repo.git"
    git("clone", "-q", "--bare", work, bare, cwd=tmp_path)
    return bare


def read_yaml(path: Path) -> Any:
    """Read a file as other tools do."""
    return YAML(typ="safe", pure=True).load(path)


def worker(lab: Lab, name: str = "worker", **more: str) -> Path:
    """Write the file of a queue worker."""
    return lab.job(name, queue=more.pop("queue", "tasks.yaml"), loop="true", **more)


def write_tasks(lab: Lab, *tasks: str, name: str = "tasks.yaml", accelerator: str = "v4-8") -> Path:
    """Write a tasks file with one group."""
    body = "".join(f"      - {task}\n" for task in tasks)
    return lab.write(name, f"accelerators:\n  {accelerator}:\n    tasks:\n{body}")


def all_done(lab: Lab, queue: str = "tasks.yaml") -> bool:
    """Tell whether every task is done."""
    return {t["status"] for t in lab.json("queue", queue)["tasks"]} == {"DONE"}


def test_the_tasks_file_of_the_seed_runs_with_local_workers(lab: Lab, repository: Path) -> None:
    lab.write(
        "queue_machines/tasks.yaml",
        f"""
        # queue_machines/tasks.yaml
        repos:
          myrepo: {repository}
        defaults:
          env: my_venv              # venv/conda environment name
          repo: myrepo              # Default repo key
          branch: main              # Default branch
          workdir: myrepo           # Directory to clone into (~/<workdir>)
          zone: us-central1-b       # Default zone for task matching
          max_jobs: 1
          max_retries: 3
        accelerators:
          v6e-64:
            tasks:
              - id: train-model-seed42
                run: bash train/run_seed42.sh
              - id: train-model-seed43
                run: bash train/run_seed43.sh
              - id: eval-model-seed42
                run: bash eval/run_eval.sh
                depends_on: train-model-seed42
          v6e-128:
            tasks:
              - id: train-large-model
                run: bash train/run_large.sh
                max_jobs: 2
                zone: us-east5-b
        """,
    )
    queue = "queue_machines/tasks.yaml"
    small = worker(lab, "small", queue=queue, accelerator="v6e-64", zone="us-central1-b")
    large = worker(lab, "large", queue=queue, accelerator="v6e-128", zone="us-east5-b")
    lab.create(small)
    lab.create(small)
    lab.create(large)
    lab.until("all four tasks", lambda: all_done(lab, queue), limit=90)
    commit = git("rev-parse", "HEAD", cwd=repository)
    (meta,) = lab.root.glob("jobs/tasks/eval-model-seed42/run_001_job*_meta.yaml")
    assert read_yaml(meta)["commit"] == commit
    (log,) = lab.root.glob("jobs/tasks/train-large-model/run_001_job*_worker_0.log")
    assert log.read_text() == "train/run_large on v6e-128 in us-east5-b\n"
    train, evaluation = (
        lab.json("queue", queue, "--task", name)["attempts"][0]
        for name in ("train-model-seed42", "eval-model-seed42")
    )
    assert evaluation["started"] >= train["ended"]
    state = lab.root / "queue_machines/tasks_state.yaml"
    lab.until("the state file", lambda: state.read_text().count("done: true") == 4)
    history = read_yaml(state)["tasks"]["train-large-model"]["history"]
    assert [run["status"] for run in history] == ["completed"]


def test_two_queues_in_one_folder_keep_apart(lab: Lab) -> None:
    write_tasks(lab, "{id: same, run: echo one}", name="one.yaml")
    write_tasks(lab, "{id: same, run: echo two}", name="two.yaml")
    lab.create(worker(lab, "first", queue="one.yaml"))
    lab.until("the first queue", lambda: all_done(lab, "one.yaml"))
    assert lab.json("queue", "two.yaml")["tasks"][0]["status"] == "PENDING"
    lab.create(worker(lab, "second", queue="two.yaml"))
    lab.until("the second queue", lambda: all_done(lab, "two.yaml"))
    assert lab.run("logs", "--task", "same", "--queue", "one.yaml").out == "one\n"
    assert lab.run("logs", "--task", "same", "--queue", "two.yaml").out == "two\n"
    assert (lab.root / "one_state.yaml").exists()
    assert (lab.root / "two_state.yaml").exists()


def test_a_preempted_task_is_interrupted_without_a_failure_and_goes_on_elsewhere(lab: Lab) -> None:
    go = lab.root / "go"
    write_tasks(
        lab, f"{{id: long, run: 'echo t1; until [ -e {go} ]; do sleep 0.1; done; echo t2'}}"
    )
    first = lab.create(worker(lab))
    lab.until_output("jobs/tasks/long/run_001_*_worker_0.log", "t1")
    lab.create(worker(lab))
    lab.preempt(first)
    lab.until_output("jobs/tasks/long/run_002_*_worker_0.log", "t1")
    go.touch()
    lab.until("the task", lambda: all_done(lab))
    task = lab.task("long")
    assert task["fail_count"] == 0
    assert [(a["number"], a["outcome"]) for a in task["attempts"]] == [
        (1, "interrupted"),
        (2, "succeeded"),
    ]
    assert lab.run("logs", "--task", "long", "--run", "1").out == "t1\n"
    assert lab.run("logs", "--task", "long", "--run", "2").out == "t1\nt2\n"


def test_a_failing_task_is_tried_max_retries_times_and_blocks_what_depends_on_it(lab: Lab) -> None:
    write_tasks(
        lab,
        "{id: bad, run: exit 5, max_retries: 2}",
        "{id: after, run: echo after, depends_on: bad}",
        "{id: last, run: echo last, depends_on: [after]}",
    )
    lab.create(worker(lab))
    lab.until("bad has failed", lambda: lab.task("bad")["status"] == "FAILED")
    bad = lab.task("bad")
    assert [a["exit_code"] for a in bad["attempts"]] == [5, 5]
    for name in ("after", "last"):
        task = lab.task(name)
        assert task["status"] == "BLOCKED"
        assert "bad" in task["reason"]
    lab.write("fixed", "")
    text = (lab.root / "tasks.yaml").read_text().replace("exit 5", "echo good now")
    lab.write("tasks.yaml", text)
    lab.run("queue", "tasks.yaml", "--reset-failed")
    lab.until("all are revived", lambda: all_done(lab))
    assert [a["number"] for a in lab.task("bad")["attempts"]] == [1, 2, 3]


def test_an_idle_worker_takes_what_is_added_reset_or_unblocked(lab: Lab) -> None:
    write_tasks(lab, "{id: one, run: echo one}")
    job = lab.create(worker(lab))
    lab.until("the first", lambda: all_done(lab))
    lab.until_status(job, "IDLE")
    write_tasks(lab, "{id: one, run: echo one}", "{id: two, run: echo two}")
    lab.until("what was added", lambda: lab.task("two")["status"] == "DONE")
    lab.run("queue", "tasks.yaml", "--reset", "one")
    lab.until("what was reset", lambda: len(lab.task("one")["attempts"]) == 2)
    write_tasks(
        lab,
        "{id: one, run: echo one}",
        "{id: gate, run: exit 1, max_retries: 1}",
        "{id: three, run: echo three, depends_on: gate}",
    )
    lab.until("it is blocked", lambda: lab.task("three")["status"] == "BLOCKED")
    lab.run("queue", "tasks.yaml", "--done", "gate")
    lab.until("what was unblocked", lambda: lab.task("three")["status"] == "DONE")


def test_if_host_2_of_4_exits_3_the_others_are_ended_and_the_first_cause_is_seen(lab: Lab) -> None:
    run = "if [ $JOBMAN_WORKER_ID = 2 ]; then sleep 1; exit 3; fi; sleep 600"
    write_tasks(
        lab, f"{{id: wide, run: '{run}', workers: all, max_retries: 1}}", accelerator="v4-32"
    )
    lab.create(worker(lab, accelerator="v4-32"))
    lab.until("it has failed", lambda: lab.task("wide")["status"] == "FAILED")
    (attempt,) = lab.task("wide")["attempts"]
    assert (attempt["outcome"], attempt["exit_code"]) == ("failed", 3)
    assert "host 2" in lab.task("wide")["reason"]
    assert not [p for p in lab.processes() if "sleep" in p]


def test_requeue_gives_the_task_back_and_takes_another_one(lab: Lab) -> None:
    write_tasks(lab, "{id: first, run: sleep 600}", "{id: second, run: sleep 600}")
    job = lab.create(worker(lab))
    lab.until("it runs the first", lambda: lab.json("show", job)["status"] == "RUNNING")
    lab.until_output("jobs/ada/*/logs/job.log", "runs first")
    lab.run("requeue", job)
    lab.until_output("jobs/ada/*/logs/job.log", "runs second")
    first = lab.task("first")
    assert (first["status"], first["fail_count"]) == ("PENDING", 0)
    assert [a["cause"] for a in first["attempts"]] == ["requeued"]


def test_a_reset_of_a_running_task_ends_its_attempt_first_and_needs_a_yes(lab: Lab) -> None:
    write_tasks(lab, "{id: long, run: sleep 600}")
    lab.create(worker(lab))
    lab.until_output("jobs/ada/*/logs/job.log", "runs long, attempt 1")
    before = lab.task("long")["attempts"][0]
    lab.run("queue", "tasks.yaml", "--reset", "long", code=2)
    assert lab.task("long")["attempts"] == [before]
    lab.run("queue", "tasks.yaml", "--reset", "long", "--yes")
    lab.until_output("jobs/ada/*/logs/job.log", "runs long, attempt 2")
    ended, _ = lab.task("long")["attempts"]
    assert (ended["outcome"], ended["cause"]) == ("interrupted", "reset")


def test_cleanup_resolves_only_what_lost_its_controller(lab: Lab) -> None:
    write_tasks(lab, "{id: lost, run: sleep 600}", "{id: kept, run: sleep 600}")
    first = lab.create(worker(lab))
    lab.until_output(f"jobs/ada/{first}/logs/job.log", "runs lost")
    second = lab.create(worker(lab))
    lab.until_output(f"jobs/ada/{second}/logs/job.log", "runs kept")
    lab.kill_controller(first)
    assert "no controller" in lab.json("show", first)["reason"]
    assert lab.task("lost")["status"] == "RUNNING"
    lab.run("queue", "tasks.yaml", "--cleanup")
    lost, kept = lab.task("lost"), lab.task("kept")
    assert (lost["status"], lost["attempts"][0]["cause"]) == ("PENDING", "stale")
    assert kept["status"] == "RUNNING"


def test_max_jobs_2_runs_twice_at_once_and_the_first_success_makes_it_done(lab: Lab) -> None:
    run = f"until [ -e {lab.root}/go-$JOBMAN_JOB_ID ]; do sleep 0.1; done"
    write_tasks(lab, f"{{id: twice, run: '{run}', max_jobs: 2}}")
    for _ in range(3):
        lab.create(worker(lab))
    first, second = lab.until(
        "two at once", lambda: r if len(r := lab.task("twice")["running"]) == 2 else None
    )
    lab.write(f"go-{first}", "")
    lab.until("done", lambda: lab.task("twice")["status"] == "DONE")
    assert lab.task("twice")["running"] == [second]
    lab.write(f"go-{second}", "")
    lab.until("the other goes on to its end", lambda: not lab.task("twice")["running"])
    assert [a["outcome"] for a in lab.task("twice")["attempts"]] == ["succeeded", "succeeded"]


def test_task_ids_branches_and_environment_values_are_data(lab: Lab, repository: Path) -> None:
    canary = Path(f"/tmp/never-{os.getpid()}")
    evil = f"$(touch {canary})`touch {canary}`; touch {canary}"
    lab.write(
        "tasks.yaml",
        f"""
        repos: {{r: {repository}}}
        accelerators:
          v4-8:
            tasks:
              - id: "../{evil}"
                run: echo "$JOBMAN_TASK_ID"
              - id: branch
                repo: r
                branch: "{evil}"
                run: echo never
                max_retries: 1
        """,
    )
    lab.create(worker(lab, extra=f"environment: {{X: '{evil}'}}"))
    lab.until(
        "both", lambda: [t["status"] for t in lab.json("queue")["tasks"]] == ["DONE", "FAILED"]
    )
    assert lab.run("logs", "--task", f"../{evil}").out == f"../{evil}\n"
    assert not canary.exists()
    assert not [p for p in lab.root.parent.rglob("run_001*") if "tasks" not in p.parts]


def test_an_idle_worker_gives_its_slice_back_after_its_idle_timeout_and_can_be_resumed(
    lab: Lab,
) -> None:
    write_tasks(lab, "{id: one, run: echo one}")
    config = lab.write(
        "worker.yaml",
        """
        job:
          name: worker
          loop: true
          queue: {enabled: true, config: tasks.yaml, idle_timeout: 2s}
        tpu: {cloud: local, accelerator: v4-8, zone: here}
        """,
    )
    job = lab.create(config)
    lab.until_status(job, "DONE")
    lab.until("its slice is gone", lambda: not lab.slices())
    assert lab.task("one")["status"] == "DONE"
    write_tasks(lab, "{id: two, run: echo two}")
    lab.run("resume", job)
    lab.until("what came later", lambda: lab.task("two")["status"] == "DONE")


def test_a_worker_that_is_resumed_goes_on_with_its_task(lab: Lab) -> None:
    write_tasks(lab, "{id: long, run: 'for i in $(seq 1 20); do echo t$i; sleep 0.2; done'}")
    job = lab.create(worker(lab))
    log = lab.until_output("jobs/tasks/long/run_001_*_worker_0.log", "t3")
    lab.kill_controller(job)
    lab.run("resume", "--all")
    lab.until("the task", lambda: all_done(lab))
    assert log.read_text() == "".join(f"t{i}\n" for i in range(1, 21))
    assert [a["outcome"] for a in lab.task("long")["attempts"]] == ["succeeded"]


def test_a_tasks_file_made_invalid_under_a_worker_is_said_and_the_last_version_stays(
    lab: Lab,
) -> None:
    write_tasks(lab, "{id: one, run: echo one}")
    lab.create(worker(lab))
    lab.until("the first", lambda: all_done(lab))
    lab.write("tasks.yaml", "accelerators: {v4-8: {tasks: [{id: one, rum: echo}]}}")
    view = lab.run("queue", "tasks.yaml")
    assert "rum" in view.out + view.err
    assert lab.task("one")["status"] == "DONE"
    write_tasks(lab, "{id: two, run: echo two}")
    lab.until("it recovers by itself", lambda: lab.task("two")["status"] == "DONE")
