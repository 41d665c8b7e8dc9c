"""Google's clients of the other APIs: quotas, services, projects, metrics; Compute by REST."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import cloudquotas_v1, monitoring_v3, resourcemanager_v3, service_usage_v1
from tests.plugins.emulator.conftest import ZONE, Api, Rest

from jobman_emulator.testing import Running

QUOTAS = "projects/p/locations/global/services/tpu.googleapis.com"
BYTES = "storage.googleapis.com/storage/v2/total_bytes"
COMPUTE = "compute/v1/projects/p"


class Clients:
    """One client of each API, on one channel."""

    def __init__(self, channel: grpc.Channel) -> None:
        quotas = cloudquotas_v1.services.cloud_quotas.transports.CloudQuotasGrpcTransport
        services = service_usage_v1.services.service_usage.transports.ServiceUsageGrpcTransport
        projects = resourcemanager_v3.services.projects.transports.ProjectsGrpcTransport
        metrics = monitoring_v3.services.metric_service.transports.MetricServiceGrpcTransport
        self.quotas = cloudquotas_v1.CloudQuotasClient(transport=quotas(channel=channel))
        self.services = service_usage_v1.ServiceUsageClient(transport=services(channel=channel))
        self.projects = resourcemanager_v3.ProjectsClient(transport=projects(channel=channel))
        self.metrics = monitoring_v3.MetricServiceClient(transport=metrics(channel=channel))

    def limits(self, quota: str) -> dict[str, int]:
        """Give the limits of a quota, by what they hold for; empty: for all others."""
        info = self.quotas.get_quota_info(name=f"{QUOTAS}/quotaInfos/{quota}")
        return {
            next(iter(each.dimensions.values()), ""): each.details.value
            for each in info.dimensions_infos
        }

    def series(self, filter_: str, hours: float = 1) -> list[tuple[str, float]]:
        """Give the kinds of time series, each with its newest value."""
        now = datetime.now(UTC)
        interval = monitoring_v3.TimeInterval(start_time=now - timedelta(hours=hours), end_time=now)
        request = {"name": "projects/p", "filter": filter_, "interval": interval}
        found = self.metrics.list_time_series(request=request)
        return [(each.metric.labels["type"], each.points[0].value.double_value) for each in found]


@pytest.fixture
def clients(channel: grpc.Channel) -> Clients:
    return Clients(channel)


def compute_quotas(rest: Rest, region: str) -> dict[str, tuple[float, float]]:
    status, found = rest("GET", f"{COMPUTE}/regions/{region}")
    assert status == 200
    return {each["metric"]: (each["usage"], each["limit"]) for each in found["quotas"]}


class TestQuotas:
    def test_limits_that_were_set_are_told_under_the_names_that_google_has(
        self, clients: Clients, emulator: Running
    ) -> None:
        emulator.quota(ZONE, "v4-spot", 32)
        emulator.quota("us-east1", "v6e", 0)
        assert clients.limits("TPUV4sPreemptiblePodPerProjectPerZoneForTPUAPI") == {
            ZONE: 32,
            "": -1,
        }
        assert clients.limits("TPUV4sPodPerProjectPerZoneForTPUAPI") == {"": -1}
        for pricing in ("", "Preemptible"):
            quota = f"TPUV6E{pricing}PerProjectPerRegionForTPUAPI"
            assert clients.limits(quota) == {"us-east1": 0, "": -1}

    def test_a_client_lists_all_of_them_in_pages(self, clients: Clients) -> None:
        request = {"parent": QUOTAS, "page_size": 5}
        infos = list(clients.quotas.list_quota_infos(request=request))
        assert {"TPUV5PPerProjectPerZoneForTPUAPI", "QueuedResourcesPerProjectPerZone"} <= {
            info.quota_id for info in infos
        }
        assert {tuple(info.dimensions) for info in infos} == {("zone",), ("region",)}
        default = infos[0].dimensions_infos[-1]
        assert len(default.applicable_locations) > 10

    def test_spot_and_on_demand_are_counted_apart(self, api: Api, emulator: Running) -> None:
        emulator.quota(ZONE, "v4", 8)
        api.create_node("n")
        api.create_queued("q")
        with pytest.raises(exceptions.ResourceExhausted, match="TPUV4sPodPerProjectPerZone"):
            api.create_node("m")
        with pytest.raises(exceptions.ResourceExhausted, match="TPUV4sPreemptiblePodPer"):
            api.create_queued("r")


class TestServicesAndProjects:
    def test_all_apis_are_enabled_until_somebody_says_otherwise(
        self, clients: Clients, emulator: Running
    ) -> None:
        emulator.api("compute.googleapis.com", enabled=False)
        names = [f"projects/p/services/{name}.googleapis.com" for name in ("tpu", "compute")]
        request = {"parent": "projects/p", "names": names}
        found = clients.services.batch_get_services(request=request).services
        assert [each.state.name for each in found] == ["ENABLED", "DISABLED"]
        assert clients.services.get_service(request={"name": names[0]}) == found[0]
        request = {"parent": "projects/p", "filter": "state:DISABLED"}
        assert list(clients.services.list_services(request=request)) == [found[1]]

    def test_a_call_to_an_api_that_is_not_enabled_says_so(
        self, clients: Clients, rest: Rest, emulator: Running
    ) -> None:
        emulator.api("cloudquotas.googleapis.com", enabled=False)
        with pytest.raises(exceptions.PermissionDenied, match="has not been used in") as refused:
            clients.quotas.list_quota_infos(parent=QUOTAS)
        assert refused.value.reason == "SERVICE_DISABLED"
        assert refused.value.metadata["service"] == "cloudquotas.googleapis.com"
        emulator.api("compute.googleapis.com", enabled=False)
        status, told = rest("GET", f"{COMPUTE}/regions")
        assert (status, told["error"]["details"][0]["reason"]) == (403, "SERVICE_DISABLED")

    def test_a_permission_that_the_account_has_not_got_is_told_and_looked_at(
        self, clients: Clients, emulator: Running
    ) -> None:
        emulator.permission("cloudquotas.quotas.get", granted=False)
        asked = ["tpu.nodes.list", "cloudquotas.quotas.get"]
        request = {"resource": "projects/p", "permissions": asked}
        told = clients.projects.test_iam_permissions(request=request)
        assert list(told.permissions) == ["tpu.nodes.list"]
        with pytest.raises(exceptions.PermissionDenied, match=r"cloudquotas\.quotas\.get. denied"):
            clients.quotas.list_quota_infos(parent=QUOTAS)

    def test_a_project_is_known_by_its_id(self, clients: Clients) -> None:
        project = clients.projects.get_project(name="projects/p")
        assert (project.project_id, project.state.name) == ("p", "ACTIVE")


class TestMetrics:
    def test_the_size_of_a_bucket_is_measured_by_kind_of_object(
        self, clients: Clients, emulator: Running
    ) -> None:
        emulator.bucket("b", 5_000, 12)
        emulator.bucket("b", 700, 3, kind="soft-deleted-object")
        emulator.bucket("other", 1, 1)
        wanted = f'metric.type = "{BYTES}" AND resource.labels.bucket_name = "b"'
        assert clients.series(wanted) == [("live-object", 5000), ("soft-deleted-object", 700)]
        counted = 'metric.type="storage.googleapis.com/storage/v2/total_count"'
        assert sorted(value for _, value in clients.series(counted)) == [1, 3, 12]

    def test_what_was_measured_before_the_interval_is_not_shown(
        self, clients: Clients, emulator: Running
    ) -> None:
        emulator.bucket("b", 5, 1, age=7200)
        wanted = f'metric.type="{BYTES}"'
        assert clients.series(wanted) == []
        assert clients.series(wanted, hours=3) == [("live-object", 5)]
        with pytest.raises(exceptions.InvalidArgument, match=r"metric\.type"):
            clients.series('resource.type="gcs_bucket"')


class TestCompute:
    def test_a_region_says_what_hosts_use_of_it(
        self, api: Api, rest: Rest, emulator: Running
    ) -> None:
        emulator.quota("us-central2", "external-ips", 8)
        api.create_node("n", "v4-16")
        used = compute_quotas(rest, "us-central2")
        assert used["IN_USE_ADDRESSES"] == (2, 8)
        assert used["INSTANCES"] == (2, -1)
        assert used["DISKS_TOTAL_GB"] == (200, -1)
        assert compute_quotas(rest, "us-east1")["INSTANCES"] == (0, -1)

    def test_regions_and_zones_are_listed(self, rest: Rest) -> None:
        _, regions = rest("GET", f"{COMPUTE}/regions")
        _, zones = rest("GET", f"{COMPUTE}/zones")
        assert "us-central2" in [each["name"] for each in regions["items"]]
        assert ZONE in [each["name"] for each in zones["items"]]
        assert rest("GET", f"{COMPUTE}/regions/nowhere")[0] == 404

    @pytest.mark.parametrize(("enabled", "told"), [(True, ["TRUE"]), (False, ["FALSE"])])
    def test_a_project_says_whether_os_login_is_used(
        self, rest: Rest, emulator: Running, *, enabled: bool, told: list[str]
    ) -> None:
        assert "items" not in rest("GET", COMPUTE)[1]["commonInstanceMetadata"]
        emulator.os_login(enabled=enabled)
        items = rest("GET", COMPUTE)[1]["commonInstanceMetadata"]["items"]
        assert [each["value"] for each in items if each["key"] == "enable-oslogin"] == told


@pytest.mark.parametrize(
    ("call", "ask"),
    [
        ("ListQuotaInfos", lambda clients: clients.quotas.list_quota_infos(parent=QUOTAS)),
        ("GetProject", lambda clients: clients.projects.get_project(name="projects/p")),
    ],
)
def test_these_calls_fail_on_order_and_all_goes_well_after_a_reset(
    clients: Clients, emulator: Running, call: str, ask: Callable[[Clients], Any]
) -> None:
    emulator.fail_next(call, code="UNAUTHENTICATED")
    with pytest.raises(exceptions.Unauthenticated):
        ask(clients)
    emulator.api("cloudquotas.googleapis.com", enabled=False)
    emulator.permission("resourcemanager.projects.get", granted=False)
    emulator.reset()
    assert ask(clients)


def test_compute_calls_fail_on_order(rest: Rest, emulator: Running) -> None:
    emulator.fail_next("ListRegions", code=503)
    assert rest("GET", f"{COMPUTE}/regions")[0] == 503
    assert rest("GET", f"{COMPUTE}/regions")[0] == 200


def test_what_is_set_over_http_is_what_is_told(clients: Clients, rest: Rest) -> None:
    for verb, arguments in {
        "api": {"name": "bigquery.googleapis.com", "enabled": False},
        "permission": {"name": "tpu.nodes.create", "granted": False},
        "os-login": {"enabled": True},
        "bucket": {"name": "b", "bytes": 5, "objects": 1},
    }.items():
        assert rest("POST", f"emulator/{verb}", arguments) == (200, {})
    request = {"parent": "projects/p", "filter": "state:DISABLED"}
    (disabled,) = clients.services.list_services(request=request)
    assert disabled.config.name == "bigquery.googleapis.com"
    assert "items" in rest("GET", COMPUTE)[1]["commonInstanceMetadata"]
    assert clients.series(f'metric.type="{BYTES}"') == [("live-object", 5)]
    asked = {"name": "nope.googleapis.com", "enabled": True}
    assert rest("POST", "emulator/api", asked)[0] == 400
