"""Google's client of Cloud Storage: how it is made, waited for, and what its errors mean."""

import os
import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from google.cloud.storage import Client

#: Buckets are found without one, but Google's client wants to know it.
NO_PROJECT: Final = "-"
#: Say which project, the first that is set; those of Google's own tools.
_PROJECT: Final = ("GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "GCLOUD_PROJECT")
#: Names a server that is asked instead of Google's, without credentials.
EMULATOR: Final = "STORAGE_EMULATOR_HOST"
#: Such a server does not mind whose project it is.
_EMULATED_PROJECT: Final = "emulated"
#: Characters of an error that are shown.
_LONGEST: Final = 200


def make_client(project: str = NO_PROJECT) -> "Client":
    """Give a client, of the emulator that ``STORAGE_EMULATOR_HOST`` names, if it does."""
    with warnings.catch_warnings():
        # Of quotas of a project that is not asked for anything, and of Pythons that grow old.
        warnings.filterwarnings("ignore", module=r"google\.")
        from google.cloud.storage import Client

        return Client(project=project)


def find_project() -> str:
    """Give the project of whoever asks, as Google's own tools find it; empty: there is none."""
    named = next((os.environ[name] for name in _PROJECT if os.environ.get(name)), "")
    if named or os.environ.get(EMULATOR):
        return named or _EMULATED_PROJECT
    import google.auth

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"google\.")
        return google.auth.default()[1] or ""


def why(error: Exception) -> str:
    """Say what kept Cloud Storage from answering, and what to do about it where that is known."""
    from google.api_core.exceptions import RetryError, Unauthorized
    from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError
    from requests.exceptions import RequestException

    if isinstance(error, RetryError) and isinstance(error.cause, Exception):
        return why(error.cause)
    if isinstance(error, (DefaultCredentialsError, RefreshError, Unauthorized)):
        login = "run `gcloud auth application-default login`"
        return f"no credentials for Google Cloud that are good: {login}"
    if isinstance(error, (TransportError, RequestException, OSError)):
        # What is wrong stands at the end of what the libraries say of it.
        said = str(_cause(error)).rpartition(": ")[2]
        return f"Cloud Storage cannot be reached: {said}"
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]


def _cause(error: BaseException) -> BaseException:
    """Take an error out of those that libraries have wrapped it in."""
    inner = getattr(error, "reason", None) or next(iter(error.args), None)
    return _cause(inner) if isinstance(inner, BaseException) else error
