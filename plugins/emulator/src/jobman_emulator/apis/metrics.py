"""The Cloud Monitoring API: time series that somebody has set. Source: google/monitoring/v3.

What Cloud Storage measures of a bucket: "Google Cloud metrics", storage/v2/total_bytes and
storage/v2/total_count, by class and by kind of object.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import attrs
from google.cloud.monitoring_v3 import types

from jobman_emulator.apis.rpc import Rpc
from jobman_emulator.errors import invalid
from jobman_emulator.paging import page

RPCS: Final = (
    Rpc(
        "monitoring.googleapis.com",
        "ListTimeSeries",
        "monitoring.timeSeries.list",
        "google.monitoring.v3.MetricService",
        types.ListTimeSeriesRequest,
    ),
)
BYTES: Final = "storage.googleapis.com/storage/v2/total_bytes"
COUNT: Final = "storage.googleapis.com/storage/v2/total_count"
_BUCKET: Final = "gcs_bucket"
#: One comparison of a filter: ``metric.type = "…"``, ``resource.labels.bucket_name="…"``.
_EQUAL: Final = re.compile(r'\s*([\w.]+)\s*=\s*"([^"]*)"\s*')


@attrs.frozen
class Series:
    """One time series, which has one point."""

    metric: str
    labels: Mapping[str, str]
    resource: str
    resource_labels: Mapping[str, str]
    value: float
    at: datetime

    @property
    def key(self) -> str:
        """What tells it from others."""
        labels = sorted({**self.labels, **self.resource_labels}.items())
        return " ".join([self.metric, *(f"{key}={value}" for key, value in labels)])

    def facts(self) -> Mapping[str, str]:
        """Give what filters may ask for."""
        return {
            "metric.type": self.metric,
            "resource.type": self.resource,
            **{f"metric.labels.{key}": value for key, value in self.labels.items()},
            **{f"resource.labels.{key}": value for key, value in self.resource_labels.items()},
        }

    def message(self) -> types.TimeSeries:
        """Give it as the API does."""
        return types.TimeSeries(
            metric={"type": self.metric, "labels": dict(self.labels)},
            resource={"type": self.resource, "labels": dict(self.resource_labels)},
            metric_kind="GAUGE",
            value_type="DOUBLE",
            points=[
                {
                    "interval": {"start_time": self.at, "end_time": self.at},
                    "value": {"double_value": self.value},
                }
            ],
        )


@attrs.frozen
class Measured:
    """What Cloud Storage measured of one part of a bucket."""

    bucket: str
    #: Of all objects.
    bytes: int
    count: int
    location: str = "us-central1"
    storage_class: str = "REGIONAL"
    #: ``live-object``, ``noncurrent-object``, ``soft-deleted-object`` or ``multipart-upload``.
    kind: str = "live-object"

    def series(self, at: datetime) -> Iterator[Series]:
        """Give it as time series, measured at a moment."""
        labels = {"storage_class": self.storage_class, "type": self.kind}
        place = {"bucket_name": self.bucket, "location": self.location}
        for metric, value in ((BYTES, self.bytes), (COUNT, self.count)):
            yield Series(metric, labels, _BUCKET, place, float(value), at)


class Metrics:
    """The methods on time series."""

    def __init__(self) -> None:
        """Have measured nothing."""
        self.series: dict[str, Series] = {}

    def put(self, series: Series) -> None:
        """Set a series, in the place of an older one."""
        self.series[series.key] = series

    def list_time_series(
        self, request: types.ListTimeSeriesRequest, _version: str
    ) -> types.ListTimeSeriesResponse:
        """List those of a filter that have a point in the interval, as one project's."""
        wanted = _parsed(request.filter)
        if "metric.type" not in wanted:
            raise invalid("Field filter had an invalid value: it must name one metric.type")
        within = _within(request.interval)
        found = {
            key: series
            for key, series in self.series.items()
            if wanted.items() <= series.facts().items() and within(series.at)
        }
        names, token = page(sorted(found), request)
        shown: list[Any] = [found[name].message() for name in names]
        if request.view == types.ListTimeSeriesRequest.TimeSeriesView.HEADERS:
            for each in shown:
                each.points = []
        return types.ListTimeSeriesResponse(time_series=shown, next_page_token=token)


def _within(interval: Any) -> Callable[[datetime], bool]:  # noqa: ANN401 - its times come as such
    start, end = interval.start_time, interval.end_time
    if not end:
        raise invalid("Field interval.endTime is required")
    return lambda moment: bool((start or end) <= moment <= end)


def _parsed(text: str) -> Mapping[str, str]:
    """Read a filter; no more of them than comparisons joined by AND."""
    wanted = {}
    for part in re.split(r"\s+AND\s+|\n", text.strip()):
        match = _EQUAL.fullmatch(part)
        if match is None:
            raise invalid(f"Field filter had an invalid value: '{text}' is not emulated")
        wanted[re.sub(r"\.label\.", ".labels.", match[1])] = match[2]
    return wanted
