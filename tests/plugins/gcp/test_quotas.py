"""What quota ids mean, and what Google tells of limits."""

from types import SimpleNamespace
from typing import Any

import pytest

from jobman_core.models.quota import Sizes
from jobman_gcp.quotas import Kind, of_chips, of_hosts

ZONES = ("us-east1-c", "us-east1-d", "us-central2-b")
ONE, PODS, ALL = Sizes.ONE_HOST, Sizes.MANY_HOSTS, Sizes.ALL


def info(quota_id: str, *entries: tuple[dict[str, str], int, list[str]]) -> Any:
    """Give what the API tells of a quota: dimensions, limit and places, by entry."""
    told = [
        SimpleNamespace(
            dimensions=dimensions,
            details=SimpleNamespace(value=limit),
            applicable_locations=places,
        )
        for dimensions, limit, places in entries
    ]
    return SimpleNamespace(quota_id=quota_id, dimensions_infos=told)


@pytest.mark.parametrize(
    ("quota_id", "kind"),
    [
        ("TPUV5sPreemptibleLitepodPerProjectPerZoneForTPUAPI", ("v5litepod", "spot", PODS)),
        ("TPUV5sLitepodPerProjectPerRegionForTPUAPI", ("v5litepod", "ondemand", PODS)),
        ("TPUV5sLitepodServingPerProjectPerZoneForTPUAPI", ("v5litepod", "ondemand", ONE)),
        ("TPUV6EPreemptiblePerProjectPerZoneForTPUAPI", ("v6e", "spot", ALL)),
        ("TPUV6EPerProjectPerRegionForTPUAPI", ("v6e", "ondemand", ALL)),
        ("TPUV5PPreemptiblePerProjectPerZoneForTPUAPI", ("v5p", "spot", ALL)),
        ("TPUV5PReservedPerProjectPerZoneForTPUAPI", ("v5p", "reserved", ALL)),
        ("TPUV4sPreemptiblePodPerProjectPerZoneForTPUAPI", ("v4", "spot", ALL)),
        ("TPUV2sPreemptiblePodPerProjectPerRegionForTPUAPI", ("v2", "spot", PODS)),
        ("TPUV3sPerProjectPerZoneForTPUAPI", ("v3", "ondemand", ONE)),
        ("TPUV3PreemptiblePerProjectPerZoneForTPUAPI", ("v3", "spot", ONE)),
    ],
)
def test_an_id_says_of_which_slices_it_is(quota_id: str, kind: tuple[str, str, Sizes]) -> None:
    assert Kind.of(quota_id) == Kind(*kind)


@pytest.mark.parametrize(
    "quota_id",
    [
        "QueuedResourcesPerProjectPerZone",
        "RequestsPerMinutePerProject",
        "TPUV6EPerProjectForOtherAPI",
        "TPUV6EStrangePerProjectPerZoneForTPUAPI",
    ],
)
def test_other_quotas_are_passed_over(quota_id: str) -> None:
    assert Kind.of(quota_id) is None
    assert list(of_chips([info(quota_id, ({}, 8, ["us-east1-d"]))], ZONES)) == []


def test_a_place_has_its_own_limit_else_the_one_of_all_others() -> None:
    quota = info(
        "TPUV6EPreemptiblePerProjectPerZoneForTPUAPI",
        ({}, 64, ["us-east1-c", "us-central2-b", "far-1-a"]),
        ({"zone": "us-east1-d"}, 0, []),
    )
    found = {each.place: each.limit for each in of_chips([quota], ZONES)}
    assert found == {"us-east1-c": 64, "us-central2-b": 64, "us-east1-d": 0}


def test_a_limit_of_a_region_is_of_all_its_zones() -> None:
    quota = info("TPUV6EPerProjectPerRegionForTPUAPI", ({"region": "us-east1"}, 32, []))
    (found,) = of_chips([quota], ZONES)
    assert (found.place, found.zones) == ("us-east1", ("us-east1-c", "us-east1-d"))


def test_limits_in_cores_are_told_in_chips_and_some_have_none() -> None:
    quotas = [
        info("TPUV4sPodPerProjectPerZoneForTPUAPI", ({"zone": "us-central2-b"}, 32, [])),
        info("TPUV5PPerProjectPerZoneForTPUAPI", ({"zone": "us-central2-b"}, -1, [])),
    ]
    assert [(each.what, each.limit) for each in of_chips(quotas, ZONES)] == [
        ("v4", 16),
        ("v5p", None),
    ]


def test_a_limit_by_something_else_than_places_is_passed_over() -> None:
    by_user = info("TPUV6EPerProjectPerZoneForTPUAPI", ({"user": "x", "zone": "us-east1-d"}, 4, []))
    assert list(of_chips([by_user], ZONES)) == []


def test_regions_tell_what_hosts_use_of_them() -> None:
    quotas = [
        {"metric": "IN_USE_ADDRESSES", "usage": 3.0, "limit": 8.0},
        {"metric": "DISKS_TOTAL_GB", "usage": 300.0, "limit": -1.0},
        {"metric": "FIREWALLS", "usage": 3.0, "limit": 100.0},
    ]
    regions = [{"name": "us-east1", "quotas": quotas}, {"name": "far-1", "quotas": quotas}]
    addresses, disks = of_hosts(regions, ZONES)
    assert (addresses.what, addresses.used, addresses.limit) == ("external IPs", 3, 8)
    assert (disks.what, disks.used, disks.limit, disks.unit) == ("standard disks", 300, None, "GB")
    assert disks.zones == ("us-east1-c", "us-east1-d")
