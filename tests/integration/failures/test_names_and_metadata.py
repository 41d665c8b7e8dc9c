"""What slices are called and what is written on them, where others write too."""

import re
from typing import Any

import pytest
from tests.plugins.emulator.conftest import Rest
from tests.support.cloud import ZONE, CloudLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

PARENT = f"v2/projects/emulated/locations/{ZONE}"
NODE = {
    "acceleratorType": "v4-8",
    "runtimeVersion": "tpu-ubuntu2204-base",
    "networkConfig": {"enableExternalIps": True},
}


def labels(cloud: CloudLab, job: str) -> dict[str, Any]:
    """Give the labels of a job's slice, as anybody sees them."""
    status, node = Rest(cloud.emulator.rest)("GET", f"{PARENT}/nodes/{cloud.slice(job)}")
    assert status == 200, node
    return dict(node["labels"])


def test_f05_a_name_that_is_still_being_deleted_is_waited_for(cloud: CloudLab) -> None:
    job = cloud.create(cloud.job(), "--no-start")
    name = f"job-{job}-g1"
    assert Rest(cloud.emulator.rest)("POST", f"{PARENT}/nodes?nodeId={name}", NODE)[0] == 200
    cloud.until("somebody else has it", lambda: cloud.states() == {f"nodes/{name}": "READY"})
    cloud.emulator.set_state(name, "DELETING")
    cloud.run("resume", job)
    cloud.until(
        "the job waits for the name",
        lambda: f"{name} cannot be asked for yet" in cloud.json("show", job)["reason"],
    )
    cloud.emulator.set_state(name, "GONE")
    cloud.until_status(job, "DONE")
    # It has a slice of its own, and did not take the other one for it.
    assert labels(cloud, job)["jobman-job"] == job


def test_f21_metadata_that_others_write_is_left_to_them(cloud: CloudLab) -> None:
    job = cloud.create(cloud.job(cmd=None))
    cloud.until_status(job, "IDLE")
    rest, path = Rest(cloud.emulator.rest), f"{PARENT}/nodes/{cloud.slice(job)}"
    metadata = {**rest("GET", path)[1]["metadata"], "theirs": "1"}
    patch = ("PATCH", f"{path}?updateMask=metadata", {"metadata": metadata})
    cloud.emulator.fail_next("UpdateNode", code=409, message="unable to queue the operation")
    assert cloud.run("ssh", job, "--", "echo", "here").out == "here\n"
    # The refusal was for whoever would write first: that is not jobman, it said all at creation.
    assert rest(*patch)[0] == 409
    assert rest(*patch)[0] == 200
    assert cloud.run("ssh", job, "--", "echo", "here").out == "here\n"
    assert rest("GET", path)[1]["metadata"]["theirs"] == "1"


def test_f28_a_name_that_is_too_long_is_no_lack_of_capacity(cloud: CloudLab) -> None:
    said = cloud.run("create", cloud.job("t" * 64), code=2)
    assert cloud.json("list") == []
    found = re.search(r"(\d+) characters shorter", said.err)
    assert found, said.err
    job = cloud.create(cloud.job("t" * (64 - int(found[1]))))
    cloud.until_status(job, "DONE")
    assert cloud.slice(job).startswith("ttt")


def test_f29_a_user_with_a_dot_gets_slices_that_are_told_from_those_of_others(
    cloud: CloudLab,
) -> None:
    cloud.env["USER"] = "a.b"
    job = cloud.create(cloud.job(cmd="echo $USER"))
    cloud.until_status(job, "DONE")
    assert cloud.run("logs", job).out == "a.b\n"
    found = labels(cloud, job)
    assert re.fullmatch(r"[a-z0-9_-]+", found["jobman-owner"])
    assert found["jobman-owner"] not in {"a-b", "a_b", "ab"}
    # And by their labels they are known as this user's again.
    assert cloud.json("list", "--refresh")[0]["user"] == "a.b"
