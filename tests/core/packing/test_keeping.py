"""What was packed stays what jobs and runs of tasks have, whatever becomes of the folder."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobman_core.errors import InvalidInputError
from jobman_core.home import Home
from jobman_core.models.task import Code
from jobman_core.packing import Archive, keep, kept, of_run, packed, snapshot_of

LATER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.state.mkdir(parents=True)
    return home


@pytest.fixture
def code(tmp_path: Path) -> Code:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "word").write_text("first")
    return Code(str(folder), "project")


def change(code: Code, text: str = "second") -> None:
    (Path(code.path) / "word").write_text(text)


def test_all_attempts_of_a_run_have_what_the_first_packed(home: Home, code: Code) -> None:
    assert snapshot_of(home, "run-1", code) is None
    first = of_run(home, "run-1", code, LATER)
    change(code)
    other = of_run(home, "run-2", code, LATER)
    shutil.rmtree(code.path)
    assert of_run(home, "run-1", code, LATER) == first
    assert snapshot_of(home, "run-1", code) == first.snapshot
    assert of_run(home, "run-2", code, LATER) == other
    assert other.path != first.path


def test_a_task_that_is_told_to_ship_something_else_does_so(home: Home, code: Code) -> None:
    (Path(code.path) / "more").write_text("x")
    first = of_run(home, "run-1", code, LATER)
    less = Code(code.path, code.workdir, ("more",))
    assert of_run(home, "run-1", less, LATER) != first
    assert of_run(home, "run-1", Code(code.path, "elsewhere"), LATER) == first


def test_who_come_at_the_same_time_have_the_same(home: Home, code: Code) -> None:
    def ask(number: int) -> Archive:
        change(code, str(number))
        return of_run(home, "run-1", code, LATER)

    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(ask, range(8)))
    assert len(found) == 1
    assert not list(home.task_code.glob(".*"))


def test_a_folder_that_has_not_changed_is_packed_once(home: Home, code: Code) -> None:
    first = of_run(home, "run-1", code, LATER)
    inode = first.path.stat().st_ino
    assert of_run(home, "run-2", code, LATER) == first
    assert first.path.stat().st_ino == inode
    first.path.unlink()
    assert of_run(home, "run-3", code, LATER).path.exists()


def test_a_folder_that_just_changed_is_not_known_by_its_times(home: Home, code: Code) -> None:
    now = datetime.now(UTC)
    first = of_run(home, "run-1", code, now)
    inode = first.path.stat().st_ino
    assert of_run(home, "run-2", code, now) == first
    assert first.path.stat().st_ino != inode


@pytest.mark.parametrize("act", ["same size", "mode", "new", "renamed", "gone"])
def test_any_change_makes_another(home: Home, code: Code, act: str) -> None:
    folder = Path(code.path)
    (folder / "more").write_text("x")
    first = of_run(home, "run-1", code, LATER)
    match act:
        case "same size":
            change(code, "FIRST")
        case "mode":
            (folder / "word").chmod(0o755)
        case "new":
            (folder / "newer").write_text("")
        case "renamed":
            (folder / "more").rename(folder / "other")
        case _:
            (folder / "more").unlink()
    assert of_run(home, "run-2", code, LATER) != first


def test_a_run_whose_archive_has_gone_is_told_what_to_do(home: Home, code: Code) -> None:
    of_run(home, "run-1", code, LATER).path.unlink()
    with pytest.raises(InvalidInputError, match="reset the task"):
        of_run(home, "run-1", code, LATER)


def test_several_jobs_share_what_was_packed_once(home: Home, code: Code) -> None:
    folders = [home.code("ada", f"00000{number}") for number in (1, 2)]
    with packed(home, code) as archive:
        for folder in folders:
            keep(archive, folder)
            keep(archive, folder)
    found = [path for folder in folders for path in folder.iterdir()]
    assert {path.name for path in found} == {f"{archive.snapshot}.tar.gz"}
    assert len({path.stat().st_ino for path in found}) == 1
    assert not list(home.task_code.iterdir())
    of_job = Code(code.path, code.workdir, (), archive.snapshot)
    assert kept(folders[0], of_job).path == found[0]
    found[0].unlink()
    with pytest.raises(InvalidInputError, match=r"take `snapshot` out of .*config.yaml"):
        kept(folders[0], of_job)
