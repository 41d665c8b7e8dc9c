"""Many hosts and many jobs on Cloud TPU: what does not depend on how fast a machine is."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.support.cloud import OTHER_ZONE, CloudLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

#: Megabytes that a controller of its own may have in memory.
LIMIT = 90


@contextmanager
def _launches_held_up(lab: CloudLab, slice_: str, host: int) -> Iterator[None]:
    """Let the agent of a host wait before it launches anything, as on a machine that hangs."""
    (home,) = (lab.root.parent / "hosts").glob(f"{slice_}-*/host-{host}/home")
    folder = home / ".jobman"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stamps(lab: CloudLab) -> set[str]:
    return {path.name for path in lab.root.glob("up.*")}


def test_where_one_host_gives_no_answer_the_program_has_started_on_all_others(
    cloud: CloudLab,
) -> None:
    cloud.write("tasks.yaml", "accelerators: {}\n")
    job = cloud.create(
        cloud.job(queue="tasks.yaml", loop="true", accelerator="v6e-16", zone=OTHER_ZONE)
    )
    cloud.until_status(job, "IDLE")
    with _launches_held_up(cloud, cloud.slice(job), 2):
        run = f"touch {cloud.root}/up.$JOBMAN_WORKER_ID; sleep 600"
        task = f"{{id: wide, workers: all, run: '{run}'}}"
        cloud.write("tasks.yaml", f"accelerators: {{v6e-16: {{tasks: [{task}]}}}}\n")
        cloud.until("the others", lambda: _stamps(cloud) >= {"up.0", "up.1", "up.3"})
        assert "up.2" not in _stamps(cloud)
    cloud.until("all of them", lambda: len(_stamps(cloud)) == 4)
    assert [a["number"] for a in cloud.task("wide")["attempts"]] == [1]


def _connections(lab: CloudLab) -> dict[str, int]:
    """Give the sockets of the connections that are open, and what tells one from its successor."""
    found = Path(lab.env["XDG_RUNTIME_DIR"], "jobman").iterdir()
    return {path.name: path.stat().st_ino for path in found if path.is_socket()}


def _follow_two_hosts_each(lab: CloudLab, jobs: int) -> list[str]:
    """Create jobs whose programs go on saying something; return once all are followed."""
    cmd = "n=0\nwhile sleep 0.2; do n=$((n + 1)); echo line $n; done"
    config = lab.job(cmd=cmd, accelerator="v4-16")
    created = lab.run("create", config, "--count", str(jobs)).out.split()
    for job in created:
        for host in (0, 1):
            log = f"jobs/ada/{job}/logs/command_run_001_worker_{host}.log"
            lab.until_output(log, "line 10\n")
    return created


def _is_longer(path: Path, size: int) -> bool:
    return path.stat().st_size > size


def test_one_process_follows_all_hosts_over_one_connection_each_and_so_does_its_successor(
    cloud: CloudLab,
) -> None:
    cloud.write("jobman.yaml", "session: shared\nsessions: {shared: {idle: 1s}}\n")
    jobs = _follow_two_hosts_each(cloud, 3)
    connections = _connections(cloud)
    assert len(connections) == 2 * len(jobs)
    pid = cloud.kill_controller(jobs[0])
    cloud.run("resume", "--all")
    (again,) = {cloud.controller(job) for job in jobs}
    assert again != pid
    for job in jobs:
        log = cloud.root / f"jobs/ada/{job}/logs/command_run_001_worker_1.log"
        cloud.until("it is followed on", partial(_is_longer, log, log.stat().st_size))
        assert [a["number"] for a in cloud.json("show", job)["attempts"]] == [1]
    assert _connections(cloud) == connections


def test_a_controller_of_its_own_that_follows_a_program_is_small(cloud: CloudLab) -> None:
    (job,) = _follow_two_hosts_each(cloud, 1)
    status = Path(f"/proc/{cloud.controller(job)}/status").read_text()
    most = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    assert int(most.split()[1]) * 1024 / 1e6 < LIMIT
