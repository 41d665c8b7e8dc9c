"""A job that is to run something else by the time that a controller comes back to it."""

from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import Scene

from jobman_core.models.job import CommandMode, HoldMode, QueueMode, WorkMode
from jobman_core.models.task import TaskSpec


@pytest.mark.parametrize("after", [HoldMode(), QueueMode("/elsewhere.yaml")])
async def test_a_command_that_the_job_has_no_more_is_ended(tmp_path: Path, after: WorkMode) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        await scene.crash()
        scene.spec = attrs.evolve(scene.spec, work=after)
        scene.start()
        await scene.until(lambda: fleet.program(token, 0).state.value == "ENDED")
        assert await scene.first_end() == ("interrupted", "rebooted")
        assert (await scene.record()).job.ending is None


async def test_a_task_is_ended_and_released_where_the_job_has_a_command_now(tmp_path: Path) -> None:
    scene = Scene(tmp_path, work=QueueMode(str(tmp_path / "tasks.yaml")))
    scene.tasks = (TaskSpec("one", "echo task\nsleep", "v4-8"),)
    async with scene:
        scene.start()
        fleet, token = await scene.until_running()
        await scene.crash()
        scene.spec = attrs.evolve(scene.spec, work=CommandMode("echo fixed\nsleep"))
        scene.start()
        await scene.until(lambda: fleet.program(token, 0).state.value == "ENDED")
        assert await scene.first_end() == ("interrupted", "rebooted")
        new = await scene.until(scene.running)
        assert fleet.program(new, 0).log == b"fixed\n"
        task = await scene.store.task(str(scene.queue_file), "one")
        assert (task.running, task.counters.fail_count) == ((), 0)
