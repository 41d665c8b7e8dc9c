"""What is wrong with a job's buckets: of its file alone, and as Cloud Storage tells it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from jobman_core.interfaces.backend import Problem
from jobman_core.models.job import JobSpec
from jobman_gcsfuse.lookup import LIMIT, Forbidden, Found, Missing, Unknown, ask
from jobman_gcsfuse.mounts import Mount, mounts_of
from jobman_gcsfuse.places import Location, region_of

#: The option of ``jobman create`` with which all of it is passed over.
WAIVER: Final = "--force-region"
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")


def is_name(text: str) -> bool:
    """Tell whether a bucket can be called so."""
    return _BUCKET.fullmatch(text) is not None


def plain_name(text: str) -> str:
    """Give the name of a bucket that may be written as a URL: ``gs://bucket/``."""
    return text.removeprefix("gs://").rstrip("/")


def wrong_in_file(spec: JobSpec) -> list[Problem]:
    """Say what nobody has to be asked for."""
    return [problem for mount in mounts_of(spec) for problem in _wrong(mount, mounts_of(spec))]


def _wrong(mount: Mount, mounts: Sequence[Mount]) -> Iterator[Problem]:
    if mount.named and not _BUCKET.fullmatch(mount.bucket):
        plain = mount.bucket.removeprefix("gs://").strip("/").partition("/")[0].lower()
        hint = f": write {plain}" if _BUCKET.fullmatch(plain) else ""
        yield Problem(f"{mount.at}bucket_name", f"{mount.bucket!r} is no name of a bucket{hint}")
    before = mounts[: mounts.index(mount)]
    if mount.path in {other.path for other in before}:
        yield Problem(f"{mount.at}mount_path", f"something is mounted at {mount.path} already")
    elif mount.path in {".", "/"} or mount.path.split("/")[0] == "..":
        yield Problem(f"{mount.at}mount_path", "it must be a folder of its own")
    if mount.cache.get("enable_parallel_downloads") and "dir" not in mount.cache:
        key = f"{mount.at}cache.enable_parallel_downloads"
        yield Problem(key, "the file cache has no folder: write `dir:` with one")


async def look_up(spec: JobSpec, limit: float = LIMIT) -> list[Problem]:
    """Ask Cloud Storage for all buckets, for so many seconds at most."""
    named = {mount.bucket: mount for mount in reversed(mounts_of(spec)) if mount.named}
    buckets = list(reversed(named))
    found = await ask(buckets, limit)
    problems = (judge(named[bucket], found[bucket], spec) for bucket in buckets)
    return [problem for problem in problems if problem is not None]


def judge(mount: Mount, found: Found, spec: JobSpec) -> Problem | None:
    """Say what is wrong with a bucket, by what was found; None: nothing."""
    key, name = f"{mount.at}bucket_name", f"gs://{mount.bucket}"
    match found:
        case Missing():
            return Problem(key, f"there is no bucket {name}: check its name, or make it", WAIVER)
        case Forbidden():
            told = f"you may not read {name}: have roles/storage.objectUser granted on it"
            return Problem(key, told, WAIVER)
        case Unknown(why):
            return Problem(key, f"{name} was not looked up: {why}", doubt=True)
        case Location():
            return _judge_place(key, name, found, spec)


def _judge_place(key: str, name: str, place: Location, spec: JobSpec) -> Problem | None:
    zones = {request.zone: region_of(request.zone) for request in spec.candidates}
    if all(request.cloud == "local" for request in spec.candidates):
        return None
    held = {zone: None if region is None else place.holds(region) for zone, region in zones.items()}
    away = [zone for zone, is_held in held.items() if is_held is False]
    if away:
        told = f"{name} is in {place}, far from {', '.join(away)}: take a bucket there"
        return Problem(key, f"{told} (reading across regions is slow and costs)", WAIVER)
    unsure = [zone for zone, is_held in held.items() if is_held is None]
    if unsure:
        told = f"{name} is in {place}: whether that is near {', '.join(unsure)} is not known"
        return Problem(key, told, doubt=True)
    return None
