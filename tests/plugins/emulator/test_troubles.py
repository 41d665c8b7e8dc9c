"""The troubles that can be ordered, as clients meet them."""

import pytest
from google.api_core import exceptions
from tests.plugins.emulator.conftest import PARENT, Api, node_name

from jobman_emulator.errors import ApiError
from jobman_emulator.testing import Running

pytestmark = pytest.mark.e2e


class TestFailures:
    @pytest.mark.parametrize(
        ("code", "error"),
        [
            (8, exceptions.ResourceExhausted),
            ("UNAVAILABLE", exceptions.ServiceUnavailable),
            (13, exceptions.InternalServerError),
            (403, exceptions.Forbidden),
            ("aborted", exceptions.Aborted),
        ],
    )
    def test_the_next_call_fails_with_a_code_and_the_one_after_it_does_not(
        self, api: Api, emulator: Running, code: str | int, error: type[Exception]
    ) -> None:
        emulator.fail_next("GetNode", code=code, message="on purpose")
        with pytest.raises(error, match="on purpose"):
            api.client.get_node(name=node_name("n"), retry=None)
        assert api.node_state("n") == "GONE"

    def test_a_late_one_is_answered_well_and_its_operation_fails(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.fail_next("CreateNode", code=8, message="no capacity", times=2, late=True)
        for _ in range(2):
            with pytest.raises(exceptions.ResourceExhausted, match="no capacity"):
                api.create_node("n").result()
        assert api.ready_node("n").state.name == "READY"

    def test_a_late_one_of_a_queued_resource_leaves_it_failed(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.fail_next("CreateQueuedResource", code=9, message="not today", late=True)
        api.create_queued("q")
        api.await_queued("q", "FAILED")
        error = api.queued("q").state.failed_data.error
        assert (error.code, error.message) == (9, "not today")
        assert api.node_state("q-node") == "GONE"

    def test_code_13_comes_by_way_of_suspending(self, api: Api, emulator: Running) -> None:
        emulator.fail_next("CreateQueuedResource", code=13, late=True)
        api.create_queued("q")
        api.await_queued("q", "FAILED")
        assert emulator.history("q")[-3:] == ["PROVISIONING", "SUSPENDING", "FAILED"]
        assert api.queued("q").state.failed_data.error.code == 13

    def test_two_writers_of_metadata(self, api: Api, emulator: Running) -> None:
        api.ready_node("n")
        emulator.fail_next("UpdateNode", code=409)
        wanted = api.types.Node(name=node_name("n"), metadata={"a": "b"})
        with pytest.raises(exceptions.Conflict):
            api.client.update_node(node=wanted, update_mask={"paths": ["metadata"]})


class TestStrangeTurns:
    def test_a_node_vanishes_after_its_creation(self, api: Api, emulator: Running) -> None:
        emulator.fault("vanish-after-create")
        assert api.ready_node("n").state.name == "READY"
        api.await_node("n", "GONE")
        assert api.ready_node("n").state.name == "READY"
        assert api.node_state("n") == "READY"

    def test_the_operation_of_a_create_never_ends_while_its_node_is_ready(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.fault("stuck-create")
        operation = api.create_node("n")
        api.await_node("n", "READY")
        assert not operation.done()

    def test_a_delete_never_ends(self, api: Api, emulator: Running) -> None:
        api.ready_node("n")
        emulator.fault("stuck-delete")
        operation = api.delete_node("n")
        assert not operation.done()
        assert api.node_state("n") == "DELETING"

    def test_a_delete_is_taken_on_and_the_next_look_finds_nothing(
        self, api: Api, emulator: Running
    ) -> None:
        api.ready_node("n")
        api.create_queued("q")
        api.await_queued("q", "ACTIVE")
        emulator.fault("instant-delete", times=2)
        api.delete_node("n")
        assert api.node_state("n") == "GONE"
        api.delete_queued("q", force=True)
        assert api.queued_state("q") == "GONE"

    @pytest.mark.parametrize("state", ["UNKNOWN", "STOPPED", "TERMINATED", "REPAIRING", "GONE"])
    def test_a_node_has_any_state(self, api: Api, emulator: Running, state: str) -> None:
        api.ready_node("n")
        emulator.set_state("n", state)
        assert api.node_state("n") == state

    def test_a_host_is_down_and_the_node_says_ready_and_healthy(
        self, api: Api, emulator: Running
    ) -> None:
        api.ready_node("n", "v4-32")
        emulator.host_down("n", 2)
        node = api.client.get_node(name=node_name("n"))
        assert (node.state.name, node.health.name) == ("READY", "HEALTHY")
        assert len(node.network_endpoints) == 4
        with pytest.raises(ApiError, match="hosts/4' was not found"):
            emulator.host_down("n", 4)

    def test_maintenance_shows_in_the_health_and_its_plan_in_v2alpha1(
        self, api: Api, alpha: Api, emulator: Running
    ) -> None:
        api.ready_node("n")
        emulator.maintenance("n", pending=True)
        node = alpha.client.get_node(name=node_name("n"))
        assert node.health.name == "HEALTHY"
        assert node.upcoming_maintenance.maintenance_status.name == "PENDING"
        emulator.maintenance("n")
        assert api.client.get_node(name=node_name("n")).health.name == "UNHEALTHY_MAINTENANCE"
        node = alpha.client.get_node(name=node_name("n"))
        assert node.upcoming_maintenance.maintenance_status.name == "ONGOING"
        emulator.maintenance("n", over=True)
        node = alpha.client.get_node(name=node_name("n"))
        assert node.health.name == "HEALTHY"
        assert "upcoming_maintenance" not in node


class TestTime:
    def test_a_slow_call_runs_into_the_callers_deadline(self, api: Api, emulator: Running) -> None:
        emulator.slow("ListNodes", 20)
        with pytest.raises(exceptions.DeadlineExceeded):
            list(api.client.list_nodes(parent=PARENT, timeout=0.2, retry=None))
        emulator.slow("ListNodes", 0)
        assert list(api.client.list_nodes(parent=PARENT)) == []

    def test_a_late_answer_hides_that_the_call_was_carried_out(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.slow("CreateNode", 20, after=True)
        wanted = api.types.Node(accelerator_type="v4-8", runtime_version="tpu-ubuntu2204-base")
        with pytest.raises(exceptions.DeadlineExceeded):
            api.client.create_node(parent=PARENT, node_id="n", node=wanted, timeout=3)
        api.await_node("n", "READY")

    def test_a_call_whose_caller_is_gone_is_carried_out_all_the_same(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.slow("CreateNode", 1)
        wanted = api.types.Node(accelerator_type="v4-8", runtime_version="tpu-ubuntu2204-base")
        with pytest.raises(exceptions.DeadlineExceeded):
            api.client.create_node(parent=PARENT, node_id="n", node=wanted, timeout=0.1)
        assert api.node_state("n") == "GONE"
        api.await_node("n", "READY")

    def test_a_rate_limit_lets_so_many_through_in_a_minute(
        self, api: Api, emulator: Running
    ) -> None:
        emulator.rate_limit("CreateNode", 2)
        api.create_node("a")
        api.create_node("b")
        with pytest.raises(exceptions.ResourceExhausted, match="CreateNode requests per minute"):
            api.create_node("c")
        emulator.rate_limit("CreateNode", None)
        api.create_node("c")


class TestOrders:
    def test_what_there_is_not_cannot_be_troubled(self, emulator: Running) -> None:
        with pytest.raises(ApiError, match="'n' was not found"):
            emulator.preempt("n")
        with pytest.raises(ApiError, match="unknown call 'Create': did you mean CreateNode"):
            emulator.fail_next("Create", code=8)
        with pytest.raises(ApiError, match="unknown code 'odd'"):
            emulator.fail_next("CreateNode", code="odd")
        with pytest.raises(ApiError, match="unknown fault 'odd'"):
            emulator.fault("odd")
        with pytest.raises(ApiError, match="unknown zone 'mars'"):
            emulator.capacity("mars", "v4-8", 1)
        with pytest.raises(ApiError, match="us-central2-b has no v6e-8"):
            emulator.capacity("us-central2-b", "v6e-8", 1)
        with pytest.raises(ApiError, match="unknown quota 'gold'"):
            emulator.quota("us-central2-b", "gold", 1)

    def test_a_reset_takes_all_of_it_back(self, api: Api, emulator: Running) -> None:
        emulator.capacity("us-central2-b", "v4-8", 0)
        emulator.quota("us-central2-b", "v4", 0)
        emulator.fail_next("CreateNode", code=13)
        emulator.fault("vanish-after-create")
        emulator.slow("GetNode", 600)
        emulator.reset()
        assert api.ready_node("n").state.name == "READY"
        assert api.node_state("n") == "READY"
