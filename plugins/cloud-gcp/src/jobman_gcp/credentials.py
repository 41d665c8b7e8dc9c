"""Whose the credentials are, and whether they are still good."""

import os
from functools import partial
from pathlib import Path
from typing import Any, Final

from jobman_core.models.checkup import Checkup
from jobman_core.process import in_daemon
from jobman_gcp.account import EMULATOR, Account

_NAME: Final = "credentials"
#: Seconds for the answer.
_LIMIT: Final = 15.0
_LOGIN: Final = "run `gcloud auth application-default login`"


async def tried(account: Account) -> Checkup:
    """Have credentials renewed, which shows whether they are still good."""
    if account.emulator:
        told = f"none are needed: {EMULATOR} names an emulator at {account.emulator}"
        return Checkup.well(_NAME, told)
    return await in_daemon(partial(_renewed, account.credentials))


def _renewed(credentials: Any) -> Checkup:  # noqa: ANN401 - google.auth has many kinds
    from google.auth.exceptions import GoogleAuthError, TransportError
    from google.auth.transport.requests import Request

    whose = _owner(credentials)
    try:
        credentials.refresh(partial(Request(), timeout=_LIMIT))
    except TransportError as error:
        return Checkup.unknown(_NAME, f"{whose}: Google gave no answer: {error}")
    except GoogleAuthError as error:
        return Checkup.broken(_NAME, f"{whose}: they are not good any more: {error}", _LOGIN)
    return Checkup.well(_NAME, _owner(credentials))


def _owner(credentials: Any) -> str:  # noqa: ANN401 - the same
    """Say whose they are, as far as they tell."""
    for name in ("service_account_email", "account"):
        if isinstance(found := getattr(credentials, name, None), str) and found:
            return f"of {found}"
    return "of an account that they do not name"


def found_here() -> Checkup:
    """Look for credentials on this machine, asking nobody whether they are still good."""
    if address := os.environ.get(EMULATOR):
        return Checkup.well(_NAME, f"none are needed: {EMULATOR} names an emulator at {address}")
    path = _file()
    if path.is_file():
        return Checkup.unknown(_NAME, f"{path} has some; nobody asked whether they are good")
    if os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        told = f"GOOGLE_APPLICATION_CREDENTIALS names {path}, which is not there"
        return Checkup.broken(_NAME, told, "correct it, or unset it")
    told = f"none in {path}; a machine of Google Cloud's has others"
    return Checkup.unknown(_NAME, told, f"unless this is one, {_LOGIN}")


def _file() -> Path:
    """Give where Google's libraries look for them first."""
    if named := os.environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return Path(named)
    folder = os.environ.get("CLOUDSDK_CONFIG") or os.path.expanduser("~/.config/gcloud")  # noqa: PTH111 - Path's own raises
    return Path(folder) / "application_default_credentials.json"
