"""A queued resource's life as a job sees it: waiting, active, suspended, and what comes after."""

import textwrap

import pytest
from tests.support.cloud import ZONE, CloudLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

QUEUED = "pricing: spot\nallocation_mode: queued-resources\n"
#: Runs until it is asked to end, and says so.
PATIENT = """
trap 'echo asked to end; exit 143' TERM
echo up
while :; do sleep 0.1; done
"""


def _create(lab: CloudLab, cmd: str = PATIENT) -> str:
    return lab.create(lab.job(cmd=textwrap.dedent(cmd), loop="true", tpu=QUEUED))


def _waiting(lab: CloudLab, job: str) -> str:
    """Wait until ``list`` says that a job's request waits for capacity; give its cloud's name."""

    def waits() -> bool:
        (row,) = (row for row in lab.json("list") if row["id"] == job)
        said = "WAITING_FOR_RESOURCES" in str(row["reason"])
        return said and row["status"] == "QUEUEING" and "no controller" not in row["reason"]

    lab.until("it is shown to wait", waits)
    return lab.slice(job)


def test_a_request_that_waits_is_shown_and_is_taken_up_by_the_next_controller(
    cloud: CloudLab,
) -> None:
    cloud.emulator.capacity(ZONE, "v4-8", 0)
    job = _create(cloud)
    name = _waiting(cloud, job)
    cloud.kill_controller(job)
    cloud.until("its end is seen", lambda: "no controller" in cloud.json("show", job)["reason"])
    # Whoever looks without a controller still sees what it waits for.
    assert "WAITING_FOR_RESOURCES" in cloud.json("show", job)["reason"]
    cloud.run("resume", job)
    assert _waiting(cloud, job) == name
    assert cloud.states() == {f"queuedResources/{name}": "WAITING_FOR_RESOURCES"}
    cloud.emulator.capacity(ZONE, "v4-8", 1)
    cloud.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_0.log", "up")
    assert cloud.states() == {f"queuedResources/{name}": "ACTIVE", f"nodes/{name}": "READY"}
    assert [a["number"] for a in cloud.json("show", job)["attempts"]] == [1]


def test_programs_are_asked_to_end_while_it_suspends_and_its_husk_makes_room_for_the_next(
    cloud: CloudLab,
) -> None:
    cloud.emulator.quota(ZONE, "queued-resources", 1)
    job = _create(cloud)
    cloud.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_0.log", "up")
    first = cloud.slice(job)
    cloud.emulator.set_state(first, "SUSPENDING")
    cloud.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_0.log", "asked to end")
    cloud.until_status(job, "PREEMPTED")
    # While it suspends it is left to itself, and nothing new fits into the quota.
    assert cloud.states() == {f"queuedResources/{first}": "SUSPENDING", f"nodes/{first}": "READY"}
    cloud.preempt(job)
    cloud.until_output(f"jobs/ada/{job}/logs/command_run_002_worker_0.log", "up")
    second = cloud.slice(job)
    assert second != first
    assert cloud.states() == {f"queuedResources/{second}": "ACTIVE", f"nodes/{second}": "READY"}
    attempts = cloud.json("show", job)["attempts"]
    assert [(a["number"], a["outcome"], a["cause"]) for a in attempts] == [
        (1, "interrupted", "preempted"),
        (2, None, None),
    ]


@pytest.mark.parametrize("when", ["before the cloud does anything", "before it answers"])
def test_a_stop_while_the_request_is_on_its_way_leaves_nothing_behind(
    cloud: CloudLab, when: str
) -> None:
    answers_late = when == "before it answers"
    cloud.emulator.capacity(ZONE, "v4-8", 0)
    cloud.emulator.slow("CreateQueuedResource", 3.0, after=answers_late)
    job = _create(cloud)
    cloud.until("it asks", lambda: "asks for" in str(cloud.json("show", job)["reason"]))
    if answers_late:
        cloud.until("it is there", cloud.slices)
    else:
        assert cloud.slices() == []
    cloud.run("stop", job, limit=90)
    assert cloud.slices() == []
    said = cloud.json("show", job)
    assert (said["status"], said["reason"]) == ("DEAD", "stopped; it has no slice")


def test_a_stop_while_it_waits_withdraws_it(cloud: CloudLab) -> None:
    cloud.emulator.capacity(ZONE, "v4-8", 0)
    job = _create(cloud)
    name = _waiting(cloud, job)
    cloud.run("stop", job)
    assert cloud.slices() == []
    cloud.emulator.capacity(ZONE, "v4-8", None)
    cloud.run("resume", job)
    cloud.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_0.log", "up")
    assert cloud.slice(job) != name
