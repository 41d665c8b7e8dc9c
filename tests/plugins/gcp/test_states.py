"""What a node and its queued resource, seen together, mean to a job."""

import itertools

import pytest
from google.cloud import tpu_v2

from jobman_core.errors import PermanentCloudError, StockoutError, TransientCloudError
from jobman_core.models.slice import Absent, HostInfo, Present, SlicePhase, Unknown
from jobman_gcp.errors import Failure
from jobman_gcp.states import NODE_GONE, NodeFacts, QueuedFacts, detail_of, judge

ZONE = "us-central2-b"
HOSTS = (HostInfo(0, "34.1.2.3", "10.0.0.2"),)
#: All of the API's, and one that is newer than this code.
NODE_STATES = [*(state.name for state in tpu_v2.Node.State), "17"]
QUEUED_STATES = [*(state.name for state in tpu_v2.QueuedResourceState.State), "10"]


def node(state: str) -> NodeFacts:
    return NodeFacts("t", state, "v4-8", HOSTS, {"jobman-owner": "a_2eb", "team": "x"})


def queued(state: str, failure: Failure | None = None) -> QueuedFacts:
    return QueuedFacts("t", state, "v4-8", {"jobman-owner": "a_2eb"}, failure)


def seen(node_: NodeFacts | None, queued_: QueuedFacts | None) -> Present:
    found = judge(node_, queued_, ZONE)
    assert isinstance(found, Present)
    return found


def test_neither_is_absent() -> None:
    assert judge(None, None, ZONE) == Absent()


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("CREATING", SlicePhase.PENDING),
        ("STARTING", SlicePhase.PENDING),
        ("REPAIRING", SlicePhase.PENDING),
        ("READY", SlicePhase.READY),
        ("STOPPING", SlicePhase.LOSING),
        ("STOPPED", SlicePhase.LOST),
        ("PREEMPTED", SlicePhase.LOST),
        ("TERMINATED", SlicePhase.LOST),
        ("DELETING", SlicePhase.DELETING),
    ],
)
def test_a_node_of_its_own_is_what_its_state_says(state: str, phase: SlicePhase) -> None:
    found = seen(node(state), None)
    assert (found.phase, found.state) == (phase, state)
    assert found.labels == {"jobman-owner": "a.b"}


@pytest.mark.parametrize("state", ["UNKNOWN", "HIDDEN", "STATE_UNSPECIFIED", "17"])
def test_f02_a_node_whose_state_says_nothing_is_unknown(state: str) -> None:
    for beside in (None, queued("ACTIVE")):
        found = judge(node(state), beside, ZONE)
        assert isinstance(found, Unknown)
        assert state in found.why


@pytest.mark.parametrize("state", ["CREATING", "ACCEPTED", "PROVISIONING", "WAITING_FOR_RESOURCES"])
def test_a_queued_resource_that_waits_is_pending_and_says_where_it_is(state: str) -> None:
    for beside in (None, node("CREATING"), node("READY")):
        found = seen(beside, queued(state))
        assert (found.phase, found.state) == (SlicePhase.PENDING, state)
        assert found.detail


def test_an_active_queued_resource_is_what_its_node_is() -> None:
    for state in ("CREATING", "READY", "PREEMPTED", "STOPPED", "DELETING"):
        assert judge(node(state), queued("ACTIVE"), ZONE) == judge(node(state), None, ZONE)


def test_f10_an_active_queued_resource_without_its_node_is_lost() -> None:
    found = seen(None, queued("ACTIVE"))
    assert (found.phase, found.state) == (SlicePhase.LOST, NODE_GONE)


@pytest.mark.parametrize("state", [*NODE_STATES, None])
def test_suspending_means_that_the_capacity_is_going_whatever_the_node_says(
    state: str | None,
) -> None:
    found = seen(node(state) if state else None, queued("SUSPENDING"))
    assert (found.phase, found.state) == (SlicePhase.LOSING, "SUSPENDING")


def test_suspended_is_proof_that_nothing_runs() -> None:
    found = seen(None, queued("SUSPENDED"))
    assert (found.phase, found.state) == (SlicePhase.LOST, "SUSPENDED")
    assert isinstance(found.refusal, StockoutError)


def test_f32_a_failed_queued_resource_says_why_it_came_to_nothing() -> None:
    found = seen(None, queued("FAILED", Failure(13, "an internal error has occurred")))
    assert (found.phase, found.state) == (SlicePhase.LOST, "FAILED")
    assert isinstance(found.refusal, TransientCloudError)
    assert "an internal error has occurred" in str(found.refusal)


def test_f26_a_queued_resource_that_failed_for_want_of_quota_is_refused_for_good() -> None:
    failure = Failure(8, "Quota limit 'X' has been exceeded. Limit: 0 in region us-central2.")
    assert isinstance(seen(None, queued("FAILED", failure)).refusal, PermanentCloudError)


def test_a_failed_queued_resource_is_no_proof_about_a_node_that_is_still_up() -> None:
    assert seen(node("READY"), queued("FAILED")).phase is SlicePhase.DELETING
    assert seen(node("PREEMPTED"), queued("FAILED")).phase is SlicePhase.LOST


def test_a_state_that_is_too_new_to_be_known_is_unknown() -> None:
    for state in ("STATE_UNSPECIFIED", "10"):
        assert isinstance(judge(node("READY"), queued(state), ZONE), Unknown)


def test_nothing_is_proof_of_an_end_but_what_the_rules_name() -> None:
    proven = {"PREEMPTED", "TERMINATED", "STOPPED"}
    for node_state, queued_state in itertools.product([*NODE_STATES, None], [*QUEUED_STATES, None]):
        found = judge(
            node(node_state) if node_state else None,
            queued(queued_state) if queued_state else None,
            ZONE,
        )
        ended = isinstance(found, Absent) or (
            isinstance(found, Present) and found.phase is SlicePhase.LOST
        )
        if ended:
            assert node_state is None or node_state in proven or queued_state == "SUSPENDED"


def test_the_health_of_a_node_and_maintenance_to_come_are_told() -> None:
    sick = NodeFacts(
        "t",
        "READY",
        health="UNHEALTHY_MAINTENANCE",
        health_description="host 2 is repaired",
        symptoms=("LOW_MEMORY on host 0",),
        maintenance="scheduled maintenance is pending",
    )
    assert detail_of(sick) == (
        "UNHEALTHY_MAINTENANCE: host 2 is repaired; LOW_MEMORY on host 0; "
        "scheduled maintenance is pending"
    )
    assert seen(sick, queued("ACTIVE")).detail == detail_of(sick)
    assert detail_of(node("READY")) == ""
