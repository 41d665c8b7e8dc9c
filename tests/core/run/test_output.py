"""The local copy of what a host says: no gap, no repeat, whoever goes on with it."""

import contextlib
import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobman_core.run.output import OutputFile


def test_a_copy_goes_on_where_the_last_controller_left_it(tmp_path: Path) -> None:
    (tmp_path / ".jobman").mkdir()
    path = tmp_path / "logs" / "out.log"
    OutputFile(path).write(0, b"one\n")
    again = OutputFile(path)
    assert again.offset == 4
    again.write(4, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"


def test_output_that_comes_twice_is_written_once(tmp_path: Path) -> None:
    copy = OutputFile(tmp_path / "out.log")
    copy.write(0, b"abc")
    copy.write(0, b"abcdef")
    copy.write(2, b"cd")
    assert copy.path.read_bytes() == b"abcdef"


def test_what_is_left_out_is_marked_and_the_place_stays_that_of_the_host(tmp_path: Path) -> None:
    copy = OutputFile(tmp_path / "out.log")
    copy.write(0, b"start\n")
    copy.write(1_000_000, b"end\n")
    content = copy.path.read_bytes()
    assert copy.offset == len(content) == 1_000_004
    assert b"999994 bytes left out" in content
    assert content.endswith(b"end\n")


def test_the_tail_is_known_to_a_controller_that_adopts(tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    OutputFile(path).write(0, b"x" * 10_000 + b"the reason\n")
    assert OutputFile(path).tail.endswith(b"the reason\n")


def test_a_disk_that_is_full_stops_the_copy_and_says_so_but_raises_nothing() -> None:
    copy = OutputFile(Path("/dev/full"))
    copy.write(0, b"more than the disk has")
    assert copy.stuck is not None
    assert "No space left" in copy.stuck


def test_a_copy_below_a_home_that_is_not_there_waits_for_it(tmp_path: Path) -> None:
    home = tmp_path / "jobs"
    copy = OutputFile(home / "ada" / "out.log")
    copy.write(0, b"one\n")
    assert copy.stuck is not None
    assert "put its folder back" in copy.stuck
    assert not home.exists()
    (home / ".jobman").mkdir(parents=True)
    copy.write(0, b"one\n")
    assert copy.stuck is None
    assert copy.path.read_bytes() == b"one\n"


def test_a_copy_that_was_removed_is_begun_anew(tmp_path: Path) -> None:
    copy = OutputFile(tmp_path / "out.log")
    copy.write(0, b"one\n")
    copy.path.unlink()
    copy.write(4, b"two\n")
    assert copy.stuck is not None
    assert "copies the output anew" in copy.stuck
    assert copy.offset == 0
    copy.write(0, b"one\ntwo\n")
    assert copy.stuck is None
    assert copy.tail == copy.path.read_bytes() == b"one\ntwo\n"


def _file_for_folder(path: Path) -> Path:
    path.parent.write_text("in the way")
    return path.parent


def _folder_for_file(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def _link_to_itself(path: Path) -> Path:
    path.parent.symlink_to(path.parent)
    return path.parent


@pytest.mark.parametrize("hinder", [_file_for_folder, _folder_for_file, _link_to_itself])
@pytest.mark.parametrize("opened", ["before", "meanwhile"])
def test_a_copy_waits_until_what_lies_in_its_way_is_gone(
    tmp_path: Path, hinder: Callable[[Path], Path], opened: str
) -> None:
    (tmp_path / ".jobman").mkdir()
    path = tmp_path / "task/out.log"
    copy = OutputFile(path) if opened == "before" else None
    hindrance = hinder(path)
    copy = copy or OutputFile(path)
    copy.write(0, b"one\n")
    assert copy.stuck is not None
    assert str(path) in copy.stuck
    assert copy.offset == 0
    hindrance.rename(tmp_path / "moved away")
    copy.write(0, b"one\n")
    assert copy.stuck is None
    assert copy.tail == path.read_bytes() == b"one\n"


def test_a_copy_waits_for_a_process_that_has_too_many_files_open(tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    OutputFile(path).write(0, b"one\n")
    with _no_file_more():
        copy = OutputFile(path)
        copy.write(0, b"one\ntwo\n")
    assert copy.stuck is not None
    assert "let more files be open" in copy.stuck
    copy.write(0, b"one\ntwo\n")
    assert copy.stuck is None
    assert copy.tail == path.read_bytes() == b"one\ntwo\n"


@contextlib.contextmanager
def _no_file_more() -> Iterator[None]:
    """Let the process open no file more, for the length of a block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Path(os.devnull).open("rb") as file:
        lowest = file.fileno()
    # Every number below is taken.
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_copy_that_could_not_be_opened_works_again_though_nothing_new_is_said(
    tmp_path: Path,
) -> None:
    path = tmp_path / "out.log"
    path.mkdir()
    copy = OutputFile(path)
    assert copy.stuck is not None
    path.rmdir()
    copy.write(0, b"")
    assert copy.stuck is None


def test_output_that_is_written_at_the_second_try_is_in_the_tail_once(tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    copy = OutputFile(path)
    copy.write(0, b"one\n")
    path.rename(tmp_path / "kept")
    path.mkdir()
    copy.write(4, b"two\n")
    assert copy.stuck is not None
    path.rmdir()
    (tmp_path / "kept").rename(path)
    copy.write(4, b"two\n")
    assert copy.tail == path.read_bytes() == b"one\ntwo\n"
