"""What could not be written of an attempt when it ended is written as soon as that is possible."""

from pathlib import Path

import attrs
from tests.core.run.scene import Scene

from jobman_core.interfaces.store import Note
from jobman_core.models.job import Desired, QueueMode
from jobman_core.models.task import Repo, TaskSpec
from jobman_core.run.attempt import DRAIN_LIMIT
from jobman_core.run.meta import meta_text
from jobman_core.run.work import work_of

RUN = "jobs/tasks/a/run_001_job*"


def _worker(root: Path) -> Scene:
    scene = Scene(root, work=QueueMode("tasks.yaml", None))
    scene.tasks = (TaskSpec("a", "echo hello\nsleep", "v4-8"),)
    return scene


async def _meta(scene: Scene) -> Path:
    """Give the meta file of an attempt that has begun."""

    def look() -> Path | None:
        return next(scene.home.root.glob(f"{RUN}_meta.yaml"), None)

    return await scene.until(look)


def _hinder(meta: Path) -> None:
    """Let no meta file be put into its place."""
    meta.unlink()
    meta.mkdir()


async def test_a_meta_file_that_cannot_be_written_at_the_end_is_written_later(
    tmp_path: Path,
) -> None:
    async with _worker(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        meta = await _meta(scene)
        _hinder(meta)
        fleet.finish(token, 0, 0)
        await scene.until(lambda: any("cannot be written" in line for line in scene.said))
        await scene.pass_time(10)
        assert await scene.outcomes() == [("succeeded", "exited")]
        meta.rmdir()
        await scene.until(meta.is_file, limit=5)
        assert 'outcome: "succeeded"' in meta.read_text()


async def test_a_meta_file_names_the_repository_without_its_token(tmp_path: Path) -> None:
    async with _worker(tmp_path) as scene:
        scene.start()
        await scene.until_running()
        await _meta(scene)
        await scene.crash()
        [attempt], slice_ = await scene.attempts(), (await scene.record()).slice
        async with scene.acting() as ctx:
            work = attrs.evolve(
                await work_of(ctx, attempt), repo=Repo("https://tok-en-1@host/x.git", "main")
            )
    assert slice_
    text = meta_text(work, attempt, slice_, None, None)
    assert 'repo: "https://***@host/x.git"\n' in text
    assert "tok-en" not in text


async def test_a_meta_file_that_stays_hindered_is_told_of_and_the_work_goes_on(
    tmp_path: Path,
) -> None:
    async with _worker(tmp_path) as scene:
        scene.tasks = (*scene.tasks, TaskSpec("b", "echo hello\nsleep", "v4-8"))
        scene.queue_file.write_text("both")
        scene.start()
        fleet, token = await scene.until_running()
        _hinder(await _meta(scene))
        fleet.finish(token, 0, 0)
        await scene.until(
            lambda: any("attempt 1 left is not all here" in line for line in scene.said),
            limit=DRAIN_LIMIT + 10,
        )
        await scene.until(lambda: list(tmp_path.glob("jobs/tasks/b/*_meta.yaml")))


async def test_a_stop_without_a_controller_writes_the_meta_file_later_too(tmp_path: Path) -> None:
    async with _worker(tmp_path) as scene:
        scene.start()
        await scene.until_running()
        meta = await _meta(scene)
        await scene.crash()
        _hinder(meta)
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stops"))
        scene.bring_back()
        await scene.until(lambda: any("cannot be written" in line for line in scene.said))
        await scene.pass_time(10)
        assert await scene.outcomes() == [("interrupted", "stopped")]
        meta.rmdir()
        await scene.over()
        assert 'cause: "stopped"' in meta.read_text()
