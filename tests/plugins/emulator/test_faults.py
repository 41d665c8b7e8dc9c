"""What holds of the emulator's parts by themselves."""

import socket

import pytest
from google.rpc import code_pb2

from jobman_emulator.catalog import KINDS, kinds_of
from jobman_emulator.errors import HTTP, ApiError, read_code
from jobman_emulator.faults import Faults
from jobman_emulator.testing import running


def test_a_rate_limit_forgets_a_call_after_a_minute() -> None:
    faults = Faults()
    faults.rate_limit("CreateNode", 2)
    faults.admit("CreateNode", 0.0)
    faults.admit("CreateNode", 30.0)
    with pytest.raises(ApiError, match="per minute"):
        faults.admit("CreateNode", 59.0)
    faults.admit("GetNode", 59.0)
    faults.admit("CreateNode", 60.0)
    with pytest.raises(ApiError, match="per minute"):
        faults.admit("CreateNode", 61.0)


def test_errors_that_are_ordered_come_in_their_order() -> None:
    faults = Faults()
    first, second = ApiError(code_pb2.INTERNAL, "first"), ApiError(code_pb2.ABORTED, "second")
    faults.fail_next("GetNode", first, 2, late=False)
    faults.fail_next("GetNode", second, 1, late=False)
    said = []
    for _ in range(4):
        try:
            faults.admit("GetNode", 0.0)
        except ApiError as error:
            said.append(error.message)
    assert said == ["first", "first", "second"]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (8, code_pb2.RESOURCE_EXHAUSTED),
        ("8", code_pb2.RESOURCE_EXHAUSTED),
        ("429", code_pb2.RESOURCE_EXHAUSTED),
        ("not-found", code_pb2.NOT_FOUND),
        ("INTERNAL", code_pb2.INTERNAL),
        (409, code_pb2.ABORTED),
    ],
)
def test_a_code_is_a_number_a_name_or_an_http_status(said: str | int, code: int) -> None:
    assert read_code(said) == code


@pytest.mark.parametrize("said", [0, 17, 200, "OK", "", "odd"])
def test_what_is_no_error_is_no_code(said: str | int) -> None:
    with pytest.raises(ValueError, match="unknown code"):
        read_code(said)


def test_every_error_has_a_name_and_an_http_status() -> None:
    assert len(HTTP) == 16
    assert ApiError(code_pb2.NOT_FOUND, "").name == "NOT_FOUND"
    assert ApiError(code_pb2.NOT_FOUND, "").http == 404


@pytest.mark.parametrize(
    ("accelerator", "hosts", "topology"),
    [
        ("v2-8", 1, "2x2"),
        ("v3-32", 4, "4x4"),
        ("v4-8", 1, "2x2x1"),
        ("v4-32", 4, "2x2x4"),
        ("v5p-128", 16, "4x4x4"),
        ("v5litepod-8", 1, "2x4"),
        ("v5litepod-16", 4, "4x4"),
        ("v6e-1", 1, "1x1"),
        ("v6e-256", 64, "16x16"),
    ],
)
def test_the_types_are_those_of_the_cloud(accelerator: str, hosts: int, topology: str) -> None:
    kind = KINDS[accelerator]
    assert (kind.hosts, kind.topology) == (hosts, topology)


def test_a_zone_has_its_own_types_and_one_that_there_is_not_has_none() -> None:
    assert {kind.family for kind in kinds_of("us-central2-b")} == {"v4"}
    assert kinds_of("mars-east1-a") == ()


@pytest.mark.parametrize("door", ["grpc_port", "rest_port"])
def test_a_port_that_is_taken_is_told_and_nothing_runs(door: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=str(port)), running(**{door: port}):
            pass
