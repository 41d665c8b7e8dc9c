"""Giving slices back: whatever the API says to it, nothing is left that costs."""

import time

import pytest
from tests.support.cloud import ZONE, CloudLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

#: Seconds that a request is on the wire.
LATE = 4
WAYS = ["tpu-vm", "queued-resources"]


def holding(cloud: CloudLab, way: str) -> str:
    """Give a job that holds its slice."""
    job = cloud.create(cloud.job(cmd=None, tpu=f"allocation_mode: {way}\n"))
    cloud.until_status(job, "IDLE")
    return job


@pytest.mark.parametrize("way", WAYS)
def test_f07_what_is_not_there_any_more_while_its_end_is_waited_for_is_deleted(
    cloud: CloudLab, way: str
) -> None:
    job = holding(cloud, way)
    cloud.emulator.fault("instant-delete", times=2)
    cloud.run("cancel", "--yes", job)
    assert cloud.status(job) == "CANCELLED"
    assert cloud.states() == {}


@pytest.mark.parametrize("state", ["ACTIVE", "WAITING_FOR_RESOURCES"])
def test_f08_a_queued_resource_goes_with_its_node_in_whatever_state_it_is(
    cloud: CloudLab, state: str
) -> None:
    if state == "ACTIVE":
        job = holding(cloud, "queued-resources")
    else:
        cloud.emulator.capacity(ZONE, "v4-8", 0)
        job = cloud.create(cloud.job(tpu="allocation_mode: queued-resources\n"))
        cloud.until("it waits", lambda: state in cloud.json("show", job)["reason"])
    assert cloud.states()[f"queuedResources/{cloud.slice(job)}"] == state
    cloud.run("cancel", "--yes", job)
    assert cloud.states() == {}


def test_f43_a_cancel_during_a_recovery_leaves_nothing(cloud: CloudLab) -> None:
    job = cloud.create(cloud.job(cmd="echo begun; sleep 600", loop="true"))
    cloud.until_output("jobs/*/*/logs/command_run_001_worker_0.log", "begun")
    first = cloud.slice(job)
    cloud.emulator.slow("CreateNode", 3)
    cloud.preempt(job)
    cloud.until("the next one is asked for", lambda: cloud.slice(job) != first)
    cloud.run("cancel", "--yes", job)
    assert cloud.status(job) == "CANCELLED"
    assert cloud.states() == {}


def test_f43_a_request_that_outlives_its_controller_leaves_nothing(cloud: CloudLab) -> None:
    cloud.emulator.capacity(ZONE, "v4-8", 0)
    cloud.emulator.slow("CreateQueuedResource", LATE)
    job = cloud.create(cloud.job(tpu="allocation_mode: queued-resources\n"))
    cloud.until("it is on the books", lambda: cloud.json("show", job)["slice"])
    cloud.kill_controller(job)
    killed = time.monotonic()
    cloud.run("stop", job)
    cloud.until("the cloud has done it", lambda: time.monotonic() - killed > LATE + 1)
    assert cloud.states() == {}
