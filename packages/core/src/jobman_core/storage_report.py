"""What buckets hold: those that are named, or all that a home has to do with."""

import asyncio
from collections.abc import Sequence

from jobman_core.errors import InvalidInputError, JobmanError
from jobman_core.hub import Hub
from jobman_core.interfaces.storage import Storage
from jobman_core.models.job import JobSpec
from jobman_core.models.storage import BucketSize, Tell


async def sizes_of(
    hub: Hub, names: Sequence[str], *, exact: bool, tell: Tell | None
) -> Sequence[BucketSize]:
    """Say what buckets hold, the largest first; where that cannot be known, why not.

    Args:
        hub: the home.
        names: which; none: all of the account, and those that jobs of the home mount.
        exact: count every object.
        tell: hears what is known of a bucket so far, while its objects are counted.

    Raises:
        InvalidInputError: no storage is installed that knows.
    """
    kinds = hub.plugins.names("storage")
    storages = [each for each in hub.backends.storages(kinds) if each.measures]
    if not storages:
        msg = "no storage is installed that knows what it holds: pip install jobman-gcsfuse"
        raise InvalidInputError(msg)
    project = hub.settings.project or ""
    found: list[BucketSize] = []
    wanted: dict[str, Sequence[str]] = {each.name: names for each in storages}
    if not names:
        specs, found = await _specs(hub)
        for storage in storages:
            listed, troubles = await _all_of(storage, specs, project)
            wanted[storage.name] = listed
            found += troubles
    asked = [
        storage.sizes(wanted[storage.name], project=project, exact=exact, tell=tell)
        for storage in storages
    ]
    found += [size for sizes in await asyncio.gather(*asked) for size in sizes]
    return sorted(found, key=lambda size: (-size.total().bytes, size.bucket))


async def _all_of(
    storage: Storage, specs: Sequence[JobSpec], project: str
) -> tuple[Sequence[str], Sequence[BucketSize]]:
    """Give the account's buckets and those that jobs mount, each once; and what hid others."""
    mounted = [
        bucket
        for spec in specs
        if storage.name in spec.sections
        for bucket in storage.buckets_of(spec)
    ]
    try:
        listed, troubles = await storage.buckets(project), []
    except JobmanError as error:
        listed, troubles = (), [BucketSize(storage.name, "", trouble=str(error))]
    return [*dict.fromkeys([*listed, *mounted])], troubles


async def _specs(hub: Hub) -> tuple[Sequence[JobSpec], list[BucketSize]]:
    """Read the files of all jobs; of those with faults it is told that they were passed over."""
    jobs = [record.job for record in await hub.store.records()]
    around = hub.surroundings()
    specs: list[JobSpec] = []
    troubles: list[BucketSize] = []
    for job in jobs:
        try:
            specs.append(await asyncio.to_thread(hub.spec, job, around))
        except JobmanError as error:
            told = f"buckets of job {job.id} are left out: {error}"
            troubles.append(BucketSize("", "", trouble=told))
    return specs, troubles
