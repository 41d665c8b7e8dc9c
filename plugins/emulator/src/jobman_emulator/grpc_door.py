"""What is served over gRPC: of TPUs both versions, operations and locations; the other APIs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

import grpc

from jobman_emulator.apis import RPCS
from jobman_emulator.calls import CALLS, is_plus
from jobman_emulator.errors import ApiError
from jobman_emulator.messages import VERSIONS, to_state
from jobman_emulator.service import Tpu, shown

if TYPE_CHECKING:
    from google.protobuf.message import Message

_STATUS: Final = {code.value[0]: code for code in grpc.StatusCode}
#: Where gRPC's clients find the details of an error.
_DETAILS: Final = "grpc-status-details-bin"
#: The operations and locations that all versions share are answered as this one.
_SHARED: Final = "v2"
#: The other APIs have one version each.
_OTHERS: Final = "v1"

Behaviour = Callable[[Any, "grpc.aio.ServicerContext[Any, Any]"], Awaitable[Any]]


async def serve_grpc(tpu: Tpu, host: str, port: int) -> tuple[grpc.aio.Server, int]:
    """Open the door; give the server, which runs, and its port.

    Args:
        tpu: the API.
        host: an address of this machine.
        port: 0 takes a free one.

    Raises:
        RuntimeError: the port is taken.
    """
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    services: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
    for call in CALLS:
        for version, types in VERSIONS.items():
            if call.service is None and f"{call.name}Request" not in types:
                continue
            service = call.service or f"google.cloud.tpu.{version}.Tpu"
            used = _SHARED if call.service else version
            kind = call.request_type(used)
            services.setdefault(service, {})[call.name] = _handler(tpu, call.name, kind, used)
    for rpc in RPCS:
        if rpc.service:
            handler = _handler(tpu, rpc.name, rpc.request, _OTHERS)
            services.setdefault(rpc.service, {})[rpc.name] = handler
    for service, handlers in services.items():
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    bound = server.add_insecure_port(f"{host}:{port}")
    await server.start()
    return server, bound


def _handler(
    tpu: Tpu,
    name: str,
    kind: Any,  # noqa: ANN401 - proto-plus, or plain protobuf
    version: str,
) -> "grpc.RpcMethodHandler[Any, Any]":
    read = kind.deserialize if is_plus(kind) else kind.FromString
    return grpc.unary_unary_rpc_method_handler(
        _behaviour(tpu, name, version),
        request_deserializer=read,
        response_serializer=_write,
    )


def _behaviour(tpu: Tpu, name: str, version: str) -> Behaviour:
    async def behave(request: Any, context: "grpc.aio.ServicerContext[Any, Any]") -> Any:  # noqa: ANN401 - messages
        call = asyncio.ensure_future(tpu.call(name, to_state(request), version))
        # A client that is cut off leaves its call to run on, with nobody to hear what comes of it.
        call.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return shown(await asyncio.shield(call), version)
        except ApiError as error:
            await context.abort(
                _STATUS[error.code],
                error.message,
                ((_DETAILS, error.status().SerializeToString()),),
            )

    return behave


def _write(message: Any) -> bytes:  # noqa: ANN401 - proto-plus, or plain protobuf
    plain: Message = type(message).pb(message) if is_plus(type(message)) else message
    return plain.SerializeToString()
