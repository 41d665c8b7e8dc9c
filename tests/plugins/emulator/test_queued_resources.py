"""Queued resources, through Google's own client."""

from datetime import UTC, datetime, timedelta

import pytest
from google.api_core import exceptions
from tests.plugins.emulator.conftest import (
    PARENT,
    RUNTIME,
    ZONE,
    Api,
    node_name,
    queued_name,
)

from jobman_emulator.testing import Running

pytestmark = pytest.mark.e2e


class TestLife:
    def test_its_operation_ends_when_it_is_accepted_and_it_becomes_active_with_its_node(
        self, api: Api
    ) -> None:
        accepted = api.create_queued("q", "n").result()
        assert accepted.state.state.name == "ACCEPTED"
        api.await_queued("q", "ACTIVE")
        node = api.client.get_node(name=node_name("n"))
        assert node.state.name == "READY"
        assert node.queued_resource == queued_name("q")
        assert node.scheduling_config.spot

    def test_it_waits_for_resources_until_there_is_capacity(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.capacity(ZONE, "v4-8", 0)
        api.create_queued("q")
        api.await_queued("q", "WAITING_FOR_RESOURCES")
        emulator.capacity(ZONE, "v4-8", 1)
        api.await_queued("q", "ACTIVE")
        api.create_queued("r")
        api.await_queued("r", "WAITING_FOR_RESOURCES")
        emulator.preempt("q")
        api.await_queued("r", "ACTIVE")

    def test_it_fails_when_its_time_has_passed_and_never_becomes_more(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.capacity(ZONE, "v4-8", 0)
        policy = {"valid_until_duration": timedelta(seconds=1)}
        api.create_queued("q", queueing_policy=policy)
        api.await_queued("q", "FAILED")
        assert emulator.history("q")[-2:] == ["WAITING_FOR_RESOURCES", "FAILED"]
        error = api.queued("q").state.failed_data.error
        assert "valid-until" in error.message
        emulator.capacity(ZONE, "v4-8", None)
        api.create_queued("later")
        api.await_queued("later", "ACTIVE")
        assert api.queued_state("q") == "FAILED"

    def test_it_fails_when_its_time_passes_while_it_is_provisioned(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.pace(provisioning=12)
        until = datetime.now(UTC) + timedelta(seconds=7)
        api.create_queued("q", queueing_policy={"valid_until_time": until})
        api.await_queued("q", "FAILED")
        assert emulator.history("q")[-2:] == ["PROVISIONING", "FAILED"]
        assert emulator.history("q-node") == ["CREATING", "GONE"]

    def test_it_can_have_many_nodes(self, alpha: Api) -> None:
        node = {"accelerator_type": "v4-8", "runtime_version": RUNTIME}
        many = {"node_count": 3, "node_id_prefix": "many"}
        spec = {"parent": PARENT, "multi_node_params": many, "node": node}
        alpha.create_queued("q", tpu={"node_spec": [spec]})
        alpha.await_queued("q", "ACTIVE")
        assert [alpha.node_state(f"many-{index}") for index in range(3)] == ["READY"] * 3

    def test_it_is_listed_in_pages(self, api: Api) -> None:
        for name in "abc":
            api.create_queued(name)
        pager = api.client.list_queued_resources(request={"parent": PARENT, "page_size": 2})
        assert [[item.name for item in page.queued_resources] for page in pager.pages] == [
            [queued_name("a"), queued_name("b")],
            [queued_name("c")],
        ]


class TestRefusals:
    def test_a_name_that_is_taken_by_itself_or_its_node_is_refused(self, api: Api) -> None:
        api.create_queued("q", "n")
        with pytest.raises(exceptions.AlreadyExists, match="queuedResources/q"):
            api.create_queued("q", "other")
        api.await_queued("q", "ACTIVE")
        with pytest.raises(exceptions.AlreadyExists, match="nodes/n"):
            api.create_queued("r", "n")

    def test_what_no_node_could_be_is_refused_at_once(self, api: Api) -> None:
        with pytest.raises(exceptions.InvalidArgument, match="invalid AcceleratorType"):
            api.create_queued("q", accelerator="v6e-8")
        with pytest.raises(exceptions.InvalidArgument, match="node_id"):
            api.create_queued("q", "a" * 64)
        with pytest.raises(exceptions.InvalidArgument, match="node_spec"):
            api.create_queued("q", tpu={})


class TestPreemption:
    @pytest.mark.parametrize(
        ("order", "states"),
        [
            (
                "suspending-first",
                [("q", "SUSPENDING"), ("n", "GONE"), ("q", "SUSPENDED")],
            ),
            (
                "node-first",
                [("n", "PREEMPTED"), ("q", "SUSPENDING"), ("n", "GONE"), ("q", "SUSPENDED")],
            ),
        ],
    )
    def test_it_comes_in_either_order_and_ends_with_the_node_gone(
        self, api: Api, emulator: Running, order: str, states: list[tuple[str, str]]
    ) -> None:
        api.create_queued("q", "n")
        api.await_queued("q", "ACTIVE")
        before = len(emulator.histories())
        emulator.preempt("q", order=order)
        assert without_repeats(emulator.histories()[before:]) == states
        assert (api.queued_state("q"), api.node_state("n")) == ("SUSPENDED", "GONE")

    def test_the_state_says_who_began_it(self, api: Api, emulator: Running) -> None:
        api.create_queued("q", "n")
        api.await_queued("q", "ACTIVE")
        emulator.preempt("q")
        assert api.queued("q").state.state_initiator.name == "SERVICE"
        api.create_queued("r", "m")
        api.await_queued("r", "ACTIVE")
        api.delete_node("m").result()
        api.await_queued("r", "SUSPENDED")
        assert api.queued("r").state.state_initiator.name == "USER"


class TestDelete:
    def test_with_a_node_it_needs_force(self, api: Api, emulator: Running) -> None:
        api.create_queued("q", "n")
        api.await_queued("q", "ACTIVE")
        with pytest.raises(exceptions.FailedPrecondition, match="use force"):
            api.delete_queued("q")
        api.delete_queued("q", force=True).result()
        assert emulator.history("n")[-2:] == ["DELETING", "GONE"]
        assert emulator.counts().empty

    def test_its_name_is_not_free_while_it_is_being_deleted(
        self, api: Api, emulator: Running
    ) -> None:
        api.create_queued("q", "n")
        api.await_queued("q", "ACTIVE")
        emulator.pace(deleting=60)
        api.delete_queued("q", force=True)
        assert (api.queued_state("q"), api.node_state("n")) == ("DELETING", "DELETING")
        with pytest.raises(exceptions.Conflict):
            api.create_queued("q")

    def test_force_does_not_help_while_it_is_suspending(self, api: Api, emulator: Running) -> None:
        api.create_queued("q", "n")
        api.await_queued("q", "ACTIVE")
        emulator.set_state("q", "SUSPENDING")
        for force in (False, True):
            with pytest.raises(exceptions.FailedPrecondition, match="SUSPENDING"):
                api.delete_queued("q", force=force)

    @pytest.mark.parametrize("state", ["WAITING_FOR_RESOURCES", "SUSPENDED"])
    def test_without_a_node_it_needs_no_force(
        self, api: Api, emulator: Running, state: str
    ) -> None:
        if state == "WAITING_FOR_RESOURCES":
            emulator.capacity(ZONE, "v4-8", 0)
        api.create_queued("q")
        api.await_queued("q", "ACTIVE" if state == "SUSPENDED" else state)
        if state == "SUSPENDED":
            emulator.preempt("q")
        api.delete_queued("q").result()
        assert api.queued_state("q") == "GONE"
        assert emulator.counts().empty

    def test_while_it_is_provisioned_it_ends_with_its_half_made_node(
        self, alpha: Api, emulator: Running
    ) -> None:
        emulator.pace(provisioning=20)
        alpha.create_queued("q")
        alpha.await_queued("q", "PROVISIONING")
        # v2alpha1 answers with what was deleted.
        assert alpha.delete_queued("q", force=True).result().name == queued_name("q")
        assert emulator.counts().empty


def without_repeats(states: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out what only says again what was said of the same thing before."""
    last: dict[str, str] = {}
    kept = []
    for name, state in states:
        if last.get(name) != state:
            kept.append((name, state))
        last[name] = state
    return kept
