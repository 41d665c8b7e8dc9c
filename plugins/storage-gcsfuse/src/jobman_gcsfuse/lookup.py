"""Asks Cloud Storage where buckets are, with Google's own client."""

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import attrs

from jobman_core.process import in_daemon
from jobman_gcsfuse.client import make_client, why
from jobman_gcsfuse.places import Location

if TYPE_CHECKING:
    from google.cloud.storage import Client

#: Seconds for all buckets together.
LIMIT: Final = 9.0
#: Seconds to connect, and for an answer.
_CALL: Final = (3.0, 5.0)


@attrs.frozen
class Missing:
    """There is no such bucket."""


@attrs.frozen
class Forbidden:
    """Whoever asks may not even list what is in it."""


@attrs.frozen
class Unknown:
    """Nobody could tell: never a reason to refuse anything."""

    why: str


Found = Location | Missing | Forbidden | Unknown


async def ask(buckets: Sequence[str], limit: float) -> dict[str, Found]:
    """Ask for all, for so many seconds at most."""
    found: dict[str, Found] = {}
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(in_daemon(partial(_look_at, buckets, found)), limit)
    late = Unknown(f"Cloud Storage did not answer within {limit:g} s")
    return {bucket: found.get(bucket, late) for bucket in buckets}


def _look_at(buckets: Sequence[str], found: dict[str, Found]) -> None:
    """Look for one after the other; what was found is there at once."""
    try:
        client = make_client()
    except Exception as error:  # noqa: BLE001 - Google's libraries raise whatever they meet
        found |= dict.fromkeys(buckets, Unknown(why(error)))
        return
    for bucket in buckets:
        try:
            found[bucket] = _find(client, bucket)
        except Exception as error:  # noqa: BLE001 - the same
            found[bucket] = Unknown(why(error))


def _find(client: "Client", name: str) -> Found:
    from google.api_core.exceptions import Forbidden as ForbiddenError
    from google.api_core.exceptions import NotFound

    try:
        bucket = client.get_bucket(name, timeout=_CALL, retry=None)
    except NotFound:
        return Missing()
    except ForbiddenError:
        return _find_inside(client, name)
    if not bucket.location:
        return Unknown("it does not say where it is")
    return Location(bucket.location, tuple(bucket.data_locations or ()))


def _find_inside(client: "Client", name: str) -> Found:
    """See whether the bucket can be used by whoever may not see its settings."""
    from google.api_core.exceptions import Forbidden as ForbiddenError

    try:
        list(client.list_blobs(name, max_results=1, timeout=_CALL, retry=None))
    except ForbiddenError:
        return Forbidden()
    return Unknown("you may use it, but not see where it is (storage.buckets.get)")
