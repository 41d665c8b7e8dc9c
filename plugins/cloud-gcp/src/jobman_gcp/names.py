"""Names and labels that the Cloud TPU API takes.

Source: the API's reference of nodes (``nodeId``) and the rules for labels of all of Google Cloud.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from jobman_core.models.slice import SliceIdentity

_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_LONGEST_NAME: Final = 63
_LONGEST_LABEL: Final = 63
#: What stands for itself in the value of a label; ``_`` begins what stands for another character.
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")
_ESCAPED: Final = re.compile(r"_([0-9a-f]{2})")
_OURS: Final = "jobman-"
_DIGEST: Final = 16


def wrong_name(name: str) -> str | None:
    """Say why a node cannot have a name; None: it can."""
    if _NAME.fullmatch(name):
        return None
    if len(name) > _LONGEST_NAME:
        return f"{name!r} has {len(name)} characters: a TPU's name has at most {_LONGEST_NAME}"
    return f"{name!r} cannot name a TPU: use small letters, digits and '-', a letter first"


def labels_of(identity: SliceIdentity) -> dict[str, str]:
    """Write whose a slice is as labels that Google Cloud takes."""
    return {key: label_value(value) for key, value in identity.labels.items()}


def label_value(text: str) -> str:
    """Write any text as the value of a label; different texts give different values.

    Whatever a value may not hold is written as ``_`` and two hexadecimal digits a byte, so that
    ``a.b`` and ``a-b`` stay two users. What gets too long ends in a digest of the whole text.
    """
    written = "".join(
        char if char in _PLAIN else "".join(f"_{byte:02x}" for byte in _bytes(char))
        for char in text
    )
    if len(written) <= _LONGEST_LABEL:
        return written
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]
    return f"{written[: _LONGEST_LABEL - _DIGEST - 1]}-{digest}"


def our_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Read back the labels that are jobman's."""
    return {key: read_label(value) for key, value in labels.items() if key.startswith(_OURS)}


def is_of(identity: SliceIdentity, labels: Mapping[str, str]) -> bool:
    """Tell whether labels say that a thing is this slice."""
    return all(labels.get(key) == value for key, value in labels_of(identity).items())


def read_label(value: str) -> str:
    """Undo :func:`label_value`, as far as it can be undone."""
    parts = _ESCAPED.split(value)
    written = b"".join(
        bytes.fromhex(part) if index % 2 else _bytes(part) for index, part in enumerate(parts)
    )
    return written.decode("utf-8", "replace")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
