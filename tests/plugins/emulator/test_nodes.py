"""Nodes, through Google's own client."""

import pytest
from google.api_core import exceptions
from tests.plugins.emulator.conftest import PARENT, ZONE, Api, node_name, wait_until

from jobman_emulator.testing import Running

pytestmark = pytest.mark.e2e


class TestCreate:
    def test_a_node_is_creating_until_its_operation_ends_with_it_ready(
        self, api: Api, emulator: Running
    ) -> None:
        operation = api.create_node("n", "v4-16", labels={"jobman-job": "000001"})
        node = operation.result()
        assert node.state.name == "READY"
        assert emulator.history("n") == ["CREATING", "READY"]
        assert node.name == node_name("n")
        assert node.labels == {"jobman-job": "000001"}
        assert operation.metadata.target == node_name("n")
        assert operation.metadata.verb == "create"

    @pytest.mark.parametrize(("accelerator", "hosts"), [("v4-8", 1), ("v4-16", 2), ("v4-512", 64)])
    def test_it_has_an_endpoint_for_each_host(self, api: Api, accelerator: str, hosts: int) -> None:
        node = api.ready_node("n", accelerator)
        addresses = {endpoint.access_config.external_ip for endpoint in node.network_endpoints}
        assert len(addresses) == len(node.network_endpoints) == hosts
        assert all(endpoint.ip_address for endpoint in node.network_endpoints)

    def test_without_external_addresses_it_has_internal_ones_only(self, api: Api) -> None:
        node = api.ready_node("n", network_config={})
        (endpoint,) = node.network_endpoints
        assert endpoint.ip_address
        assert not endpoint.access_config.external_ip

    def test_what_only_the_cloud_can_say_is_not_taken_from_the_request(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.pace(provisioning=60)
        api.create_node("n", state=api.types.Node.State.READY, queued_resource="mine")
        assert api.node_state("n") == "CREATING"
        assert api.client.get_node(name=node_name("n")).queued_resource == ""

    def test_a_name_that_is_taken_is_refused_with_already_exists(self, api: Api) -> None:
        api.ready_node("n")
        with pytest.raises(exceptions.AlreadyExists, match=r"nodes/n' already exists"):
            api.create_node("n")

    @pytest.mark.parametrize("name", ["a" * 64, "A", "1a", "a.b", "a-", ""])
    def test_a_name_that_cannot_be_is_an_invalid_argument(self, api: Api, name: str) -> None:
        with pytest.raises(exceptions.InvalidArgument, match="Invalid node_id"):
            api.create_node(name)

    def test_the_longest_name_is_taken(self, api: Api) -> None:
        assert api.ready_node("a" * 63).state.name == "READY"

    @pytest.mark.parametrize(
        "labels", [{"owner": "a.b"}, {"Owner": "a"}, {"o": "A"}, {"o": "a" * 64}, {"": "a"}]
    )
    def test_a_label_that_cannot_be_is_an_invalid_argument(
        self, api: Api, labels: dict[str, str]
    ) -> None:
        with pytest.raises(exceptions.InvalidArgument, match="label"):
            api.create_node("n", labels=labels)

    def test_a_type_that_the_zone_has_not_names_those_that_it_has(self, api: Api) -> None:
        with pytest.raises(
            exceptions.InvalidArgument,
            match=f'invalid AcceleratorType, "v3-8" for zone {ZONE}; valid values are "v4-8"',
        ):
            api.create_node("n", "v3-8")

    def test_a_runtime_that_there_is_not_is_an_invalid_argument(self, api: Api) -> None:
        with pytest.raises(exceptions.InvalidArgument, match='invalid RuntimeVersion, "nope"'):
            api.create_node("n", runtime_version="nope")

    def test_a_type_can_be_said_as_a_configuration(self, api: Api) -> None:
        config = {"type_": "V4", "topology": "2x2x2"}
        assert api.ready_node("n", "", accelerator_config=config).accelerator_type == "v4-16"

    def test_a_zone_that_there_is_not_is_denied(self, api: Api) -> None:
        with pytest.raises(
            exceptions.PermissionDenied,
            match="Location mars-east1-a is not found or access is unauthorized",
        ):
            api.create_node("n", parent="projects/p/locations/mars-east1-a")


class TestDelete:
    def test_a_name_is_not_free_while_the_node_is_being_deleted(
        self, api: Api, emulator: Running
    ) -> None:
        api.ready_node("n")
        emulator.pace(deleting=60)
        operation = api.delete_node("n")
        assert api.node_state("n") == "DELETING"
        with pytest.raises(exceptions.Conflict, match="unable to queue the operation"):
            api.create_node("n")
        with pytest.raises(exceptions.Conflict, match="unable to queue the operation"):
            api.delete_node("n")
        assert not operation.done()

    def test_a_name_is_free_when_the_delete_is_done(self, api: Api) -> None:
        api.ready_node("n")
        api.delete_node("n").result()
        assert api.node_state("n") == "GONE"
        assert api.ready_node("n").state.name == "READY"

    def test_what_is_not_there_cannot_be_deleted(self, api: Api) -> None:
        with pytest.raises(exceptions.NotFound, match=r"^404 Resource '.*/nodes/n' was not found"):
            api.delete_node("n")

    def test_a_node_that_is_being_made_can_be_deleted_and_its_create_is_cancelled(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.pace(provisioning=60)
        create = api.create_node("n")
        api.delete_node("n").result()
        with pytest.raises(exceptions.Cancelled):
            create.result()
        assert api.node_state("n") == "GONE"


class TestChanges:
    def test_labels_and_metadata_are_changed_each_by_its_mask(self, api: Api) -> None:
        api.ready_node("n", labels={"a": "b"}, metadata={"x": "y"})
        wanted = api.types.Node(name=node_name("n"), labels={"c": "d"}, metadata={"x": "z"})
        node = api.client.update_node(node=wanted, update_mask={"paths": ["metadata"]}).result()
        assert (node.labels, node.metadata) == ({"a": "b"}, {"x": "z"})
        node = api.client.update_node(node=wanted, update_mask={"paths": ["labels"]}).result()
        assert (node.labels, node.metadata) == ({"c": "d"}, {"x": "z"})

    def test_nothing_else_can_be_changed(self, api: Api) -> None:
        api.ready_node("n")
        wanted = api.types.Node(name=node_name("n"), accelerator_type="v4-16")
        with pytest.raises(exceptions.InvalidArgument, match="accelerator_type"):
            api.client.update_node(node=wanted, update_mask={"paths": ["accelerator_type"]})

    def test_a_preempted_node_cannot_be_changed(self, api: Api, emulator: Running) -> None:
        api.ready_node("n")
        emulator.preempt("n")
        wanted = api.types.Node(name=node_name("n"), metadata={"x": "z"})
        with pytest.raises(
            exceptions.InvalidArgument,
            match="update is not supported while in state PREEMPTED",
        ):
            api.client.update_node(node=wanted, update_mask={"paths": ["metadata"]})

    def test_a_node_can_be_stopped_and_started_again(self, api: Api, emulator: Running) -> None:
        api.ready_node("n")
        stop = api.client.stop_node(request={"name": node_name("n")})
        assert stop.result().state.name == "STOPPED"
        with pytest.raises(exceptions.InvalidArgument, match="not supported while in state"):
            api.client.stop_node(request={"name": node_name("n")})
        start = api.client.start_node(request={"name": node_name("n")})
        assert start.result().state.name == "READY"
        assert emulator.history("n")[2:] == ["STOPPING", "STOPPED", "STARTING", "READY"]


class TestLists:
    def test_a_list_comes_in_pages(self, api: Api) -> None:
        names = [f"n{index}" for index in range(5)]
        for operation in [api.create_node(name) for name in names]:
            operation.result()
        pager = api.client.list_nodes(request={"parent": PARENT, "page_size": 2})
        pages = [[node.name for node in page.nodes] for page in pager.pages]
        assert [len(page) for page in pages] == [2, 2, 1]
        assert [name for page in pages for name in page] == [node_name(name) for name in names]

    def test_what_goes_between_two_pages_does_not_hide_the_rest(self, api: Api) -> None:
        for operation in [api.create_node(name) for name in "abc"]:
            operation.result()
        first = api.client.list_nodes(request={"parent": PARENT, "page_size": 1})
        page = next(iter(first.pages))
        api.delete_node("a").result()
        rest = api.client.list_nodes(request={"parent": PARENT, "page_token": page.next_page_token})
        assert [node.name for node in rest] == [node_name("b"), node_name("c")]

    def test_one_zone_or_all_of_one_project_are_listed(self, api: Api) -> None:
        other = "projects/p/locations/us-east1-d"
        stranger = f"projects/q/locations/{ZONE}"
        for operation in (
            api.create_node("a"),
            api.create_node("b", "v6e-8", parent=other),
            api.create_node("c", parent=stranger),
        ):
            operation.result()

        def listed(parent: str) -> list[str]:
            return [node.name for node in api.client.list_nodes(parent=parent)]

        assert listed(PARENT) == [node_name("a")]
        assert listed("projects/p/locations/-") == [node_name("a"), f"{other}/nodes/b"]

    def test_a_token_that_is_none_is_an_invalid_argument(self, api: Api) -> None:
        with pytest.raises(exceptions.InvalidArgument, match="page_token"):
            api.client.list_nodes(request={"parent": PARENT, "page_token": "%"})


class TestPreemption:
    def test_a_preempted_node_stays_listed_until_it_is_deleted(
        self, api: Api, emulator: Running
    ) -> None:
        api.ready_node("n", scheduling_config={"spot": True})
        emulator.preempt("n")
        assert [node.state.name for node in api.client.list_nodes(parent=PARENT)] == ["PREEMPTED"]
        with pytest.raises(exceptions.AlreadyExists):
            api.create_node("n")
        api.delete_node("n").result()
        assert api.node_state("n") == "GONE"
        assert emulator.counts().empty

    def test_it_can_come_while_the_node_is_being_made(self, api: Api, emulator: Running) -> None:
        emulator.pace(provisioning=60)
        operation = api.create_node("n")
        emulator.preempt("n")
        assert api.node_state("n") == "PREEMPTED"
        with pytest.raises(exceptions.GoogleAPICallError):
            operation.result()


class TestOperations:
    def test_operations_are_listed_and_can_be_forgotten_once_they_ended(self, api: Api) -> None:
        operation = api.create_node("n")
        name = operation.operation.name
        listed = api.client.list_operations(request={"name": PARENT})
        assert [item.name for item in listed.operations] == [name]
        operation.result()
        api.client.cancel_operation(request={"name": name})
        assert api.client.get_operation(request={"name": name}).done
        api.client.delete_operation(request={"name": name})
        with pytest.raises(exceptions.NotFound):
            api.client.get_operation(request={"name": name})

    def test_an_operation_says_when_it_ended_and_what_it_was_for(self, alpha: Api) -> None:
        operation = alpha.create_node("n")
        operation.result()
        wait_until(operation.done, "the operation is done")
        assert operation.metadata.api_version == "v2alpha1"
        assert operation.metadata.end_time >= operation.metadata.create_time


class TestOffers:
    def test_the_types_runtimes_and_zones_are_told(self, api: Api) -> None:
        types = {item.type_ for item in api.client.list_accelerator_types(parent=PARENT)}
        assert {"v4-8", "v4-4096"} <= types
        assert "v6e-8" not in types
        config = api.client.get_accelerator_type(name=f"{PARENT}/acceleratorTypes/v4-16")
        assert config.accelerator_configs[0].topology == "2x2x2"
        runtimes = {item.version for item in api.client.list_runtime_versions(parent=PARENT)}
        assert "tpu-ubuntu2204-base" in runtimes
        version = f"{PARENT}/runtimeVersions/tpu-ubuntu2204-base"
        assert api.client.get_runtime_version(name=version).version == "tpu-ubuntu2204-base"
        zones = api.client.list_locations(request={"name": "projects/p"})
        assert ZONE in {zone.location_id for zone in zones.locations}
        assert api.client.get_location(request={"name": PARENT}).location_id == ZONE
        with pytest.raises(exceptions.NotFound):
            api.client.get_accelerator_type(name=f"{PARENT}/acceleratorTypes/v3-8")
