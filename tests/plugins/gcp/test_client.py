"""The client on the wire, where an emulator would be too well-behaved."""

import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc.aio
import pytest
from google.cloud import tpu_v2, tpu_v2alpha1
from google.longrunning import operations_pb2

from jobman_gcp.account import Account
from jobman_gcp.client import Client
from jobman_gcp.errors import ApiError, Code
from jobman_gcp.requests import Ask

ZONE = "us-central2-b"


def _bytes_of(message: Any) -> bytes:
    if isinstance(message, bytes):
        return message
    if isinstance(message, operations_pb2.ListOperationsResponse):
        return bytes(message.SerializeToString())
    return bytes(type(message).serialize(message))


class Service:
    """Answers two methods of the API as it is told."""

    def __init__(self) -> None:
        self.nodes: Any = tpu_v2alpha1.ListNodesResponse()
        self.answer: Callable[[], Any] = lambda: tpu_v2alpha1.Node(name="x/t", state="READY")
        self.asked = 0
        self.operations: Any = operations_pb2.ListOperationsResponse()

    async def list_nodes(self, _request: Any, _context: Any) -> Any:
        self.asked += 1
        return self.nodes

    async def get_node(self, _request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        self.asked += 1
        answer = self.answer()
        if isinstance(answer, grpc.StatusCode):
            await context.abort(answer, "out of order")
        return answer

    async def list_operations(self, _request: Any, _context: Any) -> Any:
        return self.operations

    def operation_handlers(self) -> grpc.GenericRpcHandler:
        handler: Any = grpc.unary_unary_rpc_method_handler(
            self.list_operations, response_serializer=_bytes_of
        )
        service = "google.longrunning.Operations"
        return grpc.method_handlers_generic_handler(service, {"ListOperations": handler})

    def handlers(self) -> grpc.GenericRpcHandler:
        def handler(behaviour: Any, request: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(
                behaviour,
                request_deserializer=request.deserialize,
                response_serializer=_bytes_of,
            )

        return grpc.method_handlers_generic_handler(
            "google.cloud.tpu.v2alpha1.Tpu",
            {
                "ListNodes": handler(self.list_nodes, tpu_v2alpha1.ListNodesRequest),
                "GetNode": handler(self.get_node, tpu_v2alpha1.GetNodeRequest),
            },
        )

    def stable_handlers(self) -> grpc.GenericRpcHandler:
        handler: Any = grpc.unary_unary_rpc_method_handler(
            self.get_node, response_serializer=_bytes_of
        )
        methods = {"CreateNode": handler, "DeleteNode": handler}
        return grpc.method_handlers_generic_handler("google.cloud.tpu.v2.Tpu", methods)


@pytest.fixture
async def service() -> Service:
    return Service()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[Client]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers(
        (service.handlers(), service.stable_handlers(), service.operation_handlers())
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    made = Client(Account(emulator=f"127.0.0.1:{port}").channel())
    yield made
    await made.aclose()
    await server.stop(None)


async def test_a_list_that_leaves_out_what_the_api_did_not_reach_is_no_list(
    client: Client, service: Service
) -> None:
    service.nodes = tpu_v2alpha1.ListNodesResponse(unreachable=[f"locations/{ZONE}"])
    with pytest.raises(ApiError, match="does not reach locations/us-central2-b") as caught:
        await client.nodes("p", ZONE)
    assert caught.value.code == Code.UNAVAILABLE


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.ABORTED]
)
async def test_a_call_that_fails_is_made_once_and_told(
    client: Client, service: Service, code: grpc.StatusCode
) -> None:
    service.answer = lambda: code
    with pytest.raises(ApiError, match="out of order") as caught:
        await client.node("p", ZONE, "t")
    assert caught.value.code == code.value[0]
    assert service.asked == 1


@pytest.mark.parametrize(
    ("said", "words"), [(b"\xff\xff", "it says no message"), (b"", "it says '' when asked for 't'")]
)
async def test_what_is_no_answer_of_the_api_is_not_taken_for_one(
    client: Client, service: Service, said: bytes, words: str
) -> None:
    service.answer = lambda: said
    with pytest.raises(ApiError, match=f"is not the Cloud TPU API, {words}") as caught:
        await client.node("p", ZONE, "t")
    assert caught.value.code == Code.UNKNOWN


async def test_a_list_that_is_no_message_is_no_list(client: Client, service: Service) -> None:
    service.nodes = b"\xff\xff"
    with pytest.raises(ApiError, match="it says no message"):
        await client.nodes("p", ZONE)


async def test_neither_a_create_nor_a_delete_takes_rubbish_for_an_operation(
    client: Client, service: Service
) -> None:
    service.answer = lambda: b"\xff\xff"
    for call in (
        client.create(Ask("p", ZONE, "t", queued=False, body={})),
        client.delete_node("p", ZONE, "t"),
    ):
        with pytest.raises(ApiError, match="it says no message"):
            await call


async def test_a_request_that_cannot_be_written_is_told(client: Client) -> None:
    with pytest.raises(ApiError, match="it cannot be sent: ") as caught:
        await client.node("p", ZONE, "\udcff")
    assert caught.value.code == Code.INVALID_ARGUMENT


async def test_operations_that_cannot_be_read_are_told(client: Client, service: Service) -> None:
    service.operations.operations.add(name="o").metadata.value = b"\xff"
    with pytest.raises(ApiError, match="an operation without a meaning"):
        await client.newest_operation("p", ZONE, "t")


async def test_a_method_that_the_server_does_not_have_is_told(client: Client) -> None:
    with pytest.raises(ApiError) as caught:
        await client.queued("p", ZONE, "t")
    assert caught.value.code == Code.UNIMPLEMENTED


async def test_states_and_symptoms_that_are_newer_than_this_code_do_no_harm(
    client: Client, service: Service
) -> None:
    node = tpu_v2alpha1.Node(name=f"projects/p/locations/{ZONE}/nodes/t")
    plain = tpu_v2alpha1.Node.pb(node)
    plain.state, plain.health = 99, 98
    service.answer = lambda: node
    # Google's library makes some noise about it.
    with pytest.warns(UserWarning, match="Unrecognized"):
        found = await client.node("p", ZONE, "t")
    assert found is not None
    assert (found.name, found.state, found.health) == ("t", "99", "98")


async def test_symptoms_and_the_window_of_maintenance_are_told_in_words(
    client: Client, service: Service
) -> None:
    maintenance = tpu_v2alpha1.UpcomingMaintenance
    service.answer = lambda: tpu_v2alpha1.Node(
        name="x/t",
        symptoms=[
            tpu_v2alpha1.Symptom(symptom_type="LOW_MEMORY", worker_id="2", details="1 % free"),
            tpu_v2alpha1.Symptom(symptom_type="MESH_BUILD_FAIL"),
        ],
        upcoming_maintenance=maintenance(
            type_="SCHEDULED",
            maintenance_status="PENDING",
            window_start_time="2030-01-01T00:00:00Z",
            window_end_time="2030-01-01T01:00:00Z",
        ),
    )
    found = await client.node("p", ZONE, "t")
    assert found is not None
    assert found.symptoms == ("LOW_MEMORY on host 2: 1 % free", "MESH_BUILD_FAIL")
    assert found.maintenance == (
        "scheduled maintenance is pending from 2030-01-01T00:00:00Z to 2030-01-01T01:00:00Z"
    )


def test_both_versions_of_the_api_tell_operations_in_the_same_form() -> None:
    def fields(kind: Any) -> dict[str, int]:
        return {name: field.number for name, field in kind.meta.fields.items()}

    assert fields(tpu_v2.OperationMetadata) == fields(tpu_v2alpha1.OperationMetadata)


async def test_a_server_that_is_not_there_is_named_with_the_variable_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Bound, so that nobody else takes it, and listening to nobody.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setenv("TPU_EMULATOR_HOST", address)
        made = Client(Account(emulator=address).channel())
        try:
            with pytest.raises(ApiError) as caught:
                await made.node("p", ZONE, "n")
        finally:
            await made.aclose()
    said = str(caught.value)
    named = f"{address}, which TPU_EMULATOR_HOST names"
    assert said == f"nothing answers at {named} (Connection refused)"
