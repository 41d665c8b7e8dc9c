"""Both doors show one state; REST looks as Google's does."""

from typing import Any

import pytest
from google.cloud import tpu_v2
from google.protobuf import json_format
from tests.plugins.emulator.conftest import (
    PARENT,
    RUNTIME,
    ZONE,
    Api,
    Rest,
    node_name,
    queued_name,
    wait_until,
)

from jobman_emulator.calls import CALLS
from jobman_emulator.testing import Running

V2 = f"v2/{PARENT}"
NODE = {"acceleratorType": "v4-8", "runtimeVersion": RUNTIME}


def as_json(message: Any) -> Any:
    return json_format.MessageToDict(type(message).pb(message))


class TestOneState:
    @pytest.mark.parametrize("version", ["v2", "v2alpha1"])
    def test_what_one_door_makes_the_other_shows(
        self, emulator: Running, api: Api, alpha: Api, rest: Rest, version: str
    ) -> None:
        client = api if version == "v2" else alpha
        created = client.ready_node("n", labels={"a": "b"}, metadata={"apiVersion": "mine"})
        assert rest("GET", f"{version}/{node_name('n')}") == (200, as_json(created))
        status, listed = rest("GET", f"{version}/{PARENT}/nodes")
        assert (status, listed) == (200, {"nodes": [as_json(created)]})
        client.create_queued("q")
        client.await_queued("q", "ACTIVE")
        shown = rest("GET", f"{version}/{queued_name('q')}")
        assert shown == (200, as_json(client.queued("q")))
        assert shown[1]["state"] == {
            "state": "ACTIVE",
            "activeData": {},
            "stateInitiator": "SERVICE",
        }

    def test_each_version_names_itself(self, api: Api, rest: Rest) -> None:
        api.ready_node("n")
        versions = {
            version: rest("GET", f"{version}/{node_name('n')}")[1]["apiVersion"]
            for version in ("v2", "v2alpha1")
        }
        assert versions == {"v2": "V2", "v2alpha1": "V2_ALPHA1"}

    def test_rest_creates_and_deletes_what_grpc_sees(self, api: Api, rest: Rest) -> None:
        status, operation = rest("POST", f"{V2}/nodes?nodeId=n", NODE)
        assert status == 200
        assert operation["metadata"]["@type"] == (
            "type.googleapis.com/google.cloud.tpu.v2.OperationMetadata"
        )
        assert not operation.get("done")
        api.await_node("n", "READY")
        wait_until(lambda: rest("GET", f"v2/{operation['name']}")[1].get("done"), "it is done")
        done = rest("GET", f"v2/{operation['name']}")[1]
        assert done["response"]["name"] == node_name("n")
        status, operation = rest("DELETE", f"v2/{node_name('n')}")
        api.await_node("n", "GONE")
        wait_until(lambda: rest("GET", f"v2/{operation['name']}")[1].get("done"), "it is done")
        done = rest("GET", f"v2/{operation['name']}")[1]
        assert done["response"] == {"@type": "type.googleapis.com/google.protobuf.Empty"}

    def test_an_error_inside_an_operation_is_a_status(self, emulator: Running, rest: Rest) -> None:
        emulator.capacity(ZONE, "v4-8", 0)
        _, operation = rest("POST", f"{V2}/nodes?nodeId=n", NODE)
        wait_until(lambda: rest("GET", f"v2/{operation['name']}")[1].get("done"), "it is done")
        error = rest("GET", f"v2/{operation['name']}")[1]["error"]
        assert error["code"] == 8
        assert error["message"].startswith("There is no more capacity in the zone")

    def test_the_old_names_of_v2_mean_the_new_ones(self, api: Api, rest: Rest) -> None:
        many = {"nodeCount": 2, "nodeIdPrefix": "m"}
        spec = {"parent": PARENT, "multisliceParams": many, "node": NODE}
        rest("POST", f"{V2}/queuedResources?queuedResourceId=q", {"tpu": {"nodeSpec": [spec]}})
        api.await_queued("q", "ACTIVE")
        assert [api.node_state(f"m-{index}") for index in (0, 1)] == ["READY", "READY"]
        (shown,) = rest("GET", f"v2/{queued_name('q')}")[1]["tpu"]["nodeSpec"]
        assert shown["multisliceParams"] == many
        (shown,) = rest("GET", f"v2alpha1/{queued_name('q')}")[1]["tpu"]["nodeSpec"]
        assert shown["multiNodeParams"] == many


class TestRest:
    def test_lists_come_in_pages(self, api: Api, rest: Rest) -> None:
        for name in ("a", "b"):
            api.ready_node(name)
        _, first = rest("GET", f"{V2}/nodes?pageSize=1&alt=json")
        _, second = rest("GET", f"{V2}/nodes?pageSize=1&pageToken={first['nextPageToken']}")
        names = [page["nodes"][0]["name"] for page in (first, second)]
        assert names == [node_name("a"), node_name("b")]
        assert "nextPageToken" not in second

    def test_errors_look_as_googles_do(self, emulator: Running, rest: Rest) -> None:
        name = node_name("x")
        assert rest("GET", f"v2/{name}") == (
            404,
            {
                "error": {
                    "code": 404,
                    "message": f"Resource '{name}' was not found",
                    "status": "NOT_FOUND",
                }
            },
        )
        emulator.quota(ZONE, "v4", 4)
        status, document = rest("POST", f"{V2}/nodes?nodeId=n", NODE)
        assert (status, document["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
        (detail,) = document["error"]["details"]
        assert detail["@type"] == "type.googleapis.com/google.rpc.QuotaFailure"

    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("nodes?nodeId=n&colour=red", NODE),
            ("nodes?nodeId=n", {"acceleratorTyp": "v4-8"}),
            ("nodes?nodeId=n", {"networkConfig": 3}),
            ("nodes?nodeId=n", [1]),
        ],
    )
    def test_what_the_api_does_not_know_is_an_invalid_argument(
        self, rest: Rest, path: str, body: Any
    ) -> None:
        status, document = rest("POST", f"{V2}/{path}", body)
        assert (status, document["error"]["status"]) == (400, "INVALID_ARGUMENT")
        assert document["error"]["message"].startswith("Invalid JSON payload received.")

    def test_a_path_that_there_is_not_is_404(self, rest: Rest) -> None:
        assert rest("GET", "v2/projects/p/locations/z/pods")[0] == 404
        assert rest("GET", "v3/projects")[0] == 404
        # v2 does not have it.
        assert rest("POST", f"v2/{node_name('n')}:simulateMaintenanceEvent", {})[0] == 404

    def test_an_update_takes_a_mask_and_a_conflict_is_409(
        self, emulator: Running, api: Api, rest: Rest
    ) -> None:
        api.ready_node("n", metadata={"a": "b"})
        path = f"v2/{node_name('n')}?updateMask=metadata"
        assert rest("PATCH", path, {"metadata": {"ssh-keys": "me:ssh-ed25519 AAAA"}})[0] == 200
        assert api.client.get_node(name=node_name("n")).metadata == {
            "ssh-keys": "me:ssh-ed25519 AAAA"
        }
        emulator.fail_next("UpdateNode", code=409)
        assert rest("PATCH", path, {"metadata": {}})[0] == 409

    def test_guest_attributes_and_the_compute_project_are_there_for_ssh(
        self, api: Api, rest: Rest
    ) -> None:
        api.ready_node("n", "v4-32")
        path = f"v2/{node_name('n')}:getGuestAttributes"
        status, document = rest("POST", path, {"queryPath": "hostkeys/"})
        assert (status, len(document["guestAttributes"])) == (200, 4)
        status, document = rest("POST", path, {"workerIds": [""]})
        assert (status, len(document["guestAttributes"])) == (200, 4)
        status, document = rest("POST", path, {"queryPath": "hostkeys/", "workerIds": ["1"]})
        assert (status, len(document["guestAttributes"])) == (200, 1)
        status, document = rest("GET", "compute/v1/projects/p")
        assert (status, document["name"]) == (200, "p")

    def test_the_rest_transport_of_googles_client_is_served_as_well(
        self, emulator: Running
    ) -> None:
        from google.auth.credentials import AnonymousCredentials

        transport = tpu_v2.services.tpu.transports.TpuRestTransport(
            host=emulator.rest.removeprefix("http://"),
            url_scheme="http",
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]  # google's
        )
        with tpu_v2.TpuClient(transport=transport) as client:
            node = tpu_v2.Node(accelerator_type="v4-8", runtime_version=RUNTIME)
            made = client.create_node(parent=PARENT, node_id="n", node=node).result()
            assert made.state.name == "READY"
            request = {"name": node_name("n")}
            client.delete_node(request=request).result()
            assert list(client.list_nodes(parent=PARENT)) == []


class TestControlOverHttp:
    def test_the_verbs_can_be_called_by_any_language(self, api: Api, rest: Rest) -> None:
        api.ready_node("n")
        assert rest("POST", "emulator/preempt", {"name": "n"}) == (200, {})
        status, document = rest("GET", "emulator/status")
        assert status == 200
        assert document == {
            "nodes": 1,
            "queued_resources": 0,
            "processes": 0,
            "resources": {node_name("n"): "PREEMPTED"},
        }

    def test_a_page_in_a_browser_cannot(self, api: Api, rest: Rest) -> None:
        api.ready_node("n")
        assert rest("POST", "emulator/preempt", {"name": "n"}, kind="text/plain")[0] == 400
        assert api.node_state("n") == "READY"

    def test_wrong_verbs_and_arguments_are_told(self, rest: Rest) -> None:
        assert rest("POST", "emulator/explode", {})[0] == 404
        status, document = rest("POST", "emulator/preempt", {"name": "n", "colour": "red"})
        assert status == 400
        assert "colour" in document["error"]["message"]


def test_every_method_of_googles_rest_transport_is_known_by_its_path_and_body() -> None:
    from google.cloud.tpu_v2.services.tpu.transports import rest_base

    methods = vars(rest_base._BaseTpuRestTransport).values()
    rules = [
        method._get_http_options() for method in methods if hasattr(method, "_get_http_options")
    ]
    wanted = {
        (rule["method"], rule["uri"], rule.get("body")) for options in rules for rule in options
    }
    known = {(call.verb.lower(), f"/v2/{call.path}", call.body) for call in CALLS}
    assert len(wanted) > 20
    assert wanted - known == set()
