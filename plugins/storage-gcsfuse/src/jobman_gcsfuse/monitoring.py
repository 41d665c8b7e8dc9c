"""What Cloud Monitoring knows of buckets: the sums of every bucket, measured once a day.

Source: the list of Google Cloud's metrics, ``storage/v2/total_bytes`` and
``storage/v2/total_count`` of ``gcs_bucket``, with the labels ``storage_class`` and ``type``. A
bucket without objects has none.
"""

import os
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import attrs

from jobman_core.models.storage import Amount, ObjectState

if TYPE_CHECKING:
    from google.cloud.monitoring_v3 import MetricServiceClient

#: Sends everything to an emulator of Google Cloud: ``127.0.0.1:PORT``, without credentials.
EMULATOR: Final = "TPU_EMULATOR_HOST"
_METRIC: Final = "storage.googleapis.com/storage/v2/"
_BYTES: Final = "total_bytes"
_COUNT: Final = "total_count"
#: What the metric's ``type`` calls them.
_STATES: Final[Mapping[str, ObjectState]] = {
    "live-object": ObjectState.LIVE,
    "noncurrent-object": ObjectState.NONCURRENT,
    "soft-deleted-object": ObjectState.SOFT_DELETED,
    "multipart-upload": ObjectState.UPLOAD,
}
#: How far back is looked; the longer one, which is more to read, only where the first has nothing.
_WINDOWS: Final = (timedelta(hours=3), timedelta(hours=50))
#: Seconds for an answer.
_CALL: Final = 20.0
_PAGE: Final = 10_000


@attrs.frozen
class Measured:
    """What one bucket held when it was measured."""

    as_of: datetime
    location: str
    amounts: Sequence[Amount]


@attrs.define
class _Series:
    """The newest points of one bucket that were seen so far."""

    as_of: datetime
    location: str = ""
    #: By class and state, then by metric.
    values: dict[tuple[str, ObjectState], dict[str, int]] = attrs.field(
        factory=lambda: defaultdict(dict)
    )

    def measured(self) -> Measured:
        """Give what they come to."""
        amounts = [
            Amount(None, *kind, values.get(_COUNT, 0), values.get(_BYTES, 0))
            for kind, values in sorted(self.values.items())
        ]
        return Measured(self.as_of, self.location, amounts)


def measure(project: str, buckets: Sequence[str], now: datetime) -> Mapping[str, Measured]:
    """Give what Monitoring knows of a project's buckets; of some it may know nothing.

    Raises:
        Exception: whatever Google's libraries raise where it cannot be asked.
    """
    client = _make_client()
    try:
        found: dict[str, Measured] = {}
        for window in _WINDOWS:
            if left := [bucket for bucket in buckets if bucket not in found]:
                interval = {"start_time": now - window, "end_time": now}
                found |= _measure(client, project, left, interval)
        return found
    finally:
        client.transport.close()


def _make_client() -> "MetricServiceClient":
    with warnings.catch_warnings():
        # Of quotas of a project, and of Pythons that grow old.
        warnings.filterwarnings("ignore", module=r"google\.")
        from google.cloud.monitoring_v3 import MetricServiceClient
        from google.cloud.monitoring_v3.services.metric_service.transports import (
            MetricServiceGrpcTransport,
        )

        emulator = os.environ.get(EMULATOR)
        if not emulator:
            return MetricServiceClient()
        import grpc

        # A proxy knows no loopback address of ours.
        channel = grpc.insecure_channel(emulator, options=(("grpc.enable_http_proxy", 0),))
        return MetricServiceClient(transport=MetricServiceGrpcTransport(channel=channel))


def _measure(
    client: "MetricServiceClient",
    project: str,
    buckets: Sequence[str],
    interval: Mapping[str, datetime],
) -> Mapping[str, Measured]:
    found: dict[str, _Series] = {}
    for metric in (_BYTES, _COUNT):
        for series in _asked(client, project, metric, buckets, interval):
            _add(found, metric, series)
    return {name: found[name].measured() for name in buckets if name in found}


def _asked(
    client: "MetricServiceClient",
    project: str,
    metric: str,
    buckets: Sequence[str],
    interval: Mapping[str, datetime],
) -> Iterable[Any]:
    filters = [f'metric.type = "{_METRIC}{metric}"', 'resource.type = "gcs_bucket"']
    if len(buckets) == 1:
        # The name of a bucket holds no quotes: it was looked at.
        filters.append(f'resource.labels.bucket_name = "{buckets[0]}"')
    request = {
        "name": f"projects/{project}",
        "filter": " AND ".join(filters),
        "interval": interval,
        "page_size": _PAGE,
    }
    series: Iterator[Any] = iter(client.list_time_series(request=request, timeout=_CALL))
    return series


def _add(found: dict[str, _Series], metric: str, series: Any) -> None:  # noqa: ANN401 - a message
    state = _STATES.get(series.metric.labels.get("type", ""))
    if state is None or not series.points:
        # What is not known yet is told apart by listing.
        return
    # The newest point comes first.
    point = series.points[0]
    at = datetime.fromtimestamp(point.interval.end_time.timestamp(), UTC)
    labels = series.resource.labels
    bucket = found.setdefault(labels["bucket_name"], _Series(at))
    bucket.as_of = max(bucket.as_of, at)
    bucket.location = labels.get("location", "")
    kind = (series.metric.labels.get("storage_class", ""), state)
    value = point.value
    bucket.values[kind][metric] = int(value.double_value or value.int64_value)
