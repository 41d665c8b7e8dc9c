"""A checkout of Jobman v3 as people have it, written from what its code does."""

import json
from pathlib import Path

import pytest

TASKS = """\
defaults:
  max_retries: 3
accelerators:
  v6e-64:
    tasks:
      - id: train-model-seed42
        run: bash train/run_seed42.sh
      - id: train-model-seed43
        run: bash train/run_seed43.sh
      - id: secret-probe
        run: bash probe.sh
        hide: true
"""
STATE = """\
tasks:
  train-model-seed42:
    done: true
    running: []
    run_count: 2
    fail_count: 0
    history:
    - job_id: '000045'
      started: '2025-01-15T08:00:00'
      ended: '2025-01-15T08:45:00'
      status: interrupted
    - job_id: '000047'
      started: '2025-01-15T09:00:00'
      ended: '2025-01-15T14:30:00'
      status: completed
  train-model-seed43:
    done: false
    running:
    - job_id: '000048'
      started: '2025-01-15T14:35:00.123456'
    run_count: 1
    history: []
  gone-from-the-file:
    done: true
    run_count: 1
    history:
    - job_id: '000045'
      started: '2025-01-14T08:00:00'
      ended: '2025-01-14T09:00:00'
      status: completed
"""


def config(checkout: Path, user: str, job: str, *, queue: bool) -> str:
    """Give what v3 saves of a job: its own keys among the user's, all in block style."""
    name = f"myproject-qw-v6e-64_{int(job) - 44}" if queue else f"holder_{job}"
    work = (
        f"""\
  worker_num: {int(job) - 44}
  queue:
    enabled: true
    config: queue_machines/tasks.yaml
    prefix:
    - name: gcloud-setup
      workers: 0
      run: 'gcloud config set compute/zone ${{tpu.zone}}

        echo ready

        '
"""
        if queue
        else ""
    )
    command = "" if queue else "command:\n  cmd: sleep infinity\n  workers: all\n"
    return f"""\
job:
  name: {name}
  env_type: null
  loop: true
  remote_user: {user}
{work}  id: '{job}'
  user: {user}
  dir: {checkout}/jobs/{user}/{job}
tpu:
  allocation_mode: {"queued-resources" if queue else "tpu-vm"}
  accelerator: v6e-64
  name: {name}
  zone: us-central1-b
  version: v2-alpha-tpuv6e
  pricing: spot
  tags:
  - jobman
  flags:
  - --project=my-project
  num_workers: 16
  ips:
  - worker: 0
    external_ip: 34.1.2.3
    internal_ip: 10.0.0.2
  - worker: 1
    external_ip: 34.1.2.4
    internal_ip: 10.0.0.3
ssh: null
gcsfuse: null
{command}"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Two queue workers and a job that holds its slice, of two people; three tasks with logs."""
    root = tmp_path / "jobman"
    files = {
        "queue_machines/tasks.yaml": TASKS,
        "queue_machines/tasks_state.yaml": STATE,
        "jobs/.jobman/lock": "",
        "jobs/.jobman/next_job_id.txt": "60",
        "jobs/tasks/train-model-seed42/run_001_job000045_worker_0.log": "step 1\n",
        "jobs/tasks/train-model-seed42/run_001_job000045_meta.yaml": "exit_code: null\n",
        "jobs/tasks/train-model-seed42/run_002_job000047_worker_0.log": "step 2\ndone\n",
        "jobs/tasks/hide/secret-probe/run_001_job000045_worker_0.log": "psst\n",
        "jobs/tasks/gone-from-the-file/run_001_job000045_worker_0.log": "old\n",
    }
    meta: dict[str, object] = {}
    for user, job, queue in (
        ("alice", "000045", True),
        ("alice", "000047", True),
        ("bob", "000050", False),
    ):
        folder = f"jobs/{user}/{job}"
        files[f"{folder}/config.yaml"] = config(root, user, job, queue=queue)
        files[f"{folder}/logs/job.log"] = f"job {job} says hello\n"
        files[f"{folder}/logs/tpu.log"] = "requesting\n"
        meta[f"job_{job}"] = {
            "job_id": job,
            "user": user,
            "job_dir": str(root / folder),
            "created_at": "2025-01-15T07:00:00.5",
            "status": "RUNNING",
            "session_name": f"job_{job}",
        }
    files["jobs/bob/000050/logs/command_run_003_worker_0.log"] = "third run\n"
    files["jobs/bob/000050/logs/command_run_003_worker_1.log"] = "third run, too\n"
    meta["job_000051"] = {"job_id": "000051", "job_dir": "/gone"}
    files["jobs/.jobman/meta.json"] = json.dumps(meta, indent=2)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root
