"""The local copy of what a host says: no gap, no repeat, whoever goes on with it."""

from pathlib import Path

from jobman_core.run.output import OutputFile


def test_a_copy_goes_on_where_the_last_controller_left_it(tmp_path: Path) -> None:
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
