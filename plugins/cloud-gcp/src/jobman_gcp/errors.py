"""What an error of the Cloud TPU API means to a job.

Sources: the API's error codes (``google.rpc.Code``) and the texts that clients meet: capacity and
quota come under one code, so that only the text tells them apart.
"""

import re
from enum import IntEnum
from typing import Final

import attrs

from jobman_core.errors import (
    CloudError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)


class Code(IntEnum):
    """``google.rpc.Code``."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


@attrs.frozen
class Failure:
    """An error as the API gives it, in an answer, an operation or a queued resource."""

    code: int
    text: str


class ApiError(Exception):
    """A call that came to nothing."""

    def __init__(self, failure: Failure) -> None:
        """Keep what the API said, or what stood between it and us."""
        super().__init__(failure.text)
        self.failure = failure

    @property
    def code(self) -> int:
        """The error's ``google.rpc.Code``."""
        return self.failure.code


@attrs.frozen
class Api:
    """One of Google's APIs, and who may ask it."""

    host: str
    #: A role that has what is asked of it.
    role: str
    #: What is not known where it cannot be asked.
    knows: str = ""


TPU: Final = Api("tpu.googleapis.com", "roles/tpu.admin")
QUOTAS: Final = Api("cloudquotas.googleapis.com", "roles/cloudquotas.viewer", "limits on chips")
COMPUTE: Final = Api(
    "compute.googleapis.com", "roles/compute.viewer", "external IPs, instances and disks"
)

#: Said of capacity, whatever the code.
_NO_CAPACITY: Final = re.compile(
    r"no more capacity|insufficient (reserved )?capacity|stock-?out"
    r"|not enough (resources|capacity)|does not have enough resources|no available capacity",
    re.IGNORECASE,
)
#: The request was only good until a time that has passed.
_EXPIRED: Final = re.compile(r"valid[ _-]?until|expired", re.IGNORECASE)
_NO_QUOTA: Final = re.compile(r"\blimit:?\s+0(?![\d.])", re.IGNORECASE)
_RATE: Final = re.compile(
    r"per (minute|second|day)|rate[ _-]?limit|too many requests", re.IGNORECASE
)
_QUOTA: Final = re.compile(r"quota", re.IGNORECASE)
_LOST_MEANWHILE: Final = re.compile(r"while in state", re.IGNORECASE)
_SWITCHED_OFF: Final = re.compile(r"has not been used|is disabled|SERVICE_DISABLED")

_PERMANENT: Final = frozenset(
    {
        Code.INVALID_ARGUMENT,
        Code.NOT_FOUND,
        Code.PERMISSION_DENIED,
        Code.FAILED_PRECONDITION,
        Code.OUT_OF_RANGE,
        Code.UNIMPLEMENTED,
    }
)
_REMEDIES: Final = {
    Code.INVALID_ARGUMENT: "correct the tpu section of the job file",
    Code.NOT_FOUND: "check tpu.zone, tpu.project and the names in tpu.flags",
    Code.FAILED_PRECONDITION: "check what the message names, in the project and in tpu.flags",
}


def refusal(failure: Failure, what: str) -> CloudError:
    """Give what an error in answer to a request for a slice means.

    Args:
        failure: as the API gave it.
        what: what was asked for, and where: ``v4-8 in us-central2-b``.
    """
    text = _plain(failure.text)
    if _NO_CAPACITY.search(text):
        # What to do about it is told in jobman's words, and once.
        why = text.partition("; you can try")[0]
        return StockoutError(f"no capacity for {what}: {why}; tpu.zones can name more zones")
    if failure.code == Code.RESOURCE_EXHAUSTED:
        return _exhausted(text, what)
    if failure.code in {Code.DEADLINE_EXCEEDED, Code.OK, Code.CANCELLED} and _EXPIRED.search(text):
        return StockoutError(f"no capacity for {what} in time: {text}: it is asked for again")
    if failure.code == Code.UNAUTHENTICATED:
        return TransientCloudError(f"{what}: {text}: run `gcloud auth application-default login`")
    if failure.code in _PERMANENT and not _LOST_MEANWHILE.search(text):
        return PermanentCloudError(f"{what} is refused: {text}: {_remedy(failure.code, text)}")
    return TransientCloudError(f"{what}: {text or _word(failure.code)}: it is asked for again")


def trouble(failure: Failure, what: str, api: Api = TPU) -> CloudError:
    """Give what an error in answer to anything else means: only rights do not pass by themselves.

    Args:
        failure: as the API gave it.
        what: what was tried: ``slice train-g1 cannot be deleted``.
        api: that was asked.
    """
    text = _plain(failure.text) or _word(failure.code)
    if failure.code == Code.PERMISSION_DENIED:
        # What Google says of an API that is switched off is a paragraph.
        why = f"{api.host} is not enabled" if _SWITCHED_OFF.search(text) else text
        return PermanentCloudError(f"{what}: {why}: {_right(text, api)}")
    if failure.code == Code.UNAUTHENTICATED:
        return TransientCloudError(f"{what}: {text}: run `gcloud auth application-default login`")
    return TransientCloudError(f"{what}: {text}: it is tried again")


def _exhausted(text: str, what: str) -> CloudError:
    if _NO_QUOTA.search(text):
        return PermanentCloudError(
            f"no quota for {what}: {text}: ask for quota on the project's IAM & Admin > Quotas page"
            ", or take another zone"
        )
    if _RATE.search(text):
        return TransientCloudError(f"too many requests for {what}: {text}: it is asked for again")
    if _QUOTA.search(text):
        return StockoutError(
            f"the project's quota for {what} is used up: {text}: it is asked for again; dead "
            "queued resources hold quota until they are deleted"
        )
    return StockoutError(f"no capacity for {what}: {text}: it is asked for again")


def _remedy(code: int, text: str) -> str:
    if _SWITCHED_OFF.search(text) or code == Code.PERMISSION_DENIED:
        return _right(text, TPU)
    return _REMEDIES.get(Code(code), "check the tpu section of the job file")


def _right(text: str, api: Api) -> str:
    if _SWITCHED_OFF.search(text):
        return f"run `gcloud services enable {api.host}`"
    name = "check the zone's name, or " if api is TPU else ""
    return f"{name}have the role {api.role} granted on the project"


def _plain(text: str) -> str:
    """Give a text that a colon can follow."""
    return " ".join(text.split()).rstrip(".: ")


def _word(code: int) -> str:
    try:
        return Code(code).name
    except ValueError:
        return f"error {code}"
