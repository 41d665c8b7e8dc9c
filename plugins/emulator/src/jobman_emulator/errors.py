"""Errors as the API tells them: a canonical code, a text, and sometimes details."""

from collections.abc import Sequence
from typing import Final

from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, status_pb2

#: Canonical code: the HTTP status that it comes with. Source: google/rpc/code.proto.
HTTP: Final = {
    code_pb2.CANCELLED: 499,
    code_pb2.UNKNOWN: 500,
    code_pb2.INVALID_ARGUMENT: 400,
    code_pb2.DEADLINE_EXCEEDED: 504,
    code_pb2.NOT_FOUND: 404,
    code_pb2.ALREADY_EXISTS: 409,
    code_pb2.PERMISSION_DENIED: 403,
    code_pb2.UNAUTHENTICATED: 401,
    code_pb2.RESOURCE_EXHAUSTED: 429,
    code_pb2.FAILED_PRECONDITION: 400,
    code_pb2.ABORTED: 409,
    code_pb2.OUT_OF_RANGE: 400,
    code_pb2.UNIMPLEMENTED: 501,
    code_pb2.INTERNAL: 500,
    code_pb2.UNAVAILABLE: 503,
    code_pb2.DATA_LOSS: 500,
}
#: HTTP status: the code that is meant where somebody says the status.
_MEANT: Final = {
    400: code_pb2.INVALID_ARGUMENT,
    401: code_pb2.UNAUTHENTICATED,
    403: code_pb2.PERMISSION_DENIED,
    404: code_pb2.NOT_FOUND,
    409: code_pb2.ABORTED,
    429: code_pb2.RESOURCE_EXHAUSTED,
    499: code_pb2.CANCELLED,
    500: code_pb2.INTERNAL,
    501: code_pb2.UNIMPLEMENTED,
    503: code_pb2.UNAVAILABLE,
    504: code_pb2.DEADLINE_EXCEEDED,
}


class ApiError(Exception):
    """What a call, or an operation, ends with instead of an answer."""

    def __init__(self, code: int, message: str, details: Sequence[Message] = ()) -> None:
        """Take a code of google.rpc.Code, a text, and messages of google.rpc's error details."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = tuple(details)

    @property
    def name(self) -> str:
        """The code's name, like ``NOT_FOUND``."""
        return str(code_pb2.Code.Name(self.code))

    @property
    def http(self) -> int:
        """The HTTP status."""
        return HTTP[self.code]

    def status(self) -> status_pb2.Status:
        """Give it as the message that operations and gRPC's trailers carry."""
        packed = []
        for detail in self.details:
            item = any_pb2.Any()
            item.Pack(detail)
            packed.append(item)
        return status_pb2.Status(code=self.code, message=self.message, details=packed)


def read_code(text: str | int) -> int:
    """Read a code: its number, its name, or an HTTP status.

    Raises:
        ValueError: there is no such code.
    """
    word = str(text).strip().upper().replace("-", "_")
    if word.isdigit():
        number = _MEANT.get(int(word), int(word))
        if number in HTTP:
            return int(number)
    elif word in code_pb2.Code.keys() and word != "OK":  # noqa: SIM118 - no mapping
        return int(code_pb2.Code.Value(word))
    known = ", ".join(code_pb2.Code.Name(code) for code in HTTP)
    msg = f"unknown code {text!r}: use 1 to 16, an HTTP status, or one of {known}"
    raise ValueError(msg)


def invalid(message: str) -> ApiError:
    """Say that a request cannot be right."""
    return ApiError(code_pb2.INVALID_ARGUMENT, message)


def not_found(name: str) -> ApiError:
    """Say that there is no such resource."""
    return ApiError(code_pb2.NOT_FOUND, f"Resource '{name}' was not found")


def exists(name: str) -> ApiError:
    """Say that a name is taken."""
    return ApiError(code_pb2.ALREADY_EXISTS, f"Resource '{name}' already exists")


def busy(name: str) -> ApiError:
    """Say that another operation on the resource has not ended."""
    return ApiError(
        code_pb2.ABORTED,
        f"Cloud TPU was unable to queue the operation: another one on '{name}' is in progress",
    )


def refused(message: str) -> ApiError:
    """Say that the resource is not in a state for that."""
    return ApiError(code_pb2.FAILED_PRECONDITION, message)
