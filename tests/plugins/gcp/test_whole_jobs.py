"""Whole jobs on an emulated Cloud TPU, whose hosts are reached by SSH as anywhere."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab

from jobman_emulator.process_hosts import ProcessHosts
from jobman_emulator.testing import Running, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

#: Bytes of resident memory that a controller of its own may take.
MOST = 90e6
MODES = ["tpu-vm", "queued-resources"]


@pytest.fixture
def hosts(tmp_path: Path) -> ProcessHosts:
    return ProcessHosts(tmp_path / "hosts", port=0)


@pytest.fixture
def cloud(hosts: ProcessHosts) -> Iterator[Running]:
    with running(lambda: hosts, provisioning=0.5) as emulator:
        yield emulator


@pytest.fixture
def lab(cloud: Running, tmp_path: Path) -> Iterator[Lab]:
    """Give a home on a machine that is pointed at the emulator."""
    home = Lab(tmp_path / "lab")
    home.env |= cloud.env()
    key = home.root / "person/key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    try:
        yield home
        home.run("delete", *[each["id"] for each in home.json("list")], "--yes", code=None)
        assert cloud.counts().empty
    finally:
        home.close()


def write(lab: Lab, hosts: ProcessHosts, mode: str, cmd: str) -> Path:
    return lab.write(
        "job.yaml",
        f"""\
        job: {{name: train, remote_user: ada, loop: true}}
        tpu:
          accelerator: v5p-16
          zone: us-central1-a
          pricing: spot
          allocation_mode: {mode}
        ssh: {{private_key: {lab.root}/person/key, port: {hosts.port}}}
        command:
          cmd: |
            {cmd}
        """,
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_preempted_job_goes_on_on_the_next_slice_and_nothing_is_left_behind(
    lab: Lab, cloud: Running, hosts: ProcessHosts, mode: str
) -> None:
    go_on = lab.root / "go-on"
    cmd = f'echo "run $JOBMAN_ATTEMPT"; until test -e {go_on}; do sleep 0.1; done'
    job = lab.create(write(lab, hosts, mode, cmd))
    lab.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_1.log", "run 1")
    with Path(f"/proc/{lab.controller(job)}/statm").open() as statm:
        assert int(statm.read().split()[1]) * 4096 < MOST
    cloud.preempt(f"train-{job}-g1")
    lab.until_output(f"jobs/ada/{job}/logs/command_run_002_worker_1.log", "run 2")
    go_on.touch()
    lab.until_status(job, "DONE")
    shown = lab.json("show", job)
    assert [each["outcome"] for each in shown["attempts"]] == ["interrupted", "succeeded"]
    assert [name.rpartition("/")[2] for name in cloud.resources()] == [
        f"train-{job}-g2" for _ in cloud.resources()
    ]


def test_f43_a_job_is_stopped_while_its_queued_resource_waits(
    lab: Lab, cloud: Running, hosts: ProcessHosts
) -> None:
    cloud.capacity("us-central1-a", "v5p-16", 0)
    job = lab.create(write(lab, hosts, "queued-resources", "true"))
    lab.until("it waits", lambda: "WAITING_FOR_RESOURCES" in lab.json("show", job)["reason"])
    lab.run("stop", job)
    assert cloud.counts().empty


def test_a_job_that_can_never_have_a_slice_fails_at_once_with_the_reason(
    lab: Lab, cloud: Running, hosts: ProcessHosts
) -> None:
    cloud.quota("us-central1-a", "v5p", 0)
    job = lab.create(write(lab, hosts, "tpu-vm", "true"))
    lab.until_status(job, "FAILED")
    assert "Limit: 0" in lab.json("show", job)["reason"]
