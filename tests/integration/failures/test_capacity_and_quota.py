"""What a cloud has not got, does not grant, or cannot do: waited for, or said at once."""

import pytest
from tests.plugins.emulator.conftest import Rest
from tests.support.cloud import OTHER_ZONE, ZONE, CloudLab

from jobman_emulator.testing import Running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

QUEUED = "allocation_mode: queued-resources\n"
#: The first time it is there to be cut short.
ONCE_MORE = "[ $JOBMAN_ATTEMPT -gt 1 ] || { echo begun; sleep 600; }"


def waits(cloud: CloudLab, job: str, why: str) -> str:
    """Give the whole reason of a job that waits for its slice, once it says why."""

    def look() -> str:
        seen = cloud.json("show", job)
        return seen["reason"] if seen["status"] == "QUEUEING" and why in seen["reason"] else ""

    return cloud.until(f"job {job} waits: {why}", look)


def said(cloud: CloudLab, job: str) -> str:
    """Give what a job's log tells of its slices."""
    return (cloud.root / f"jobs/ada/{job}/logs/tpu.log").read_text(encoding="utf-8")


def failed(cloud: CloudLab, job: str) -> str:
    """Give why a job has failed."""
    cloud.until_status(job, "FAILED")
    return str(cloud.json("show", job)["reason"])


def others_request(emulator: Running, name: str) -> Rest:
    """Let somebody else of the project ask for a slice; give the way to delete it again."""
    rest = Rest(emulator.rest)
    parent = f"projects/emulated/locations/{ZONE}"
    node = {"acceleratorType": "v4-8", "runtimeVersion": "tpu-ubuntu2204-base"}
    body = {"tpu": {"nodeSpec": [{"parent": parent, "nodeId": name, "node": node}]}, "spot": {}}
    status, answer = rest("POST", f"v2/{parent}/queuedResources?queuedResourceId={name}", body)
    assert status == 200, answer
    return rest


def test_f06_a_suspended_request_does_not_hold_the_quota_that_the_next_one_needs(
    cloud: CloudLab,
) -> None:
    cloud.emulator.quota(ZONE, "queued-resources", 1)
    job = cloud.create(cloud.job(cmd=ONCE_MORE, loop="true", tpu=QUEUED))
    cloud.until_output("jobs/*/*/logs/command_run_001_worker_0.log", "begun")
    cloud.preempt(job, order="node-first")
    cloud.until_status(job, "DONE")
    name = cloud.slice(job)
    assert cloud.states() == {f"queuedResources/{name}": "ACTIVE", f"nodes/{name}": "READY"}


def test_f06_a_request_that_was_not_granted_in_time_is_deleted_before_the_next(
    cloud: CloudLab,
) -> None:
    cloud.emulator.quota(ZONE, "queued-resources", 1)
    cloud.emulator.capacity(ZONE, "v4-8", 0)
    flags = "flags: [--valid-until-duration=1s]\n"
    job = cloud.create(cloud.job(tpu=QUEUED + flags))
    waits(cloud, job, "valid-until time of the queued resource has passed")
    cloud.emulator.capacity(ZONE, "v4-8", 1)
    cloud.until_status(job, "DONE")
    assert len(cloud.slices()) == 2


def test_f06_quota_that_dead_requests_of_others_hold_is_waited_for_and_said(
    cloud: CloudLab,
) -> None:
    cloud.emulator.quota(ZONE, "queued-resources", 1)
    rest = others_request(cloud.emulator, "theirs")
    cloud.until("it is there", lambda: cloud.states().get("nodes/theirs") == "READY")
    cloud.emulator.preempt("theirs")
    job = cloud.create(cloud.job(tpu=QUEUED))
    reason = waits(cloud, job, "quota")
    assert "dead queued resources hold quota until they are deleted" in reason
    assert cloud.states() == {"queuedResources/theirs": "SUSPENDED"}
    path = f"v2/projects/emulated/locations/{ZONE}/queuedResources/theirs"
    assert rest("DELETE", path)[0] == 200
    cloud.until_status(job, "DONE")


def test_f22_no_reservation_is_a_place_without_capacity(cloud: CloudLab) -> None:
    job = cloud.create(cloud.job(tpu="flags: [--reserved]\n"))
    reason = waits(cloud, job, "Insufficient reserved capacity")
    assert f"no capacity for v4-8 in {ZONE}" in reason
    assert cloud.slices() == []
    cloud.emulator.capacity(ZONE, "v4-8", 1, reserved=True)
    cloud.until_status(job, "DONE")


@pytest.mark.parametrize("mode", ["tpu-vm", "queued-resources"])
def test_f23_a_slice_that_is_refused_after_it_was_granted_is_waited_for(
    cloud: CloudLab, mode: str
) -> None:
    full = f'There is no more capacity in the zone "{ZONE}"; you can try in another zone'
    call = {"tpu-vm": "CreateNode", "queued-resources": "CreateQueuedResource"}[mode]
    cloud.emulator.fail_next(call, code=8, message=full, times=2, late=True)
    job = cloud.create(cloud.job(tpu=f"allocation_mode: {mode}\n"))
    cloud.until_status(job, "DONE")
    assert said(cloud, job).count(full.partition(";")[0]) == 2
    # Nothing of the two that came to nothing is left beside the one that did not.
    assert {name.rpartition("/")[2] for name in cloud.slices()} == {cloud.slice(job)}


def test_f23_another_zone_is_asked_when_the_first_has_no_capacity(cloud: CloudLab) -> None:
    cloud.emulator.capacity("us-central1-a", "v2-8", 0)
    job = cloud.create(
        cloud.job(accelerator="v2-8", zone="us-central1-a", tpu=f"zones: [{OTHER_ZONE}]\n")
    )
    cloud.until_status(job, "DONE")
    assert cloud.json("show", job)["zone"] == OTHER_ZONE


def test_f26_no_quota_at_all_ends_the_job_at_once_and_says_what_to_do(cloud: CloudLab) -> None:
    cloud.emulator.quota("us-central2", "v4", 0)
    job = cloud.create(cloud.job(loop="true"))
    reason = failed(cloud, job)
    assert "Limit: 0 in region us-central2" in reason
    assert "ask for quota" in reason
    assert cloud.slices() == []


def test_f26_no_quota_in_one_region_only_strikes_that_place(cloud: CloudLab) -> None:
    cloud.emulator.quota("europe-west4", "v2", 0)
    job = cloud.create(
        cloud.job(accelerator="v2-8", zone="europe-west4-a", tpu=f"zones: [{OTHER_ZONE}]\n")
    )
    cloud.until_status(job, "DONE")
    assert cloud.json("show", job)["zone"] == OTHER_ZONE


def test_f27_a_burst_of_creates_is_spread_and_nobody_is_refused_for_good(cloud: CloudLab) -> None:
    text = "Quota exceeded for quota metric 'CreateNode requests' and limit 'CreateNode requests "
    text += "per minute' of service 'tpu.googleapis.com'."
    cloud.emulator.fail_next("CreateNode", code=429, message=text, times=3)
    jobs = [cloud.create(cloud.job(f"job{number}")) for number in range(2)]
    for job in jobs:
        cloud.until_status(job, "DONE")
    told = "".join(said(cloud, job) for job in jobs)
    assert "too many requests" in told
    # A rate is no capacity: other jobs are not sent elsewhere.
    assert "no capacity" not in told


def test_f30_a_request_that_the_api_does_not_understand_ends_the_job_with_its_words(
    cloud: CloudLab,
) -> None:
    job = cloud.create(cloud.job(loop="true", tpu="version: tpu-of-tomorrow\n"))
    reason = failed(cloud, job)
    assert 'invalid RuntimeVersion, "tpu-of-tomorrow"' in reason
    assert "correct the tpu section of the job file" in reason
    assert cloud.slices() == []


def test_f32_a_request_that_goes_from_provisioning_to_failed_is_cleared_away_and_made_again(
    cloud: CloudLab,
) -> None:
    cloud.emulator.quota(ZONE, "queued-resources", 1)
    cloud.emulator.fail_next("CreateQueuedResource", code=13, late=True)
    job = cloud.create(cloud.job(tpu=QUEUED))
    cloud.until_status(job, "DONE")
    assert "refused: " in said(cloud, job)
    assert {name.rpartition("/")[2] for name in cloud.slices()} == {cloud.slice(job)}
