"""One model of the API in two versions: state is kept as v2alpha1, which says all that v2 says."""

import re
from collections.abc import Mapping
from typing import Any, Final

import proto
from google.cloud.tpu_v2.types import cloud_tpu as v2
from google.cloud.tpu_v2alpha1.types import cloud_tpu as v2alpha1
from google.protobuf import json_format

from jobman_emulator.errors import invalid

#: Version: its message types, by name.
VERSIONS: Final = {"v2": vars(v2), "v2alpha1": vars(v2alpha1)}
#: What the newer version calls otherwise, as JSON has it.
_RENAMED: Final = {"multisliceParams": "multiNodeParams"}
_BACK: Final = {new: old for old, new in _RENAMED.items()}
#: What a node says of the version that it is read by.
_API: Final = {"v2": "V2", "v2alpha1": "V2_ALPHA1"}
#: Their keys are the user's.
_FREE: Final = frozenset({"metadata", "labels"})


def is_tpu(kind: type) -> bool:
    """Tell whether a message type is one of the TPU API's, of any version."""
    return any(types.get(kind.__name__) is kind for types in VERSIONS.values())


def to_json(message: proto.Message) -> dict[str, Any]:
    """Give a message as the REST API shows it: names in camel case, defaults left out."""
    return dict(json_format.MessageToDict(type(message).pb(message)))


def from_json(kind: Any, document: Mapping[str, Any], *, strict: bool = True) -> proto.Message:  # noqa: ANN401 - a message type
    """Read a message.

    Raises:
        ApiError: it is none of that kind; with ``strict`` also where it has unknown fields.
    """
    message = kind()
    try:
        json_format.ParseDict(dict(document), kind.pb(message), ignore_unknown_fields=not strict)
    except json_format.ParseError as error:
        said = re.sub(r" at \"?[A-Za-z]+Request\"?", "", str(error)).strip(".")
        raise invalid(f"Invalid JSON payload received. {said}") from error
    return message


def to_state(message: Any) -> Any:  # noqa: ANN401 - of proto-plus, or plain
    """Give a request of either version as state keeps it; one of no version stays what it is."""
    kind = VERSIONS["v2alpha1"].get(type(message).__name__)
    if kind is None or isinstance(message, kind) or not is_tpu(type(message)):
        return message
    document = _renamed(to_json(message), _RENAMED, None)
    return from_json(kind, document, strict=False)


def to_version(message: proto.Message, version: str) -> proto.Message:
    """Give what state has as a version shows it."""
    kind = VERSIONS[version][type(message).__name__]
    document = _renamed(to_json(message), _BACK if version == "v2" else {}, _API[version])
    return from_json(kind, document, strict=False)


def _renamed(value: Any, names: Mapping[str, str], api: str | None) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, list):
        return [_renamed(item, names, api) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {
        names.get(key, key): item if key in _FREE else _renamed(item, names, api)
        for key, item in value.items()
    }
    if api and "apiVersion" in renamed:
        renamed["apiVersion"] = api
    return renamed
