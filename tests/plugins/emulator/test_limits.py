"""Capacity and quota: what a zone has, and what the project may hold."""

import pytest
from google.api_core import exceptions
from google.rpc import error_details_pb2
from tests.plugins.emulator.conftest import ZONE, Api

from jobman_emulator.testing import Running

pytestmark = pytest.mark.e2e


class TestCapacity:
    def test_a_stock_out_comes_inside_the_operation_and_leaves_nothing(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.capacity(ZONE, "v4-8", 1)
        api.ready_node("a")
        operation = api.create_node("b")
        with pytest.raises(
            exceptions.ResourceExhausted,
            match=f'There is no more capacity in the zone "{ZONE}"; you can try in another zone',
        ):
            operation.result()
        assert emulator.history("b") == ["CREATING", "GONE"]
        assert api.ready_node("c", "v4-16").state.name == "READY"

    @pytest.mark.parametrize("way", ["preempted", "deleted", "stopped"])
    def test_what_is_given_back_or_taken_away_can_be_had_again(
        self, api: Api, emulator: Running, way: str
    ) -> None:
        emulator.capacity(ZONE, "v4-8", 1)
        node = api.ready_node("a")
        match way:
            case "preempted":
                emulator.preempt("a")
            case "deleted":
                api.delete_node("a").result()
            case _:
                api.client.stop_node(request={"name": node.name}).result()
        assert api.ready_node("b").state.name == "READY"

    def test_nothing_is_reserved_until_somebody_says_so(self, api: Api, emulator: Running) -> None:
        reserved = {"reserved": True}
        with pytest.raises(exceptions.ResourceExhausted, match="Insufficient reserved capacity"):
            api.ready_node("a", scheduling_config=reserved)
        emulator.capacity(ZONE, "v4-8", 1, reserved=True)
        assert api.ready_node("a", scheduling_config=reserved).state.name == "READY"


class TestQuota:
    def test_a_limit_of_zero_says_so_in_the_answer(self, api: Api, emulator: Running) -> None:
        emulator.quota("us-central2", "v4", 0)
        for create in (api.create_node, api.create_queued):
            with pytest.raises(
                exceptions.ResourceExhausted,
                match=r"Quota limit '\w+' has been exceeded. Limit: 0 in region us-central2.",
            ):
                create("x")
        assert emulator.counts().empty

    def test_dead_queued_resources_hold_quota_until_they_are_deleted(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.quota(ZONE, "v4", 8)
        api.create_queued("q")
        api.await_queued("q", "ACTIVE")
        emulator.preempt("q")
        assert api.queued_state("q") == "SUSPENDED"
        with pytest.raises(
            exceptions.ResourceExhausted, match=f"exhausted. Limit 8 in zone {ZONE}"
        ) as refused:
            api.create_queued("r")
        (failure,) = refused.value.details
        assert isinstance(failure, error_details_pb2.QuotaFailure)
        api.delete_queued("q").result()
        api.create_queued("r")
        api.await_queued("r", "ACTIVE")

    def test_external_addresses_and_queued_resources_can_be_limited(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.quota("us-central2", "external-ips", 2)
        emulator.quota(ZONE, "queued-resources", 1)
        with pytest.raises(exceptions.ResourceExhausted, match="IN_USE_ADDRESSES"):
            api.create_node("n", "v4-32")
        assert api.ready_node("n", "v4-32", network_config={}).state.name == "READY"
        api.create_queued("q")
        with pytest.raises(exceptions.ResourceExhausted, match="Limit 1 in zone"):
            api.create_queued("r")
