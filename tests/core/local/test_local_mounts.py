"""What is mounted in the folders of a local slice outlives it."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.core.local.conftest import LocalSlice

from jobman_core.models.slice import Absent

pytestmark = [pytest.mark.e2e, pytest.mark.root]


@pytest.fixture(autouse=True)
def _nothing_stays_mounted(tmp_path: Path) -> Iterator[None]:
    yield
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    left = [place for place in reversed(places) if place.startswith(f"{tmp_path}/")]
    for place in left:
        subprocess.run(["umount", "-l", place.encode().decode("unicode_escape")], check=True)
    assert left == []


def bind(folder: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", folder, place], check=True)


def dead_mount(place: Path) -> None:
    """Mount what nobody serves: a bucket, once its server was ended with its slice."""
    place.mkdir()
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.mount(b"gone", os.fsencode(place), b"fuse.gone", 0, options)
    error = ctypes.get_errno()
    os.close(fuse)
    assert done == 0, os.strerror(error)


async def test_a_slice_is_removed_and_nothing_of_what_is_mounted_in_it(
    local: LocalSlice, tmp_path: Path
) -> None:
    bucket = tmp_path / "bucket"
    (bucket / "inside").mkdir(parents=True)
    (bucket / "thesis").write_text("years")
    for name in ("gcs", "a disk", "a disk/inside"):
        bind(bucket, local.folder / "hosts/0" / name)
    dead_mount(local.folder / "hosts/1/gcs")
    await local.cloud.delete(local.identity)
    assert await local.cloud.observe(local.identity) == Absent()
    assert [path.name for path in local.folder.parent.iterdir()] == ["lock"]
    assert (bucket / "thesis").read_text() == "years"
