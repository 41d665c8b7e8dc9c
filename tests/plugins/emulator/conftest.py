"""An emulator without hosts, and Google's own clients that talk to it."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.cloud import tpu_v2, tpu_v2alpha1

from jobman_emulator.testing import Running, emulator

__all__ = ["emulator"]

ZONE = "us-central2-b"
PARENT = f"projects/p/locations/{ZONE}"
RUNTIME = "tpu-ubuntu2204-base"


def node_name(node_id: str) -> str:
    return f"{PARENT}/nodes/{node_id}"


def queued_name(queued_id: str) -> str:
    return f"{PARENT}/queuedResources/{queued_id}"


def wait_until(condition: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < limit, f"waited in vain until {what}"
        time.sleep(0.01)


class Api:
    """Google's client for one version, and what tests do with it again and again."""

    def __init__(self, types: Any, channel: grpc.Channel) -> None:
        self.types = types
        transport = types.services.tpu.transports.TpuGrpcTransport
        self.client = types.TpuClient(transport=transport(channel=channel))

    def create_node(
        self, node_id: str, accelerator: str = "v4-8", parent: str = PARENT, **node: Any
    ) -> Any:
        settings = {"runtime_version": RUNTIME, "network_config": {"enable_external_ips": True}}
        wanted = self.types.Node(accelerator_type=accelerator, **{**settings, **node})
        return self.client.create_node(parent=parent, node_id=node_id, node=wanted)

    def ready_node(self, node_id: str, accelerator: str = "v4-8", **node: Any) -> Any:
        return self.create_node(node_id, accelerator, **node).result()

    def delete_node(self, node_id: str) -> Any:
        return self.client.delete_node(name=node_name(node_id))

    def node_state(self, node_id: str) -> str:
        """Give a node's state; GONE where it is not there."""
        from google.api_core.exceptions import NotFound

        try:
            return str(self.client.get_node(name=node_name(node_id)).state.name)
        except NotFound:
            return "GONE"

    def create_queued(
        self, queued_id: str, node_id: str = "", accelerator: str = "v4-8", **queued: Any
    ) -> Any:
        node = {
            "accelerator_type": accelerator,
            "runtime_version": RUNTIME,
            "network_config": {"enable_external_ips": True},
        }
        spec = {"parent": PARENT, "node_id": node_id or f"{queued_id}-node", "node": node}
        wanted = self.types.QueuedResource(**{"tpu": {"node_spec": [spec]}, "spot": {}, **queued})
        return self.client.create_queued_resource(
            parent=PARENT, queued_resource_id=queued_id, queued_resource=wanted
        )

    def delete_queued(self, queued_id: str, *, force: bool = False) -> Any:
        request = {"name": queued_name(queued_id), "force": force}
        return self.client.delete_queued_resource(request=request)

    def queued(self, queued_id: str) -> Any:
        return self.client.get_queued_resource(name=queued_name(queued_id))

    def queued_state(self, queued_id: str) -> str:
        """Give a queued resource's state; GONE where it is not there."""
        from google.api_core.exceptions import NotFound

        try:
            return str(self.queued(queued_id).state.state.name)
        except NotFound:
            return "GONE"

    def await_node(self, node_id: str, state: str) -> None:
        wait_until(lambda: self.node_state(node_id) == state, f"{node_id} is {state}")

    def await_queued(self, queued_id: str, state: str) -> None:
        wait_until(lambda: self.queued_state(queued_id) == state, f"{queued_id} is {state}")


class Rest:
    """The REST door, by hand."""

    def __init__(self, base: str) -> None:
        self._base = base

    def __call__(
        self, method: str, path: str, body: Any = None, *, kind: str = "application/json"
    ) -> tuple[int, Any]:
        """Give the status and the document of an answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(  # noqa: S310 - loopback
            f"{self._base}/{path}", data, {"Content-Type": kind}, method=method
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)


@pytest.fixture
def channel(emulator: Running) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(emulator.grpc) as channel:
        yield channel


@pytest.fixture
def api(channel: grpc.Channel) -> Api:
    return Api(tpu_v2, channel)


@pytest.fixture
def alpha(channel: grpc.Channel) -> Api:
    return Api(tpu_v2alpha1, channel)


@pytest.fixture
def rest(emulator: Running) -> Rest:
    return Rest(emulator.rest)
