"""Files that cannot be read, and bytes that are no text: one fault each, and no waiting."""

import os
from pathlib import Path

import pytest

from jobman_core.config.text import decode, read_bytes
from jobman_core.errors import ConfigError


def fault_of(path: Path, limit: int = 100) -> str:
    with pytest.raises(ConfigError) as caught:
        decode(read_bytes(path, limit), path)
    (fault,) = caught.value.faults
    return str(fault).removeprefix(f"{path}:")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("\ufeffjob: ünï\n".encode())
    assert decode(read_bytes(path, 100), path) == "job: ünï\n"


def test_a_missing_file(tmp_path: Path) -> None:
    assert fault_of(tmp_path / "no.yaml") == "0:0: there is no such file: check the path"


def test_a_link_that_leads_nowhere_or_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "circle").symlink_to("circle")
    assert "no such file" in fault_of(tmp_path / "nowhere")
    assert "it cannot be read" in fault_of(tmp_path / "circle")


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    assert "it cannot be read (not a directory)" in fault_of(tmp_path / "a" / "b")


def test_a_folder(tmp_path: Path) -> None:
    assert fault_of(tmp_path) == "0:0: it is a folder: name a file in it"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert fault_of(tmp_path / "pipe") == "0:0: it is not a regular file: save it as one"


def test_a_device_is_not_read() -> None:
    assert "not a regular file" in fault_of(Path("/dev/zero"))


def test_a_path_that_is_none() -> None:
    assert "that is no path" in fault_of(Path("a\0b"))


def test_a_file_whose_content_cannot_be_had() -> None:
    # A regular file that even root gets an error from.
    message = "0:0: it cannot be read (input/output error): check the path and its mode"
    assert fault_of(Path("/proc/self/mem")) == message


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * (1 << 20))
    assert len(read_bytes(path, 1 << 20)) == 1 << 20
    assert fault_of(path, (1 << 20) - 1) == "0:0: it is larger than 0 MiB: split it"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: 1\nb: \xff\n", "2:4: byte 0xff is not UTF-8 text: save the file as UTF-8"),
        (b"\xff\xfea\x00", "1:1: byte 0xff is not UTF-8 text: save the file as UTF-8"),
        (b"\x7fELF\x00", "1:1: character U+007F has no place in a text file: take it out"),
        (b"a: x\x00\n", "1:5: character U+0000 has no place in a text file: take it out"),
        ("ü: \x1b[0m".encode(), "1:4: character U+001B has no place in a text file: take it out"),
    ],
)
def test_bytes_that_are_no_text(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    assert fault_of(path) == expected
