"""What buckets hold: by Cloud Monitoring at once, or counted object by object."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from jobman_core.errors import PermanentCloudError, TransientCloudError
from jobman_core.interfaces.backend import Context
from jobman_core.models.storage import BucketSize, Tell
from jobman_core.process import in_daemon
from jobman_gcsfuse import monitoring
from jobman_gcsfuse.client import EMULATOR, find_project, make_client, why
from jobman_gcsfuse.counting import Count
from jobman_gcsfuse.monitoring import Measured

if TYPE_CHECKING:
    from google.cloud.storage import Client

#: Buckets that are looked at at once.
_AT_ONCE: Final = 8
#: Seconds to connect, and for an answer.
_CALL: Final = (5.0, 15.0)
#: Seconds between two tells of one bucket.
_TELL_EVERY: Final = 0.2

_T = TypeVar("_T")


@attrs.frozen
class _Facts:
    """What a bucket says of itself, to those who may ask."""

    location: str = ""
    #: The number of the project that it belongs to; empty: it does not say.
    project: str = ""
    #: What is deleted from it is kept for a while.
    keeps_deleted: bool = False
    #: Why nothing more can be known of it.
    trouble: str = ""


async def list_buckets(project: str) -> Sequence[str]:
    """List the buckets of a project.

    Raises:
        PermanentCloudError: there is no project, or whoever asks may not.
        TransientCloudError: Cloud Storage did not answer.
    """
    from google.api_core.exceptions import Forbidden

    try:
        named = await _project(project)
        return await in_daemon(partial(_list_buckets, named))
    except PermanentCloudError:
        raise
    except Forbidden as error:
        role = "have roles/storage.bucketViewer granted on it, or name buckets"
        msg = f"you may not list the buckets of project {named}: {role}"
        raise PermanentCloudError(msg) from error
    except Exception as error:
        msg = f"the buckets cannot be listed: {why(error)}"
        raise TransientCloudError(msg) from error


async def measured(buckets: Sequence[str], project: str, context: Context) -> Sequence[BucketSize]:
    """Say what Cloud Monitoring knows of buckets."""
    facts = await _facts(buckets)
    by_project: dict[str, list[str]] = {}
    troubles = {bucket: facts[bucket].trouble for bucket in buckets}
    for bucket in buckets:
        if not troubles[bucket]:
            by_project.setdefault(facts[bucket].project, []).append(bucket)
    found: dict[str, Measured] = {}
    for own, names in by_project.items():
        try:
            found |= await _measure(own, names, project, context)
        except Exception as error:  # noqa: BLE001 - Google's libraries raise whatever they meet
            troubles |= dict.fromkeys(names, _unmeasured(error))
    return [_size(bucket, facts[bucket], found.get(bucket), troubles[bucket]) for bucket in buckets]


async def counted(buckets: Sequence[str], context: Context, tell: Tell) -> Sequence[BucketSize]:
    """Count what is in buckets, one after the other, each in many parts at once."""
    facts = await _facts(buckets)
    try:
        client = await in_daemon(make_client)
    except Exception as error:  # noqa: BLE001 - the same
        return [BucketSize("", bucket, trouble=why(error)) for bucket in buckets]
    return [await _count(client, bucket, facts[bucket], context, tell) for bucket in buckets]


async def _count(
    client: "Client", bucket: str, facts: _Facts, context: Context, tell: Tell
) -> BucketSize:
    known = BucketSize("", bucket, facts.location, trouble=facts.trouble)
    if facts.trouble:
        return known
    clock, last = context.clock, context.clock.monotonic()

    def so_far() -> BucketSize:
        amounts = count.amounts()
        return attrs.evolve(
            known, amounts=amounts, as_of=clock.now(), exact=True, partial=not count.done
        )

    def told() -> None:
        nonlocal last
        if clock.monotonic() - last >= _TELL_EVERY:
            last = clock.monotonic()
            tell(so_far())

    count = Count(told)
    try:
        await count.run(client, bucket, deleted=facts.keeps_deleted)
    finally:
        # Also of one that somebody broke off.
        size = so_far()
        tell(size)
    if count.error is None:
        return size
    trouble = _uncounted(count.error, bucket)
    return attrs.evolve(size if size.amounts else known, trouble=trouble)


async def _measure(
    own: str, names: Sequence[str], project: str, context: Context
) -> Mapping[str, Measured]:
    if os.environ.get(EMULATOR) and not os.environ.get(monitoring.EMULATOR):
        # Whoever has such a server has no account to ask with.
        raise PermanentCloudError(
            f"the server that {EMULATOR} names has no Monitoring: use --exact"
        )
    named = own or await _project(project)
    return await in_daemon(partial(monitoring.measure, named, names, context.clock.now()))


async def _project(named: str) -> str:
    project = named or await in_daemon(find_project)
    if not project:
        raise PermanentCloudError(
            "no project of Google Cloud is named: write `project:` into jobman.yaml, or run "
            "`gcloud config set project PROJECT`"
        )
    return project


async def _facts(buckets: Sequence[str]) -> Mapping[str, _Facts]:
    try:
        client = await in_daemon(make_client)
    except Exception as error:  # noqa: BLE001 - Google's libraries raise whatever they meet
        return dict.fromkeys(buckets, _Facts(trouble=why(error)))
    asked = [partial(_look, client, bucket) for bucket in buckets]
    return dict(zip(buckets, await _some_at_once(asked), strict=True))


async def _some_at_once(calls: Sequence[Callable[[], _T]]) -> Sequence[_T]:
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(call: Callable[[], _T]) -> _T:
        async with limit:
            return await in_daemon(call)

    return await asyncio.gather(*map(one, calls))


def _list_buckets(project: str) -> Sequence[str]:
    client = make_client(project)
    listing = client.list_buckets(project=project, fields="items(name),nextPageToken")
    return [bucket.name for bucket in listing]


def _look(client: "Client", bucket: str) -> _Facts:
    """Look at a bucket; who may use it may not always see what it says of itself."""
    from google.api_core.exceptions import Forbidden, NotFound

    try:
        found = client.get_bucket(bucket, timeout=_CALL)
    except Forbidden:
        # It may keep what is deleted: whoever may list it may ask for that.
        return _Facts(keeps_deleted=True)
    except NotFound:
        return _Facts(trouble=f"there is no bucket gs://{bucket}: check its name")
    except Exception as error:  # noqa: BLE001 - the same
        return _Facts(trouble=why(error))
    policy = found.soft_delete_policy
    keeps = bool(policy and policy.retention_duration_seconds)
    return _Facts(found.location or "", str(found.project_number or ""), keeps)


def _size(bucket: str, facts: _Facts, found: Measured | None, trouble: str) -> BucketSize:
    if found is None:
        return BucketSize("", bucket, facts.location, trouble=trouble)
    location = facts.location or found.location.upper()
    return BucketSize("", bucket, location, found.amounts, found.as_of)


def _unmeasured(error: Exception) -> str:
    from google.api_core.exceptions import PermissionDenied

    if isinstance(error, PermanentCloudError):
        return str(error)
    if isinstance(error, PermissionDenied):
        said = "Cloud Monitoring refuses"
        if "SERVICE_DISABLED" in str(error) or "has not been used" in str(error):
            remedy = "run `gcloud services enable monitoring.googleapis.com`"
        else:
            remedy = "have roles/monitoring.viewer granted on the project"
        return f"{said}: {' '.join(error.message.split())}: {remedy}, or use --exact"
    return f"{why(error)}: --exact asks Cloud Storage itself"


def _uncounted(error: Exception, bucket: str) -> str:
    from google.api_core.exceptions import Forbidden, NotFound

    if isinstance(error, Forbidden):
        role = "have roles/storage.objectViewer granted on it"
        return f"you may not list gs://{bucket}: {role}"
    if isinstance(error, NotFound):
        return f"there is no bucket gs://{bucket}: check its name"
    return f"not all of gs://{bucket} was counted: {why(error)}"
