"""What the section ``gcsfuse`` of a job file says."""

import posixpath
from collections.abc import Mapping
from typing import Any, Final

import attrs

from jobman_core.models.job import JobSpec

#: The name of the section, and of what it is for.
SECTION: Final = "gcsfuse"


@attrs.frozen
class Mount:
    """One bucket at one place."""

    #: Where it stands in the section: empty, or ``extra_mounts[0].``; keys follow.
    at: str
    bucket: str
    #: Absolute, or below the home folder of the host.
    path: str
    #: The keys of ``cache`` that are written.
    cache: Mapping[str, Any] = attrs.field(factory=dict)
    #: The bucket stands here, and not in the section above.
    named: bool = True

    @property
    def of_the_home(self) -> bool:
        """Tell whether it is below the home folder of the host."""
        return not self.path.startswith("/")


def mounts_of(spec: JobSpec) -> tuple[Mount, ...]:
    """Give the mounts of a job, in the order of its file."""
    section = spec.sections[SECTION]
    mounts = [_mount(section, "", section)]
    for index, extra in enumerate(section.get("extra_mounts") or ()):
        mounts.append(_mount(extra, f"extra_mounts[{index}].", section))
    return tuple(mounts)


def _mount(part: Mapping[str, Any], at: str, section: Mapping[str, Any]) -> Mount:
    named = "bucket_name" in part
    bucket = str(part["bucket_name"] if named else section["bucket_name"])
    return Mount(at, bucket, _path(str(part["mount_path"])), part.get("cache") or {}, named)


def _path(path: str) -> str:
    """Give a path in its plain form; the home folder is where relative ones begin."""
    return posixpath.normpath(path.removeprefix("~/") or ".")
