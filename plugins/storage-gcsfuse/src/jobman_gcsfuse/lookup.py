"""Asks Cloud Storage where buckets are, with Google's own client."""

import asyncio
import contextlib
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

import attrs

from jobman_gcsfuse.places import Location

if TYPE_CHECKING:
    from google.cloud.storage import Client

#: Seconds for all buckets together.
LIMIT: Final = 9.0
#: Seconds to connect, and for an answer.
_CALL: Final = (3.0, 5.0)
#: Buckets are found without one, but Google's client wants to know it.
_PROJECT: Final = "-"
#: Characters of an error that are shown.
_LONGEST: Final = 200


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
    done: Future[None] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            _look_at(buckets, found)
        finally:
            done.set_result(None)

    # A daemon, unlike a pool's threads: the process can end without it.
    threading.Thread(target=run, name="gcsfuse-check", daemon=True).start()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(done), limit)
    late = Unknown(f"Cloud Storage did not answer within {limit:g} s")
    return {bucket: found.get(bucket, late) for bucket in buckets}


def _look_at(buckets: Sequence[str], found: dict[str, Found]) -> None:
    """Look for one after the other; what was found is there at once."""
    try:
        client = _client()
    except Exception as error:  # noqa: BLE001 - Google's libraries raise whatever they meet
        found |= dict.fromkeys(buckets, _unknown(error))
        return
    for bucket in buckets:
        try:
            found[bucket] = _find(client, bucket)
        except Exception as error:  # noqa: BLE001 - the same
            found[bucket] = _unknown(error)


def _client() -> "Client":
    """Give a client, of the emulator that ``STORAGE_EMULATOR_HOST`` names, if it does."""
    with warnings.catch_warnings():
        # Of quotas of a project that is not asked for anything, and of Pythons that grow old.
        warnings.filterwarnings("ignore", module=r"google\.")
        from google.cloud.storage import Client

        return Client(project=_PROJECT)


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


def _unknown(error: Exception) -> Unknown:
    from google.api_core.exceptions import Unauthorized
    from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError
    from requests.exceptions import RequestException

    if isinstance(error, (DefaultCredentialsError, RefreshError, Unauthorized)):
        login = "run `gcloud auth application-default login`"
        return Unknown(f"no credentials for Google Cloud that are good: {login}")
    if isinstance(error, (TransportError, RequestException, OSError)):
        # What is wrong stands at the end of what the libraries say of it.
        said = str(_cause(error)).rpartition(": ")[2]
        return Unknown(f"Cloud Storage cannot be reached: {said}")
    return Unknown(" ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST])


def _cause(error: BaseException) -> BaseException:
    """Take an error out of those that libraries have wrapped it in."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _cause(inner) if isinstance(inner, BaseException) else error
