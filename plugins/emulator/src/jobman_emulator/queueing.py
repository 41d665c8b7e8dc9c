"""What a queued resource asks for, and when."""

from datetime import UTC, datetime, timedelta

from google.cloud.tpu_v2alpha1.types import cloud_tpu as api
from google.protobuf import timestamp_pb2


def ids_of(spec: api.QueuedResource.Tpu.NodeSpec) -> list[str]:
    """Give the ids of the nodes that a queued resource asks for."""
    many = spec.multi_node_params
    if not many.node_count:
        return [spec.node_id]
    return [f"{many.node_id_prefix}-{index}" for index in range(many.node_count)]


def valid_until(queued: api.QueuedResource) -> datetime | None:
    """Give the moment from which it cannot become ACTIVE any more; None: there is none."""
    policy = queued.queueing_policy
    return _moment(
        queued, policy.valid_until_duration, policy.valid_until_time, policy.valid_interval.end_time
    )


def valid_after(queued: api.QueuedResource) -> datetime | None:
    """Give the moment before which it is not to be provisioned; None: there is none."""
    policy = queued.queueing_policy
    return _moment(
        *(queued, policy.valid_after_duration, policy.valid_after_time),
        policy.valid_interval.start_time,
    )


def _moment(
    queued: api.QueuedResource,
    span: timedelta | None,
    moment: datetime | None,
    edge: timestamp_pb2.Timestamp,
) -> datetime | None:
    """Give the moment that is said in one of the three ways; None: it is not said."""
    if span:
        return datetime.fromisoformat((queued.create_time + span).isoformat())
    if edge.seconds:
        return edge.ToDatetime(UTC)
    return moment or None
