"""A bucket that is a folder of this machine, for tests of what stands above storage."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from jobman_core.command import Command
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.storage import Storage
from jobman_core.models.job import JobSpec


@attrs.frozen
class FakeStorageConfig:
    """The section ``fake`` of a job file."""

    #: The folder that is the bucket.
    bucket: Path
    #: On the hosts, below their home folders.
    mount_path: str = "data"


class FakeStorage(Storage):
    """Mounts by a symbolic link."""

    name = "fake"
    Config = FakeStorageConfig

    async def check(self, spec: JobSpec) -> Iterable[Problem]:
        """Refuse a bucket that is not there."""
        bucket, _ = self._section(spec)
        if Path(bucket).is_dir():
            return ()
        return (Problem("bucket", f"there is no folder {bucket}", waiver="--force-bucket"),)

    def mount(self, spec: JobSpec) -> Sequence[Command]:
        """Make the link."""
        return (Command(("ln", "-sfn", "--", *self._section(spec))),)

    def mounted(self, spec: JobSpec) -> Sequence[str]:
        """Look whether the link leads to the bucket."""
        return ("sh", "-c", '[ "$(readlink "$2")" = "$1" ]', "sh", *self._section(spec))

    def unmount(self, spec: JobSpec) -> Sequence[Command]:
        """Remove the link."""
        return (Command(("rm", "-f", "--", self._section(spec)[1])),)

    def _section(self, spec: JobSpec) -> tuple[str, str]:
        section = spec.sections[self.name]
        return str(section["bucket"]), str(section.get("mount_path", "data"))
