"""On which hosts of its slice a job's command runs, and what a job does that only holds one."""

from pathlib import Path

import pytest
from tests.core.run.scene import Scene, loop

from jobman_core.models.job import CommandMode, HoldMode, Step
from jobman_core.models.slice import SlicePhase, SliceRequest
from jobman_core.models.task import Workers

#: It has four hosts.
LARGE = (SliceRequest("fake", "v4-32", "here"),)


@pytest.mark.parametrize(
    ("workers", "hosts"),
    [(Workers("all"), (0, 1, 2, 3)), (Workers((2,)), (2,)), (Workers((3, 1)), (3, 1))],
    ids=str,
)
async def test_a_command_runs_on_the_hosts_that_it_names(
    tmp_path: Path, workers: Workers, hosts: tuple[int, ...]
) -> None:
    work = CommandMode("echo here\nsleep", workers)
    async with Scene(tmp_path, candidates=LARGE, work=work) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        assert {host for _, host in fleet.programs} == set(hosts)
        plan = fleet.program(token, hosts[0]).plan
        assert plan is not None
        assert plan.command.env["JOBMAN_NUM_WORKERS"] == str(len(hosts))
        assert {plan.host_env[host]["JOBMAN_WORKER_ID"] for host in hosts} == set(map(str, hosts))
        for host in hosts:
            fleet.finish(token, host, 0)
        await scene.over()
        assert await scene.outcomes() == [("succeeded", "exited")]
        logs = {path.name for path in scene.home.logs("ada", scene.job).glob("command_*")}
        assert logs == {f"command_run_001_worker_{host}.log" for host in hosts}


async def test_a_host_that_fails_ends_the_others_that_were_named(tmp_path: Path) -> None:
    work = CommandMode("sleep", Workers((1, 3)))
    async with Scene(tmp_path, candidates=LARGE, work=work) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        fleet.finish(token, 3, 9)
        await scene.over()
        (attempt,) = await scene.attempts()
        assert attempt.outcome is not None
        assert attempt.outcome.detail == "exit 9 on host 3"
        assert fleet.program(token, 1).state.value == "ENDED"


async def test_a_job_that_holds_runs_nothing_and_gets_another_slice_for_a_lost_one(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, work=HoldMode(), **loop()) as scene:
        scene.start()
        for name in ("job-1-g1", "job-1-g2"):
            await scene.until(lambda name=name: name in scene.cloud.slices)  # type: ignore[misc]
            await scene.pass_time(20)
            record = await scene.record()
            assert (record.job.step, record.attempts) == (Step.IDLE, ())
            scene.cloud.force(name, SlicePhase.LOST, "PREEMPTED")
        await scene.until(lambda: "job-1-g3" in scene.cloud.slices)
        assert await scene.attempts() == []
        assert (await scene.record()).job.recoveries == 2
