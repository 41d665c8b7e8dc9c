"""Slices that go, in the ways in which people saw them go."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.cloud import CloudLab, cloud_lab

from jobman_emulator.process_hosts import ProcessHosts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

BEGUN = "echo begun; exec sleep 600"
QUEUED = "allocation_mode: queued-resources\npricing: spot"


def log(run: int, worker: int = 0) -> str:
    """Give the log of a run of a job's command, as a pattern."""
    return f"jobs/*/*/logs/command_run_{run:03}_worker_{worker}.log"


def begun(cloud: CloudLab, *, tpu: str = "pricing: spot", loop: str = "true") -> tuple[str, str]:
    """Give a job whose command runs, and its slice."""
    job = cloud.create(cloud.job(cmd=BEGUN, loop=loop, tpu=tpu))
    cloud.until_output(log(1), "begun")
    return job, cloud.slice(job)


def recovered(cloud: CloudLab, job: str) -> list[tuple[Any, Any]]:
    """Wait until the command runs again, on a slice that is the only one; give its attempts."""
    cloud.until_output(log(2), "begun")
    nodes = [state for name, state in cloud.states().items() if name.startswith("nodes/")]
    assert nodes == ["READY"]
    listed = cloud.json("list")[0]
    assert (listed["status"], listed["recoveries"]) == ("RUNNING", 1)
    attempts = sorted(cloud.json("show", job)["attempts"], key=lambda each: each["number"])
    return [(each["outcome"], each["cause"]) for each in attempts]


def test_f01_a_preempted_slice_is_replaced_although_it_stays_listed(cloud: CloudLab) -> None:
    job, first = begun(cloud)
    cloud.emulator.slow("DeleteNode", 1)
    cloud.preempt(job)
    assert cloud.states() == {f"nodes/{first}": "PREEMPTED"}
    assert recovered(cloud, job) == [("interrupted", "preempted"), (None, None)]
    assert cloud.slice(job) != first


@pytest.mark.parametrize("state", ["STOPPED", "TERMINATED", "GONE"])
def test_f02_a_slice_that_is_lost_in_another_state_than_preempted_is_lost(
    cloud: CloudLab, state: str
) -> None:
    job, first = begun(cloud)
    cloud.emulator.set_state(first, state)
    cause = "slice gone" if state == "GONE" else "preempted"
    assert recovered(cloud, job) == [("interrupted", cause), (None, None)]


def test_f02_a_node_in_an_unknown_state_is_not_a_dead_one(cloud: CloudLab) -> None:
    ticks = "for i in $(seq 1 16); do echo tick $i; sleep 0.5; done"
    job = cloud.create(cloud.job(cmd=ticks))
    cloud.until_output(log(1), "tick 1")
    cloud.emulator.set_state(cloud.slice(job), "UNKNOWN")
    cloud.run("list", "--refresh")
    # Longer than from one look at the zone to the next.
    cloud.until_status(job, "DONE")
    shown = cloud.json("show", job)
    assert [each["outcome"] for each in shown["attempts"]] == ["succeeded"]
    assert shown["slice"]["lost"] is None


def test_f03_a_slice_that_went_while_nobody_looked_is_not_said_to_run(cloud: CloudLab) -> None:
    job, first = begun(cloud)
    cloud.kill_controller(job)
    cloud.emulator.set_state(first, "GONE")
    listed = cloud.json("list", "--refresh")[0]
    assert listed["status"] == "PREEMPTED"
    cloud.run("resume", job)
    assert recovered(cloud, job) == [("interrupted", "slice gone"), (None, None)]


def test_f10_a_node_that_is_not_found_any_more_is_gone_whatever_its_queued_resource_says(
    cloud: CloudLab,
) -> None:
    job, first = begun(cloud, tpu=QUEUED)
    node = next(name for name in cloud.emulator.resources() if name.endswith(f"/nodes/{first}"))
    cloud.emulator.set_state(node, "GONE")
    assert cloud.states()[f"queuedResources/{first}"] == "ACTIVE"
    recovered(cloud, job)
    assert f"queuedResources/{first}" not in cloud.states()


@pytest.mark.parametrize("tpu", ["pricing: spot", QUEUED], ids=["node", "queued"])
def test_f24_a_slice_that_vanishes_as_soon_as_it_is_made_is_asked_for_again(
    cloud: CloudLab, tpu: str
) -> None:
    cloud.emulator.fault("vanish-after-create")
    job = cloud.create(cloud.job(cmd="echo done", loop="true", tpu=tpu))
    cloud.until_status(job, "DONE")
    shown = cloud.json("show", job)
    assert [each["outcome"] for each in shown["attempts"]] == ["succeeded"]


def test_f25_a_slice_that_is_preempted_before_its_hosts_were_reached_is_replaced(
    cloud: CloudLab,
) -> None:
    assert isinstance(cloud.machines, ProcessHosts)
    cloud.machines.latency = 600
    job = cloud.create(cloud.job(cmd=BEGUN, loop="true", tpu="pricing: spot"))
    cloud.until_status(job, "PREPARING")
    cloud.machines.latency = 0
    cloud.preempt(job)
    cloud.until_output(log(1), "begun")
    shown = cloud.json("show", job)
    assert len(shown["attempts"]) == 1
    assert shown["slice"]["generation"] == 2


@pytest.mark.parametrize("order", ["suspending-first", "node-first"])
def test_f25_a_queued_resource_that_is_taken_away_before_it_is_active_is_asked_for_again(
    tmp_path: Path, order: str
) -> None:
    with cloud_lab(tmp_path, provisioning=2.0) as cloud:
        job = cloud.create(cloud.job(cmd=BEGUN, loop="true", tpu=QUEUED))
        cloud.until("it is provisioned", lambda: "PROVISIONING" in cloud.states().values())
        cloud.preempt(job, order=order)
        cloud.until_output(log(1), "begun")
        shown = cloud.json("show", job)
        assert len(shown["attempts"]) == 1
        assert shown["slice"]["generation"] == 2
