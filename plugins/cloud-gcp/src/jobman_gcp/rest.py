"""The Compute Engine API, over REST.

By HTTP itself: to import Google's client for it takes seconds and 100 MB, for some lines of JSON.
"""

import os
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from jobman_core.process import in_daemon
from jobman_gcp.account import EMULATED_COMPUTE, Account
from jobman_gcp.errors import ApiError, Code, Failure

if TYPE_CHECKING:
    from requests import Response

_GOOGLE: Final = "https://compute.googleapis.com/compute/v1/"
#: Seconds that one call may take.
_LIMIT: Final = 15.0
_CODES: Final[Mapping[int, Code]] = {
    HTTPStatus.BAD_REQUEST: Code.INVALID_ARGUMENT,
    HTTPStatus.UNAUTHORIZED: Code.UNAUTHENTICATED,
    HTTPStatus.FORBIDDEN: Code.PERMISSION_DENIED,
    HTTPStatus.NOT_FOUND: Code.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS: Code.RESOURCE_EXHAUSTED,
    HTTPStatus.SERVICE_UNAVAILABLE: Code.UNAVAILABLE,
}


async def now(account: Account) -> datetime:
    """Give the time by the API's clock, to a second.

    Raises:
        ApiError: it did not answer, or without a time.
    """
    answer = await in_daemon(partial(_ask, account, "", {}))
    try:
        return parsedate_to_datetime(answer.headers["Date"])
    except (KeyError, ValueError) as error:
        raise ApiError(Failure(Code.UNKNOWN, "it tells no time")) from error


async def get(account: Account, path: str, query: Mapping[str, str]) -> Mapping[str, Any]:
    """Give what the API has at a path, like ``projects/P/regions``.

    Raises:
        ApiError: it refused, or did not answer.
    """
    return await in_daemon(partial(_get, account, path, query))


def _get(account: Account, path: str, query: Mapping[str, str]) -> Mapping[str, Any]:
    answer = _ask(account, path, query)
    try:
        document = answer.json()
    except ValueError as error:
        raise _not_the_api(answer.url, error) from error
    if answer.status_code != HTTPStatus.OK or not isinstance(document, dict):
        raise ApiError(_failure(answer.status_code, document))
    return document


def _ask(account: Account, path: str, query: Mapping[str, str]) -> "Response":
    """Ask, and give whatever was answered."""
    import requests
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession

    base = _GOOGLE
    if account.emulator:
        base = os.environ.get(EMULATED_COMPUTE, "")
        if not base:
            text = f"{EMULATED_COMPUTE} is not set: `jobman emulator status` says to what"
            raise ApiError(Failure(Code.UNAVAILABLE, text))
    session = requests.Session()
    if not account.emulator:
        session = AuthorizedSession(account.credentials)  # type: ignore[no-untyped-call]
    # A proxy knows no loopback address of ours.
    session.trust_env = not account.emulator
    try:
        with session:
            return session.get(base + path, params=query, timeout=_LIMIT)
    except GoogleAuthError as error:
        raise ApiError(Failure(Code.UNAUTHENTICATED, str(error))) from error
    except requests.RequestException as error:
        raise _not_the_api(base, error) from error


def _not_the_api(url: str, error: Exception) -> ApiError:
    text = f"{url} does not answer as the Compute Engine API does ({type(error).__name__})"
    return ApiError(Failure(Code.UNAVAILABLE, text))


def _failure(status: int, document: Any) -> Failure:  # noqa: ANN401 - JSON
    told = document.get("error") if isinstance(document, dict) else None
    text = str(told.get("message", "")) if isinstance(told, dict) else ""
    return Failure(_CODES.get(status, Code.UNKNOWN), text or f"HTTP status {status}")
