"""Limits and zones of a project, asked of an emulator; and what becomes of less than all rights."""

import pytest
from google.oauth2.credentials import Credentials
from tests.plugins.gcp.conftest import MakeCloud

from jobman_core.clock import SystemClock
from jobman_core.errors import CloudError
from jobman_core.models.quota import Allowance
from jobman_core.models.slice import SliceIdentity, SlicePhase, SliceRequest
from jobman_core.quota import Accounts
from jobman_core.testing.cloud_contract import until_phase
from jobman_emulator.catalog import ZONES
from jobman_emulator.server import Emulator
from jobman_gcp import GcpCloud
from jobman_gcp.account import EMULATED_COMPUTE, Account


@pytest.fixture(autouse=True)
def _compute(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lead the Compute API to the emulator, too."""
    monkeypatch.setenv(EMULATED_COMPUTE, emulator.env()[EMULATED_COMPUTE])


async def test_zones_are_those_that_the_api_offers(cloud: GcpCloud) -> None:
    assert set(await cloud.zones()) == set(ZONES)


async def test_limits_are_told_in_chips_with_what_hosts_use(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.quota("us-central2-b", "v4-spot", 32)
    await emulator.control.quota("us-central2", "external-ips", 8)
    told = await cloud.allowances(["us-central2-b"])
    assert told.unknown == ()
    spot = Allowance("us-central2-b", ("us-central2-b",), "v4", 16, "spot")
    assert spot in told.chips
    (addresses,) = [each for each in told.others if each.what == "external IPs"]
    assert (addresses.place, addresses.used, addresses.limit) == ("us-central2", 0, 8)


async def test_what_is_dead_counts_against_the_limit_until_it_is_deleted(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.quota("us-central2-b", "v4-spot", 32)
    zone, name = "us-central2-b", SliceIdentity("x", "us-central2-b", "h", "eve", "000001", 1)
    await cloud.create(
        name, SliceRequest("gcp", "v4-16", zone, "spot", "queued-resources", "tpu-ubuntu2204-base")
    )
    await until_phase(cloud, name, SlicePhase.READY)
    await emulator.control.preempt("x")
    found = await Accounts(lambda _: cloud, SystemClock()).quota([], [("gcp", "emulated")])
    assert found.unknown == ()
    (held,) = [each for each in found.holdings if each.held]
    assert (held.zone, held.family, held.dead) == (zone, "v4", 8)
    assert (held.used, held.limit, held.limited_in) == (8, 16, zone)
    assert {each.zone for each in found.holdings} == set(ZONES)


async def test_an_api_that_is_not_enabled_is_named_with_the_command_that_enables_it(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.api("cloudquotas.googleapis.com", enabled=False)
    told = await cloud.allowances(["us-central2-b"], "lab")
    assert told.chips == ()
    assert told.others
    (why,) = told.unknown
    assert why == (
        "limits on chips of project lab are not known: cloudquotas.googleapis.com is not enabled: "
        "run `gcloud services enable cloudquotas.googleapis.com`"
    )


async def test_a_role_that_is_missing_is_named(cloud: GcpCloud, emulator: Emulator) -> None:
    await emulator.control.permission("compute.regions.list", granted=False)
    await emulator.control.permission("cloudquotas.quotas.get", granted=False)
    quotas, compute = (await cloud.allowances(["us-central2-b"])).unknown
    assert "have the role roles/cloudquotas.viewer granted on the project" in quotas
    assert "have the role roles/compute.viewer granted on the project" in compute


@pytest.mark.parametrize(("code", "said"), [(503, "try again later"), (401, "gcloud auth")])
async def test_what_passes_by_itself_is_told_as_such(
    cloud: GcpCloud, emulator: Emulator, code: int, said: str
) -> None:
    for call in ("ListQuotaInfos", "ListRegions"):
        await emulator.control.fail_next(call, code=code)
    told = await cloud.allowances(["us-central2-b"])
    assert [said in why for why in told.unknown] == [True, True]
    assert (await cloud.allowances(["us-central2-b"])).unknown == ()


async def test_no_list_of_zones_is_an_error_that_says_so(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.fail_next("ListLocations", code=403, message="no")
    with pytest.raises(CloudError, match=r"no list of zones of project lab: no: .*roles/tpu.admin"):
        await cloud.zones("lab")


@pytest.mark.parametrize("address", ["", "http://127.0.0.1:1/"])
async def test_an_emulator_whose_compute_address_is_not_known_is_told(
    make_cloud: MakeCloud, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv(EMULATED_COMPUTE, address)
    (why,) = (await make_cloud().allowances(["us-central2-b"])).unknown
    assert (address or EMULATED_COMPUTE) in why


def test_a_persons_credentials_are_charged_to_the_project_and_others_stay_as_they_are() -> None:
    person = Account("p", Credentials("token"))  # type: ignore[no-untyped-call]
    assert person.charged_to("lab").credentials.quota_project_id == "lab"
    told = Account("p", Credentials("token", quota_project_id="own"))  # type: ignore[no-untyped-call]
    assert told.charged_to("lab") is told
    service = Account("p", object())
    assert service.charged_to("lab") is service
