"""The API over REST, for ``gcloud``: paths and JSON follow from the same calls and messages."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.rpc import code_pb2

from jobman_emulator.calls import CALLS, Call, is_plus
from jobman_emulator.errors import ApiError, invalid
from jobman_emulator.messages import VERSIONS, from_json, to_state
from jobman_emulator.service import Tpu, shown

#: What every Google API takes, and what changes nothing here.
_COMMON: Final = frozenset(
    {"access_token", "alt", "callback", "fields", "key", "prettyPrint", "quotaUser", "uploadType"}
)
_TRUE: Final = frozenset({"true", "1", "yes", "on"})


def add_rest(app: web.Application, tpu: Tpu) -> None:
    """Let an application serve the API, both versions."""
    routes = [(call, call.pattern) for call in CALLS]

    async def answer(request: web.Request) -> web.Response:
        version, path = request.match_info["version"], request.match_info["path"]
        for call, pattern in routes:
            match = pattern.fullmatch(path) if call.verb == request.method else None
            if match and (call.service or f"{call.name}Request" in VERSIONS[version]):
                message = await _read(call, version, match.groupdict(), request)
                reply = await tpu.call(call.name, to_state(message), version)
                return reply_json(_document(shown(reply, version)))
        raise ApiError(code_pb2.NOT_FOUND, f"Method not found: {request.method} {request.path}")

    versions = "|".join(VERSIONS)
    app.router.add_route("*", f"/{{version:{versions}}}/{{path:.+}}", answer)


@web.middleware
async def errors_as_json(request: web.Request, handler: Any) -> web.StreamResponse:  # noqa: ANN401 - aiohttp's
    """Tell errors the way that Google's APIs do."""
    try:
        reply: web.StreamResponse = await handler(request)
    except ApiError as error:
        details = json_format.MessageToDict(error.status()).get("details", [])
        told = {"code": error.http, "message": error.message, "status": error.name}
        return reply_json(
            {"error": {**told, **({"details": details} if details else {})}}, error.http
        )
    except web.HTTPException as error:
        told = {"code": error.status, "message": f"{error.reason}: {request.method} {request.path}"}
        return reply_json({"error": told}, error.status)
    return reply


def reply_json(document: Mapping[str, Any], status: int = 200) -> web.Response:
    """Give a document as an answer."""
    text = json.dumps(document, indent=2)
    return web.Response(text=text + "\n", status=status, content_type="application/json")


async def read_json(request: web.Request) -> dict[str, Any]:
    """Read the document that a request brings; none is an empty one.

    Raises:
        ApiError: it is not JSON, or not an object.
    """
    content = await request.read()
    try:
        document = json.loads(content or b"{}")
    except ValueError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from error
    if not isinstance(document, dict):
        raise invalid("Invalid JSON payload received. It is not an object")
    return document


async def _read(call: Call, version: str, fields: Mapping[str, str], request: web.Request) -> Any:  # noqa: ANN401 - proto-plus, or plain protobuf
    """Make the request's message out of its body, its query and its path."""
    kind = call.request_type(version)
    document: dict[str, Any] = {}
    if call.body == "*":
        document = await read_json(request)
    elif call.body:
        document[_camel(call.body)] = await read_json(request)
    plain = kind.pb(kind()) if is_plus(kind) else kind()
    known = plain.DESCRIPTOR.fields_by_camelcase_name
    for key in request.query:
        if key not in _COMMON and not key.startswith("$"):
            document[_camel(key)] = _value(known.get(_camel(key)), request.query.getall(key))
    for field, value in fields.items():
        *outer, last = field.split("__")
        inner = document
        for name in outer:
            inner = inner.setdefault(name, {})
        inner[last] = value
    if is_plus(kind):
        return from_json(kind, document)
    json_format.ParseDict(document, plain, ignore_unknown_fields=True)
    return plain


def _value(field: FieldDescriptor | None, values: list[str]) -> Any:  # noqa: ANN401 - JSON
    """Give what a query says as JSON would."""
    if field is None:
        return values[-1]
    if field.type == FieldDescriptor.TYPE_BOOL:
        return values[-1].lower() in _TRUE
    return values if field.is_repeated else values[-1]


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _document(message: Any) -> dict[str, Any]:  # noqa: ANN401 - proto-plus, or plain protobuf
    plain = type(message).pb(message) if is_plus(type(message)) else message
    return dict(json_format.MessageToDict(plain))
