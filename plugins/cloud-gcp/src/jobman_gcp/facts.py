"""From Google's messages to the facts that jobman looks at."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import attrs

from jobman_core.models.slice import HostInfo
from jobman_gcp.errors import Failure
from jobman_gcp.states import NodeFacts, QueuedFacts

if TYPE_CHECKING:
    from google.cloud import tpu_v2, tpu_v2alpha1

_LONG_AGO: Final = datetime.fromtimestamp(0, UTC)


@attrs.frozen
class OperationFacts:
    """A long-running operation."""

    name: str
    done: bool
    #: Why it failed, where it did.
    failure: Failure | None = None
    #: The full name of what it acts on.
    target: str = ""
    verb: str = ""
    began: datetime = _LONG_AGO

    @property
    def creates(self) -> bool:
        """Tell whether it makes its target."""
        return "create" in self.verb.lower()


def last(name: str) -> str:
    """Give what a resource is called within its zone."""
    return name.rpartition("/")[2]


def node_facts(node: "tpu_v2alpha1.Node") -> NodeFacts:
    """Read a node."""
    return NodeFacts(
        name=last(node.name),
        state=_word(node.state),
        accelerator=node.accelerator_type,
        hosts=tuple(_hosts(node)),
        labels=dict(node.labels),
        health=_word(node.health),
        health_description=node.health_description,
        symptoms=tuple(_symptoms(node)),
        maintenance=_maintenance(node.upcoming_maintenance)
        if "upcoming_maintenance" in node
        else "",
        uid=str(node.id or _stamp(node.create_time)),
        pricing=_pricing(node.scheduling_config),
    )


def queued_facts(queued: "tpu_v2.QueuedResource") -> QueuedFacts:
    """Read a queued resource; of its nodes, the first."""
    specs = list(queued.tpu.node_spec)
    error = queued.state.failed_data.error
    failed = queued.state.state.name == "FAILED"
    name = last(queued.name)
    return QueuedFacts(
        name=name,
        state=_word(queued.state.state),
        accelerator=specs[0].node.accelerator_type if specs else "",
        labels=dict(specs[0].node.labels) if specs else {},
        failure=Failure(error.code, error.message) if failed and error else None,
        uid=_stamp(queued.create_time),
        pricing=_tier(queued),
        nodes=tuple(node for spec in specs for node in _node_names(name, spec)),
    )


def operation_facts(operation: Any) -> OperationFacts:  # noqa: ANN401 - protobuf has no types
    """Read a ``google.longrunning.Operation`` of this API, of whichever version."""
    from google.cloud.tpu_v2 import OperationMetadata

    # Both versions of the API have the same metadata, under two names.
    metadata = OperationMetadata.deserialize(operation.metadata.value)
    error = operation.error
    return OperationFacts(
        name=operation.name,
        done=operation.done,
        failure=Failure(error.code, error.message) if error.code else None,
        target=metadata.target,
        verb=metadata.verb,
        began=metadata.create_time or _LONG_AGO,
    )


def _word(state: Any) -> str:  # noqa: ANN401 - an enum, or the number of one that is too new
    return getattr(state, "name", None) or str(state)


def _stamp(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def _pricing(scheduling: Any) -> str:  # noqa: ANN401 - of either version
    """Say how something is paid for, in the words of a job file as far as it has one."""
    for word in ("spot", "preemptible", "reserved"):
        if getattr(scheduling, word):
            return word
    return "ondemand"


def _tier(queued: "tpu_v2.QueuedResource") -> str:
    """Say how a queued resource is paid for: it says so itself, or its nodes do."""
    if "spot" in queued:
        return "spot"
    if queued.reservation_name:
        return "reserved"
    specs = list(queued.tpu.node_spec)
    return _pricing(specs[0].node.scheduling_config) if specs else ""


def _node_names(queued: str, spec: "tpu_v2.QueuedResource.Tpu.NodeSpec") -> Sequence[str]:
    """Give what the nodes of a queued resource are called, as the API's reference has it."""
    many = spec.multislice_params
    if not many.node_count:
        return [spec.node_id]
    prefix = many.node_id_prefix or queued
    return [f"{prefix}-{index}" for index in range(many.node_count)]


def _hosts(node: "tpu_v2alpha1.Node") -> Iterator[HostInfo]:
    for index, endpoint in enumerate(node.network_endpoints):
        internal = endpoint.ip_address or None
        external = endpoint.access_config.external_ip or None
        yield HostInfo(index, external or internal, internal)


def _symptoms(node: "tpu_v2alpha1.Node") -> Iterator[str]:
    for symptom in node.symptoms:
        where = f" on host {symptom.worker_id}" if symptom.worker_id else ""
        told = f": {symptom.details}" if symptom.details else ""
        yield f"{_word(symptom.symptom_type)}{where}{told}"


def _maintenance(event: "tpu_v2alpha1.UpcomingMaintenance") -> str:
    kind, status = _word(event.type_).lower(), _word(event.maintenance_status).lower()
    kind = "" if kind.startswith("unknown") else f"{kind} "
    status = "" if status.startswith("unknown") else f" is {status}"
    window = f" from {event.window_start_time}" if event.window_start_time else ""
    window += f" to {event.window_end_time}" if event.window_end_time else ""
    return f"{kind}maintenance{status}{window}"
