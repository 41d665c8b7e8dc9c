"""The worker file of the seed, whole, on machines of their own: prepared, preempted, prepared."""

import socket
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import asyncssh
import attrs
import pytest
from tests.support import wheels
from tests.support.buckets import BucketServer, bucket_server, stand_in
from tests.support.cloud import CloudLab

from jobman_emulator.netns_hosts import NetnsHosts

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.root,
    pytest.mark.fuse,
    pytest.mark.timeout(300),
]

QUEUE = "queue_machines/tasks.yaml"
#: What a machine has from the start in place of a way to the outside: gcsfuse, and an index.
STARTUP = """#!/bin/bash
gateway=$(hostname -I | cut -d . -f 1,2).0.1
printf '[global]\\nindex-url = http://%s:{index}/simple\\ntrusted-host = %s\\n' \
    "$gateway" "$gateway" > /etc/pip.conf
cat > /usr/local/bin/gcsfuse.new << 'END'
{stand_in}
END
chmod 755 /usr/local/bin/gcsfuse.new
mv /usr/local/bin/gcsfuse.new /usr/local/bin/gcsfuse
"""
#: As the seed writes it, but for what there is to name here.
WORKER = """
job:
  name: myproject-qw-${{tpu.accelerator}}  # Auto-suffixed with worker_num
  env_type: venv
  loop: true                              # Auto-restart on preemption
  remote_user: ada

  # Environment variables exported before EACH task
  environment:
    BUCKET_NAME: ${{gcsfuse.bucket_name}}
    TPU_PREFIX: ${{tpu.name}}

  # Queue configuration
  queue:
    enabled: true
    config: queue_machines/tasks.yaml

    # Prefix scripts run ONCE when TPU is ready (before any task)
    prefix:
      - name: "gcloud-setup"
        workers: 0              # Run only on worker 0
        required: true        # If true, job stops if prefix fails
        run: |
          echo "Setting up $BUCKET_NAME in ${{tpu.zone}}..." >> ~/set-up
      - name: "everywhere"
        workers: "all"
        run: |
          echo "and $JOBMAN_WORKER_ID" >> ~/set-up

tpu:
  allocation_mode: "queued-resources"
  accelerator: v4-16
  name: myproject-qw-${{tpu.accelerator}}
  zone: {zone}
  version: tpu-ubuntu2204-base
  pricing: spot
  tags: ["jobman", "queue-worker"]
  startup_script: |
{startup}
gcsfuse:
  bucket_name: my-bucket
  mount_path: ~/gcs
  extra_mounts:
    - mount_path: /mnt/cached/gcs
      cache:
        dir: /mnt/ramdisk
        metadata_ttl_secs: -1            # Never expire metadata
        stat_cache_max_size_mb: -1       # Unlimited stat cache
        type_cache_max_size_mb: -1       # Unlimited type cache
        file_cache_max_size_mb: 1
        cache_file_for_range_read: true
        enable_parallel_downloads: true
        # Create ramdisk before mounting
        prefix: |
          sudo mkdir -p /mnt/ramdisk
          if ! mountpoint -q /mnt/ramdisk; then
              sudo mount -t tmpfs -o size=1M tmpfs /mnt/ramdisk
          fi

ssh:
  private_key: {key}
  port: {port}
  identities:
    - private_key: {key}
      public_key: {key}.pub
      config_entry: |
        Host 10.* 34.* 35.*
          IdentityFile ~/.ssh/id_ed25519
          IdentitiesOnly yes

venv:
  name: my_venv
  requirements_file: assets/requirements.txt
  python: "python3.11"
"""
#: The first attempt writes a checkpoint and trains on, until its slice is lost.
TRAIN = """
if [ "$JOBMAN_ATTEMPT" = 1 ]; then
    [ "$JOBMAN_WORKER_ID" != 0 ] || echo 'step 7' > ~/gcs/checkpoint
    echo trains
    sleep 1000
fi
echo "goes on from $(cat ~/gcs/checkpoint), and $(cat /mnt/cached/gcs/checkpoint) with a cache"
findmnt -n -o FSTYPE /mnt/ramdisk
python -c 'import sys, tool; print(sys.prefix == sys.base_prefix, tool.VERSION)'
grep -c IdentitiesOnly ~/.ssh/config
stat -c %a ~/.ssh/id_ed25519
cat ~/set-up
echo "$BUCKET_NAME $TPU_PREFIX"
"""


@attrs.frozen
class Outside:
    """What hosts reach on this machine: buckets, and an index of packages."""

    stack: ExitStack
    folder: Path
    #: Of the buckets, and of the index.
    ports: tuple[int, int]

    def serve(self, address: str = "127.0.0.1") -> BucketServer:
        """Serve both at an address."""
        buckets, index = self.ports
        wheels_ = wheels.serve(self.folder / "wheels", address=address, port=index)
        self.stack.enter_context(wheels_)
        folder, place = self.folder / "buckets", "US-CENTRAL2"
        server = bucket_server(folder, address=address, port=buckets, location=place)
        return self.stack.enter_context(server)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    """Give them, not yet served, with two versions of a package."""
    with ExitStack() as free, ExitStack() as stack:
        sockets = [free.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        buckets, index = (each.getsockname()[1] for each in sockets)
        free.close()
        for version in ("1.0", "2.0"):
            wheels.make_wheel(tmp_path / "wheels", "tool", version)
        yield Outside(stack, tmp_path, (buckets, index))


def _worker(lab: CloudLab, outside: Outside, zone: str) -> str:
    buckets, index = outside.ports
    # The hosts' own network has this machine as its first address.
    endpoint = f"http://$(hostname -I | cut -d . -f 1,2).0.1:{buckets}"
    startup = STARTUP.format(index=index, stand_in=stand_in("2.5.1", endpoint))
    indented = "".join(f"    {line}\n" for line in startup.splitlines())
    worker = WORKER.format(startup=indented, key=lab.key, port=lab.ssh_port, zone=zone)
    lab.write("assets/requirements.txt", "tool == 1.0\n")
    asyncssh.read_private_key(lab.key).write_public_key(f"{lab.key}.pub")
    return str(lab.write("queue_machines/worker_v4.yaml", worker))


def test_the_worker_file_of_the_seed_comes_back_from_a_preemption_with_all_that_it_prepared(
    netns_cloud: CloudLab, outside: Outside
) -> None:
    lab, machines = netns_cloud, netns_cloud.machines
    assert isinstance(machines, NetnsHosts)
    lab.write(
        QUEUE,
        f"""
        defaults: {{env: my_venv, zone: us-central2-b, workers: all}}
        accelerators:
          v4-16:
            tasks:
              - id: train
                run: |
{textwrap.indent(TRAIN, " " * 18)}
        """,
    )
    here = outside.serve()
    here.make("my-bucket")
    lab.env["STORAGE_EMULATOR_HOST"] = here.url

    far = _worker(lab, outside, "us-central1-b")
    told = "gcsfuse.bucket_name: gs://my-bucket is in us-central2, far from us-central1-b"
    assert told in lab.run("create", far, code=2).err
    assert told in lab.run("create", far, "--dry-run", "--force-region").err

    job = lab.create(_worker(lab, outside, "us-central2-b"))
    outside.serve(lab.until("its network", lambda: machines.gateway))
    lab.until_output("jobs/tasks/train/run_001_*_worker_1.log", "trains")
    lab.until("the checkpoint", (here.folder / "my-bucket/checkpoint").exists)
    # What is needed next has changed meanwhile.
    lab.write("assets/requirements.txt", "tool == 2.0\n")
    lab.preempt(job)
    lab.until_output("jobs/tasks/train/run_002_*_worker_0.log", "my-bucket myproject")
    lab.until("its end", lambda: lab.json("queue", QUEUE)["tasks"][0]["status"] == "DONE")
    for worker in range(2):
        (log,) = lab.root.glob(f"jobs/tasks/train/run_002_*_worker_{worker}.log")
        first = ["Setting up my-bucket in us-central2-b..."] if worker == 0 else []
        assert log.read_text().splitlines() == [
            "goes on from step 7, and step 7 with a cache",
            "tmpfs",
            "False 2.0",
            "1",
            "600",
            *first,
            f"and {worker}",
            "my-bucket myproject-qw-v4-16-1",
        ]
    # What is secret stands where nobody else reads it: on the hosts alone.
    secret = lab.key.read_bytes().splitlines()[2]
    for path in (lab.root / "jobs").rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes(), path
