"""Room on disks: how much is left, and when that is too little."""

import os
from pathlib import Path
from typing import Final, Self

import attrs

from jobman_core.command import quote
from jobman_core.doctor.asking import said
from jobman_core.models.checkup import Checkup

_MIB: Final = 2**20
_GIB: Final = 2**30
#: Bytes and files below which work stops soon, and below which it may within days.
_FULL: Final = (100 * _MIB, 100)
_SCARCE: Final = (_GIB, 10_000)


@attrs.frozen
class Room:
    """What is left on the disk of a folder."""

    free: int
    #: How many files more; None: the file system does not count them.
    files: int | None = None

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Look at a disk.

        Raises:
            OSError: it cannot be looked at.
        """
        disk = os.statvfs(folder)
        return cls(disk.f_bavail * disk.f_frsize, disk.f_favail if disk.f_files else None)


def judge_room(name: str, folder: Path, room: Room) -> Checkup:
    """Say whether that is enough."""
    where = quote([str(folder)])
    left = f"{_bytes(room.free)} free in {folder}"
    if room.files is not None and room.files < _SCARCE[1]:
        left += f", and room for {room.files} files"
    for judge, (least, fewest) in ((Checkup.broken, _FULL), (Checkup.doubt, _SCARCE)):
        if room.free < least:
            return judge(name, left, f"free some space: `du -xh {where} | sort -h | tail`")
        if room.files is not None and room.files < fewest:
            return judge(name, left, f"remove files: `du -x --inodes {where} | sort -n | tail`")
    return Checkup.well(name, left)


async def quota(name: str) -> Checkup | None:
    """Ask whether the user has used up a quota on any disk (quota(1)); None: nobody keeps any."""
    answer = await said("quota", "-q")
    if answer is None or answer.ok or not answer.tail():
        return None
    told = " ".join(answer.tail(1).split())
    return Checkup.broken(name, f"your disk quota is used up: {told}", "free some space")


def _bytes(number: int) -> str:
    if number >= _GIB:
        return f"{number / _GIB:.1f} GiB"
    return f"{number / _MIB:.0f} MiB"
