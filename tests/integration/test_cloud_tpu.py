"""The tasks file of the seed on Cloud TPU: machines of their own, all of them spot."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from ruamel.yaml import YAML
from tests.integration.test_queue_mode import all_done, git
from tests.support.cloud import CloudLab
from tests.support.gateway import Witness, git_server, witness

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.timeout(240)]

QUEUE = "queue_machines/tasks.yaml"
#: What every task of the repository runs: the first attempt ends with its slice only.
SCRIPT = """
echo "$0 on $JOBMAN_ACCELERATOR in $JOBMAN_ZONE"
say() { echo "$JOBMAN_TASK_ID $JOBMAN_ATTEMPT $JOBMAN_JOB_ID $1" > "/dev/udp/$WITNESS"; }
say begins
n=0
while [ $n -lt 20 ] || { [ "$JOBMAN_ATTEMPT" = 1 ] && [ "$1" = long ]; }; do
    say lives
    sleep 0.05
    n=$((n + 1))
done
# A datagram may be lost, and this one is missed.
for _ in 1 2 3 4; do say ends; sleep 0.05; done
"""


@attrs.frozen
class Outside:
    """What hosts reach on this machine."""

    stack: ExitStack
    repositories: Path

    def serve(self, address: str) -> tuple[str, Witness, str]:
        """Serve the repositories and a witness at an address; give where, and who listens."""
        url = self.stack.enter_context(git_server(address, self.repositories))
        heard, port = self.stack.enter_context(witness(address))
        return url, heard, f"{address}/{port}"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    """Give a repository with what the tasks of the seed run, not yet served."""
    work = tmp_path / "work"
    for name in ("train/run_seed42", "train/run_seed43", "train/run_large", "eval/run_eval"):
        script = work / f"{name}.sh"
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(SCRIPT)
    git("init", "-q", "-b", "main", ".", cwd=work)
    git("add", ".", cwd=work)
    git("commit", "-qm", "scripts", cwd=work)
    (tmp_path / "served").mkdir()
    git("clone", "-q", "--bare", work, tmp_path / "served/myrepo.git", cwd=tmp_path)
    with ExitStack() as stack:
        yield Outside(stack, tmp_path / "served")


def _worker(lab: CloudLab, name: str, accelerator: str, zone: str, mode: str) -> str:
    tpu = f"pricing: spot\nallocation_mode: {mode}\n"
    config = lab.job(name, queue=QUEUE, loop="true", accelerator=accelerator, zone=zone, tpu=tpu)
    return lab.create(config)


def _gateway(lab: CloudLab, job: str) -> str:
    """Give this machine's address as a job's hosts see it, once there are any."""
    ip = lab.until("its hosts", lambda: [h["ip"] for h in lab.json("show", job)["hosts"]])[0]
    return ".".join([*ip.split(".")[:2], "0", "1"])


def _read_yaml(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path)


def test_the_tasks_file_of_the_seed_runs_to_its_end_through_spot_preemptions(
    netns_cloud: CloudLab, outside: Outside
) -> None:
    lab = netns_cloud
    lab.write(QUEUE, "accelerators: {}\n")
    node = _worker(lab, "small-node", "v6e-64", "us-central1-b", "tpu-vm")
    _worker(lab, "small-queued", "v6e-64", "us-central1-b", "queued-resources")
    _worker(lab, "large-queued", "v6e-128", "us-east5-b", "queued-resources")
    url, heard, port = outside.serve(_gateway(lab, node))
    lab.write(
        QUEUE,
        f"""
        # queue_machines/tasks.yaml
        repos:
          myrepo: {url}/myrepo.git
        defaults:
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
                run: WITNESS={port} bash train/run_seed42.sh long
              - id: train-model-seed43
                run: WITNESS={port} bash train/run_seed43.sh long
              - id: eval-model-seed42
                run: WITNESS={port} bash eval/run_eval.sh
                depends_on: train-model-seed42
          v6e-128:
            tasks:
              - id: train-large-model
                run: WITNESS={port} bash train/run_large.sh long
                max_jobs: 2
                zone: us-east5-b
        """,
    )
    long = {
        "train-model-seed42": "suspending-first",
        "train-model-seed43": "suspending-first",
        "train-large-model": "node-first",
    }
    for task, order in long.items():
        sign = lab.until(f"{task} runs", partial(heard.seen, task, 1, "lives"), 60)
        lab.preempt(sign.job, order=order)
    lab.until("all four tasks", lambda: all_done(lab, QUEUE), limit=90)

    attempts = {t: lab.json("queue", QUEUE, "--task", t)["attempts"] for t in long}
    for task in long:
        told = [(a["number"], a["outcome"], a["cause"]) for a in attempts[task]]
        assert told == [(1, "interrupted", "preempted"), (2, "succeeded", "exited")], task
    evaluation = lab.json("queue", QUEUE, "--task", "eval-model-seed42")["attempts"]
    assert [a["outcome"] for a in evaluation] == ["succeeded"]
    assert evaluation[0]["started"] >= attempts["train-model-seed42"][-1]["ended"]
    assert heard.overlaps() == []
    assert {sign.task for sign in heard.signs if sign.what == "ends"} == {
        *long,
        "eval-model-seed42",
    }

    (meta,) = lab.root.glob("jobs/tasks/eval-model-seed42/run_001_job*_meta.yaml")
    commit = git("rev-parse", "HEAD", cwd=outside.repositories / "myrepo.git")
    assert _read_yaml(meta)["commit"] == commit
    (log,) = lab.root.glob("jobs/tasks/train-large-model/run_002_job*_worker_0.log")
    assert log.read_text() == "train/run_large.sh on v6e-128 in us-east5-b\n"
    state = lab.root / "queue_machines/tasks_state.yaml"
    lab.until("the state file", lambda: state.read_text().count("done: true") == len(long) + 1)
    history = _read_yaml(state)["tasks"]["train-large-model"]["history"]
    assert [run["status"] for run in history] == ["interrupted", "completed"]
