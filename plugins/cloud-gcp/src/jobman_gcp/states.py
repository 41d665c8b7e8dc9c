"""What a node and its queued resource, seen together, mean to a job. Pure.

Sources: the states of the Cloud TPU API's nodes and queued resources, and the orders in which
their changes were seen: a spot preemption can show on either of the two first.
"""

from collections.abc import Mapping
from typing import Final

import attrs

from jobman_core.errors import CloudError, StockoutError
from jobman_core.models.slice import (
    Absent,
    HostInfo,
    Observation,
    Present,
    SlicePhase,
    Unknown,
)
from jobman_gcp.errors import Failure, refusal
from jobman_gcp.names import our_labels


@attrs.frozen
class NodeFacts:
    """A node, as far as jobman looks at it."""

    name: str
    #: The API's word.
    state: str
    accelerator: str = ""
    hosts: tuple[HostInfo, ...] = ()
    labels: Mapping[str, str] = attrs.field(factory=dict)
    health: str = ""
    health_description: str = ""
    symptoms: tuple[str, ...] = ()
    #: Maintenance to come or under way, in words.
    maintenance: str = ""
    #: Tells it from others that had its name before it.
    uid: str = ""
    pricing: str = ""


@attrs.frozen
class QueuedFacts:
    """A queued resource, as far as jobman looks at it."""

    name: str
    #: The API's word.
    state: str
    accelerator: str = ""
    #: Those that its node has, or will have.
    labels: Mapping[str, str] = attrs.field(factory=dict)
    #: Why it FAILED.
    failure: Failure | None = None
    #: Tells it from others that had its name before it.
    uid: str = ""
    pricing: str = ""
    #: What its nodes are called. jobman's own have one, of the same name; others' may have many.
    nodes: tuple[str, ...] = ()


_NODE_PHASES: Final = {
    "CREATING": SlicePhase.PENDING,
    "STARTING": SlicePhase.PENDING,
    "RESTARTING": SlicePhase.PENDING,
    "REIMAGING": SlicePhase.PENDING,
    "REPAIRING": SlicePhase.PENDING,
    "READY": SlicePhase.READY,
    "STOPPING": SlicePhase.LOSING,
    "STOPPED": SlicePhase.LOST,
    "PREEMPTED": SlicePhase.LOST,
    "TERMINATED": SlicePhase.LOST,
    "DELETING": SlicePhase.DELETING,
}
_WAITING: Final = frozenset({"CREATING", "ACCEPTED", "PROVISIONING", "WAITING_FOR_RESOURCES"})
_HEALTHY: Final = frozenset({"", "HEALTH_UNSPECIFIED", "HEALTHY"})
#: How a slice stands whose queued resource says ACTIVE and whose node is not there.
NODE_GONE: Final = "NODE_GONE"


def judge(node: NodeFacts | None, queued: QueuedFacts | None, zone: str) -> Observation:
    """Tell how a slice stands.

    Args:
        node: the node; None: the API says that there is none.
        queued: its queued resource, looked at before the node; None: there is none.
        zone: where they are, for messages.
    """
    if queued is None:
        return Absent() if node is None else _node(node)
    if queued.state in _WAITING:
        return _queued(queued, SlicePhase.PENDING, node, detail=_waiting(queued))
    match queued.state:
        case "ACTIVE" if node is not None:
            return _node(node)
        case "ACTIVE":
            # It was ACTIVE before the node was looked for, so that the node was there and is gone.
            why = "its queued resource is ACTIVE, and its node is gone"
            return _queued(attrs.evolve(queued, state=NODE_GONE), SlicePhase.LOST, detail=why)
        case "SUSPENDING":
            # The capacity is lost, whatever the node says.
            return _queued(queued, SlicePhase.LOSING, node, refused=_refusal(queued, zone))
        case "SUSPENDED":
            return _queued(queued, SlicePhase.LOST, refused=_refusal(queued, zone))
        case "FAILED":
            # That proves nothing of a node that is still up, and nobody else takes that away.
            standing = node is not None and _NODE_PHASES.get(node.state) is not SlicePhase.LOST
            phase = SlicePhase.DELETING if standing else SlicePhase.LOST
            return _queued(queued, phase, node, refused=_refusal(queued, zone))
        case "DELETING":
            return _queued(queued, SlicePhase.DELETING, node)
    return Unknown(f"queued resource {queued.name} is {queued.state}")


def _node(node: NodeFacts) -> Observation:
    phase = _NODE_PHASES.get(node.state)
    if phase is None:
        return Unknown(f"node {node.name} is {node.state}, which says nothing about its programs")
    return Present(phase, node.state, node.hosts, our_labels(node.labels), detail_of(node))


def detail_of(node: NodeFacts) -> str:
    """Say what else people should know of a node: its health, and maintenance to come."""
    words = []
    if node.health not in _HEALTHY:
        told = f": {node.health_description}" if node.health_description else ""
        words.append(f"{node.health}{told}")
    words += node.symptoms
    if node.maintenance:
        words.append(node.maintenance)
    return "; ".join(words)


def _queued(
    queued: QueuedFacts,
    phase: SlicePhase,
    node: NodeFacts | None = None,
    *,
    detail: str = "",
    refused: CloudError | None = None,
) -> Present:
    hosts = node.hosts if node is not None else ()
    return Present(phase, queued.state, hosts, our_labels(queued.labels), detail, refused)


def _waiting(queued: QueuedFacts) -> str:
    if queued.state == "WAITING_FOR_RESOURCES":
        return "its queued resource waits for capacity"
    return f"its queued resource is {queued.state}"


def _refusal(queued: QueuedFacts, zone: str) -> CloudError:
    """Say why a queued resource came to nothing; of no interest where it was active before."""
    what = f"{queued.accelerator or queued.name} in {zone}"
    if queued.failure is not None:
        return refusal(queued.failure, what)
    return StockoutError(
        f"no capacity for {what}: queued resource {queued.name} is {queued.state}: it is asked "
        "for again"
    )
