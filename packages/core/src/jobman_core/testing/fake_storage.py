"""A bucket that is a folder of this machine, for tests of what stands above storage."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import attrs

from jobman_core.command import Command
from jobman_core.errors import PermanentCloudError
from jobman_core.interfaces.backend import Context, Problem
from jobman_core.interfaces.storage import Storage
from jobman_core.models.job import JobSpec
from jobman_core.models.storage import Amount, BucketSize, Tell


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
    measures: ClassVar[bool] = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        #: The folders that are all buckets of the account.
        self.listed: list[str] = []
        #: Why they cannot be listed; None: they can.
        self.unlisted: str | None = None

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

    def buckets_of(self, spec: JobSpec) -> Sequence[str]:
        """Name the folder."""
        return [self._section(spec)[0]]

    async def buckets(self, project: str = "") -> Sequence[str]:
        """List what a test said."""
        del project
        if self.unlisted is not None:
            raise PermanentCloudError(self.unlisted)
        return self.listed

    async def sizes(
        self,
        buckets: Sequence[str],
        *,
        project: str = "",
        exact: bool = False,
        tell: Tell | None = None,
    ) -> Sequence[BucketSize]:
        """Add up the files of folders."""
        del project
        sizes = [self._size(bucket, exact=exact) for bucket in dict.fromkeys(buckets)]
        if exact and tell is not None:
            for size in sizes:
                if not size.trouble:
                    tell(size)
        return sizes

    def _size(self, bucket: str, *, exact: bool) -> BucketSize:
        root = Path(bucket)
        if not root.is_dir():
            return BucketSize(self.name, bucket, trouble=f"there is no folder {bucket}: make it")
        objects: Counter[str | None] = Counter()
        sizes: Counter[str | None] = Counter()
        for file in root.rglob("*"):
            if file.is_file():
                first, slash, _ = file.relative_to(root).as_posix().partition("/")
                folder = (first + slash if slash else "") if exact else None
                objects[folder] += 1
                sizes[folder] += file.stat().st_size
        amounts = [
            Amount(each, "FOLDER", objects=objects[each], bytes=sizes[each]) for each in objects
        ]
        now = self.context.clock.now()
        return BucketSize(self.name, bucket, amounts=amounts, as_of=now, exact=exact)

    def _section(self, spec: JobSpec) -> tuple[str, str]:
        section = spec.sections[self.name]
        return str(section["bucket"]), str(section.get("mount_path", "data"))
