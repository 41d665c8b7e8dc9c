"""Files and folders that are to stay."""

import errno
import stat
from pathlib import Path

import pytest

from jobman_core.files import make_folder, put, sync_folder


def test_a_file_is_put_in_its_place_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("a long text\n", "ü"):
        put(path, text)
        assert path.read_text("utf-8") == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_put_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(OSError, match="directory"):
        put(place, "text")
    assert list(tmp_path.iterdir()) == [place]


def test_folders_are_made_as_far_as_they_are_missing(tmp_path: Path) -> None:
    for _ in range(2):
        make_folder(tmp_path / "a" / "b", 0o700)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_syncs_no_folders_is_taken_as_it_is(tmp_path: Path, number: int) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, "")

    sync_folder(tmp_path, refuse)


def test_a_folder_that_cannot_be_synced_is_an_error(tmp_path: Path) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        sync_folder(tmp_path, fail)
