"""What a dry run shows of a request: the API's own form of it, with nothing secret in it."""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from jobman_gcp.requests import SSH_KEYS, Ask

_TYPE_AND_KEY: Final = 2


def preview(ask: Ask) -> Sequence[str]:
    """Give a request, a line each, as the REST API has it.

    Keys are named by their users and fingerprints; other metadata, which may be secret, by its
    length.
    """
    from google.cloud import tpu_v2, tpu_v2alpha1
    from google.protobuf.json_format import MessageToDict

    version, api = ("v2alpha1", tpu_v2alpha1) if ask.alpha else ("v2", tpu_v2)
    message = api.QueuedResource if ask.queued else api.Node
    body = MessageToDict(message.pb(message(dict(ask.body))))
    kind, query = ("queuedResources", "queuedResourceId") if ask.queued else ("nodes", "nodeId")
    node = body["tpu"]["nodeSpec"][0]["node"] if ask.queued else body
    if "metadata" in node:
        node["metadata"] = dict(_metadata(node["metadata"]))
    url = f"https://tpu.googleapis.com/{version}/{ask.parent}/{kind}?{query}={ask.name}"
    return [f"POST {url}", *json.dumps(body, indent=2, sort_keys=True).splitlines()]


def _metadata(values: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if key == SSH_KEYS:
            yield key, [_key(line) for line in value.splitlines()]
        else:
            yield key, _hidden(value)


def _key(line: str) -> str:
    """Name an entry ``USER:TYPE BASE64 COMMENT`` as ``ssh-keygen -l`` names keys."""
    user, colon, key = line.partition(":")
    words = key.split()
    if not colon or len(words) < _TYPE_AND_KEY:
        return _hidden(line)
    try:
        digest = hashlib.sha256(base64.b64decode(words[1], validate=True)).digest()
    except binascii.Error:
        return _hidden(line)
    fingerprint = base64.b64encode(digest).decode().rstrip("=")
    return f"{user}: {words[0]} SHA256:{fingerprint}"


def _hidden(value: str) -> str:
    return f"({len(value)} characters)"
