"""What ``doctor`` makes of an account's APIs, rights, settings and clock."""

import attrs
import pytest

from jobman_core.models.checkup import Health
from jobman_core.models.quota import Allowance
from jobman_gcp.health import (
    APIS,
    RIGHTS,
    Place,
    Right,
    judge_apis,
    judge_clock,
    judge_hosts,
    judge_os_login,
    judge_place,
    judge_quota,
    judge_rights,
)


def test_without_the_api_of_tpus_nothing_works_and_without_others_something_is_missing() -> None:
    assert [each.health for each in judge_apis(APIS, "lab")] == [Health.WELL]
    enabled = set(APIS) - {"tpu.googleapis.com", "monitoring.googleapis.com"}
    tpu, monitoring = judge_apis(enabled, "lab")
    assert tpu.health is Health.BROKEN
    assert tpu.remedy == "run `gcloud services enable tpu.googleapis.com --project lab`"
    assert monitoring.health is Health.DOUBT


@pytest.mark.parametrize("right", RIGHTS, ids=lambda right: right.purpose)
def test_a_permission_that_is_missing_is_named_with_the_role_that_has_it(right: Right) -> None:
    first, *others = right.permissions
    (found,) = judge_rights({right.purpose: others}, "lab")
    assert found.health is right.lacking
    assert first in found.text
    assert f"add-iam-policy-binding lab --role {right.role}" in found.remedy
    (found,) = judge_rights({right.purpose: right.permissions}, "lab")
    assert found.health is Health.WELL


def test_what_hosts_take_of_a_region_and_is_used_up_is_a_doubt() -> None:
    ips = Allowance("us-west1", ("us-west1-a",), "external IPs", 8, used=8)
    (found,) = judge_hosts([ips, attrs.evolve(ips, used=7)], "lab")
    assert (found.health, found.text) == (
        Health.DOUBT,
        "all 8 external IPs of us-west1 are in use",
    )


def test_os_login_is_a_doubt_since_hosts_pass_over_our_keys() -> None:
    assert judge_os_login({}).health is Health.WELL
    assert judge_os_login({"enable-oslogin": "false"}).health is Health.WELL
    assert judge_os_login({"enable-oslogin": "True"}).health is Health.DOUBT


@pytest.mark.parametrize(
    ("ahead", "health"),
    [(0, "well"), (-20, "well"), (40, "doubt"), (-90, "doubt"), (400, "broken"), (-400, "broken")],
)
def test_a_clock_may_be_off_by_seconds_and_not_by_minutes(ahead: float, health: str) -> None:
    assert judge_clock(ahead).health == health


def test_a_project_without_any_quota_is_broken() -> None:
    assert judge_quota([0, 0], "lab").health is Health.BROKEN
    assert judge_quota([0, 8], "lab").health is Health.WELL
    assert judge_quota([None], "lab").health is Health.WELL
    assert judge_quota([], "lab").health is Health.UNKNOWN


@pytest.mark.parametrize("wrong", ["zone", "accelerator", "runtime", ""])
def test_what_a_zone_has_not_is_told_with_the_list_of_what_it_has(wrong: str) -> None:
    has = dict.fromkeys(("zone", "accelerator", "runtime"), True) | (
        {wrong: False} if wrong else {}
    )
    found = judge_place(Place("us-west1-a", "v9-8", "tpu-ubuntu"), **has)
    assert found.health is (Health.BROKEN if wrong else Health.WELL)
    assert ("list" in found.remedy) is bool(wrong)
