"""Which queues a home knows."""

from pathlib import Path

from jobman_core.app import App
from jobman_core.home import Home

_TASKS = "accelerators:\n  v4-8:\n    tasks:\n      - {id: one, run: 'true'}\n"


async def test_a_home_tells_its_queues_also_those_whose_files_are_gone(tmp_path: Path) -> None:
    Home(tmp_path).state.mkdir(parents=True)
    files = [tmp_path / "tasks.yaml", tmp_path / "more" / "tasks.yaml"]
    async with App(Home(tmp_path), user="ada") as app:
        for file in files:
            file.parent.mkdir(exist_ok=True)
            file.write_text(_TASKS, encoding="utf-8")
            await app.queue(file)
        files[0].unlink()
        assert sorted(await app.queues()) == sorted(files)


async def test_where_there_is_no_home_there_are_no_queues(tmp_path: Path) -> None:
    async with App(Home(tmp_path), user="ada") as app:
        assert await app.queues() == []
        assert not app.found
