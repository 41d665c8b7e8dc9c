"""Links that drop, controllers that die, and programs that know nothing of either."""

import pytest
from tests.support.cloud import CloudLab

from jobman_emulator.process_hosts import ProcessHosts

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

TICKS = "for i in $(seq 1 {n}); do echo tick $i; sleep 0.2; done"
LOG = "jobs/*/*/logs/command_run_001_worker_0.log"


def said(n: int) -> str:
    return "".join(f"tick {i}\n" for i in range(1, n + 1))


def test_f11_a_slice_that_runs_is_kept_although_the_operation_that_made_it_never_ends(
    cloud: CloudLab,
) -> None:
    cloud.emulator.fault("stuck-create", times=2)
    ways = ("tpu-vm", "queued-resources")
    jobs = [
        cloud.create(cloud.job(way, cmd=TICKS.format(n=30), tpu=f"allocation_mode: {way}"))
        for way in ways
    ]
    for job in jobs:
        cloud.until_status(job, "DONE")
        shown = cloud.json("show", job)
        assert shown["slice"]["generation"] == 1
        assert [each["outcome"] for each in shown["attempts"]] == ["succeeded"]
        assert cloud.run("logs", job).out == said(30)


def test_f16_a_slice_of_a_name_that_was_there_before_is_not_taken_for_the_old_one(
    cloud: CloudLab,
) -> None:
    config = cloud.job(cmd="echo here", tpu="name: fixed\nzones: []", extra="worker_num: 1")
    names = []
    for _ in range(2):
        job = cloud.create(config)
        cloud.until_status(job, "DONE")
        names.append(cloud.slice(job))
        assert cloud.run("logs", job).out == "here\n"
        cloud.run("delete", "--yes", job)
    assert len(set(names)) == 1


@pytest.mark.root
def test_f16_a_host_with_another_key_than_the_cloud_vouches_for_is_told_nothing(
    netns_cloud: CloudLab,
) -> None:
    cloud = netns_cloud
    config = cloud.job(
        cmd="echo begun; exec sleep 600", extra="unreachable_timeout: 4s", loop="true"
    )
    job = cloud.create(config)
    cloud.until_output(LOG, "begun")
    cloud.run("stop", job)
    key = "/etc/ssh/ssh_host_ed25519_key"
    anew = f"rm {key}*; ssh-keygen -q -t ed25519 -N '' -f {key} && kill -HUP 1"
    cloud.run("ssh", job, "--", "sudo", "-n", "sh", "-c", anew)
    cloud.cut_links()
    cloud.run("resume", job)
    cloud.until(
        "it says so",
        lambda: "its host key is not the one" in (cloud.json("show", job)["reason"] or ""),
    )
    # Nor does it stay with a host that it cannot talk to.
    cloud.until("it is replaced", lambda: cloud.json("show", job)["slice"]["generation"] == 2)
    cloud.until_output(LOG.replace("001", "002"), "begun")


def test_f17_links_that_die_in_the_middle_of_a_run_are_made_again_and_nothing_is_lost(
    cloud: CloudLab,
) -> None:
    job = cloud.create(cloud.job(cmd=TICKS.format(n=40)))
    for tick in (3, 15, 25):
        cloud.until_output(LOG, f"tick {tick}\n")
        cloud.cut_links()
    cloud.until_status(job, "DONE")
    assert cloud.run("logs", job).out == said(40)
    assert len(cloud.json("show", job)["attempts"]) == 1
    assert "does not answer" in cloud.run("logs", job, "--controller").out


def test_f17_while_neither_hosts_nor_cloud_can_be_heard_nothing_is_given_up(
    cloud: CloudLab,
) -> None:
    assert isinstance(cloud.machines, ProcessHosts)
    cloud.ssh("options: {ConnectTimeout: 1}")
    # Longer than hosts may be silent.
    script = f"{TICKS.format(n=60)}; touch over"
    job = cloud.create(cloud.job(cmd=script, extra="unreachable_timeout: 9s"))
    cloud.until_output(LOG, "tick 3\n")
    # As for somebody whose own network is down.
    for call in ("GetNode", "ListNodes", "GetQueuedResource", "ListQueuedResources"):
        cloud.emulator.fail_next(call, code="UNAVAILABLE", times=10_000)
    cloud.machines.latency = 600
    cloud.cut_links()
    home = "hosts/*/host-0/home/over"
    cloud.until("the program is over", lambda: list(cloud.root.parent.glob(home)))
    assert cloud.status(job) == "RUNNING"
    cloud.machines.latency = 0
    cloud.emulator.reset()
    cloud.until_status(job, "DONE")
    assert cloud.run("logs", job).out == said(60)
    shown = cloud.json("show", job)
    assert (len(shown["attempts"]), shown["slice"]["generation"]) == (1, 1)


def test_f18_a_run_whose_controller_was_killed_goes_on_and_is_taken_up_again(
    cloud: CloudLab,
) -> None:
    job = cloud.create(cloud.job(cmd=TICKS.format(n=40)))
    cloud.until_output(LOG, "tick 3\n")
    cloud.kill_controller(job)
    listed = cloud.json("list")[0]
    assert listed["status"] == "RUNNING"
    assert f"`jobman resume {job}`" in listed["reason"]
    cloud.run("resume", job)
    cloud.until_status(job, "DONE")
    assert cloud.run("logs", job).out == said(40)
    assert len(cloud.json("show", job)["attempts"]) == 1


def test_f19_255_of_a_program_is_a_failure_and_no_link_that_dropped(cloud: CloudLab) -> None:
    script = "if [ $JOBMAN_WORKER_ID = 1 ]; then exit 255; fi\necho $$ > pid; exec sleep 600"
    job = cloud.create(cloud.job(cmd=script, accelerator="v4-16"))
    cloud.until_status(job, "FAILED")
    shown = cloud.json("show", job)
    assert "exit 255 on host 1" in shown["reason"]
    assert [(each["cause"], each["exit_code"]) for each in shown["attempts"]] == [("exited", 255)]
    # The program on the other host was ended with it.
    cloud.run("ssh", job, "--", "sh", "-c", 'kill -0 "$(cat pid)"', code=1)
