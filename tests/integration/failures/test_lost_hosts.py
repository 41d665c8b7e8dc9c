"""One host of a slice that is gone, bad or locked, while the others are well."""

from typing import Any

import pytest
from tests.support.cloud import OTHER_ZONE, CloudLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BEGUN = "echo begun; exec sleep 600"
#: Four hosts.
MANY = "v4-32"


def log(run: int, worker: int) -> str:
    """Give the log of a run of a job's command, as a pattern."""
    return f"jobs/*/*/logs/command_run_{run:03}_worker_{worker}.log"


def ends(cloud: CloudLab, job: str) -> list[tuple[Any, Any]]:
    """Give how a job's attempts ended, the first one first."""
    attempts = sorted(cloud.json("show", job)["attempts"], key=lambda each: each["number"])
    return [(each["outcome"], each["cause"]) for each in attempts]


def test_f04_a_host_that_vanishes_ends_the_run_on_the_others_and_costs_the_slice(
    cloud: CloudLab,
) -> None:
    config = cloud.job(cmd=BEGUN, loop="true", accelerator=MANY, extra="unreachable_timeout: 2s")
    job = cloud.create(config)
    for worker in range(4):
        cloud.until_output(log(1, worker), "begun")
    first = cloud.slice(job)
    cloud.emulator.host_down(first, 2)
    for worker in range(4):
        cloud.until_output(log(2, worker), "begun")
    assert ends(cloud, job) == [("interrupted", "unreachable"), (None, None)]
    assert cloud.states() == {f"nodes/{cloud.slice(job)}": "READY"}
    assert cloud.slice(job) != first
    told = cloud.run("logs", job, "--controller").out
    assert "host 2 was silent" in told


@pytest.mark.root
def test_f04_a_host_that_falls_silent_in_the_middle_of_a_word_is_missed(
    netns_cloud: CloudLab,
) -> None:
    cloud = netns_cloud
    # Three times that is as long as a connection may be silent.
    cloud.ssh("options: {ServerAliveInterval: 1}")
    config = cloud.job(cmd=BEGUN, loop="true", accelerator=MANY, extra="unreachable_timeout: 2s")
    job = cloud.create(config)
    for worker in range(4):
        cloud.until_output(log(1, worker), "begun")
    cloud.emulator.host_down(cloud.slice(job), 2)
    for worker in range(4):
        cloud.until_output(log(2, worker), "begun")
    assert ends(cloud, job) == [("interrupted", "unreachable"), (None, None)]


def test_f12_a_slice_that_calls_itself_ready_without_one_of_its_hosts_is_replaced(
    cloud: CloudLab,
) -> None:
    config = cloud.job(cmd=BEGUN, loop="true", accelerator=MANY, extra="unreachable_timeout: 2s")
    job = cloud.create(config)
    cloud.until_output(log(1, 3), "begun")
    cloud.run("stop", job)
    first = cloud.slice(job)
    cloud.emulator.host_down(first, 3)
    assert cloud.states() == {f"nodes/{first}": "READY"}
    cloud.run("resume", job)
    for worker in range(4):
        cloud.until_output(log(2, worker), "begun")
    assert ends(cloud, job) == [("interrupted", "stopped"), (None, None)]
    assert cloud.states() == {f"nodes/{cloud.slice(job)}": "READY"}
    assert cloud.slice(job) != first


@pytest.mark.root
def test_f13_a_device_that_a_process_of_the_last_run_still_holds_is_free_for_the_next(
    netns_cloud: CloudLab,
) -> None:
    cloud = netns_cloud
    # Out of its session and with nothing in its environment, as daemons are.
    holds = "exec 9<> /dev/vfio/0; flock -n 9 || exit 7; exec env -i setsid sleep 600"
    cloud.write(
        "tasks.yaml",
        f"""
        accelerators:
          v6e-4:
            tasks:
              - {{id: first, run: "(trap '' HUP; {holds}) & sleep 1"}}
              - {{id: second, run: "{holds.replace("600", "0")}", depends_on: first}}
        """,
    )
    worker = cloud.job(
        "worker", queue="tasks.yaml", accelerator="v6e-4", zone=OTHER_ZONE, tpu="pricing: spot"
    )
    cloud.create(worker)
    cloud.until("both are done", lambda: cloud.task("second")["status"] == "DONE")
    assert [cloud.task(task)["fail_count"] for task in ("first", "second")] == [0, 0]


@pytest.mark.root
def test_f15_a_lock_file_of_libtpu_that_nobody_holds_does_not_stop_the_next_run(
    netns_cloud: CloudLab,
) -> None:
    cloud, lock = netns_cloud, "/tmp/libtpu_lockfile"
    cloud.write(
        "tasks.yaml",
        f"""
        accelerators:
          v4-8:
            tasks:
              - {{id: first, run: "sudo -n touch {lock}; test -e {lock}"}}
              - {{id: second, run: "test ! -e {lock}", depends_on: first}}
        """,
    )
    cloud.create(cloud.job("worker", queue="tasks.yaml"))
    cloud.until("both are done", lambda: cloud.task("second")["status"] == "DONE")
    assert [cloud.task(task)["fail_count"] for task in ("first", "second")] == [0, 0]


#: Takes the keys of all users away from host 2 of a slice.
DENIES = "mv /etc/ssh/metadata_keys /etc/ssh/away"


def denied(cloud: CloudLab, hosts: str, script: str) -> str:
    """Give a job one of whose hosts denies the key that it was told of; it says so."""
    tpu = f"""
        startup_script: |
          #!/bin/bash
          case $(hostname) in {hosts}) {script};; esac
        """
    config = cloud.job(
        cmd=BEGUN, loop="true", accelerator=MANY, tpu=tpu, extra="unreachable_timeout: 6s"
    )
    job = cloud.create(config)
    said = cloud.until(
        "it says so",
        lambda: r if "denies" in (r := cloud.json("show", job)["reason"] or "") else "",
    )
    assert "host 2 " in said
    assert "denies user 'ada'" in said
    assert "ssh.private_key" in said
    assert not list(cloud.root.glob(log(1, 0)))
    return job


@pytest.mark.root
def test_f20_a_host_that_does_not_know_the_key_yet_is_waited_for_with_all_the_others(
    netns_cloud: CloudLab,
) -> None:
    cloud = netns_cloud
    later = f"{DENIES}; sleep 4; mv /etc/ssh/away /etc/ssh/metadata_keys"
    job = denied(cloud, "*-w-2", later)
    for worker in range(4):
        cloud.until_output(log(1, worker), "begun")
    assert cloud.json("show", job)["slice"]["generation"] == 1


@pytest.mark.root
def test_f20_a_slice_with_a_host_that_denies_the_key_for_good_is_replaced(
    netns_cloud: CloudLab,
) -> None:
    cloud = netns_cloud
    job = denied(cloud, "*-g1-w-2", DENIES)
    for worker in range(4):
        cloud.until_output(log(1, worker), "begun")
    assert cloud.json("show", job)["slice"]["generation"] == 2
