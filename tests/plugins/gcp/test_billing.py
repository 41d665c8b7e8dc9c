"""What Google charged, out of an export of Cloud Billing in a BigQuery on this machine."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.bigquery import BigQuery, Table, serving

from jobman_core.clock import SystemClock
from jobman_core.errors import InvalidInputError, PermanentCloudError
from jobman_core.interfaces.backend import Context
from jobman_core.models.billing import Charge, Charges, Lacking
from jobman_gcp import GcpCloud

TABLE = "lab-billing.costs.gcp_billing_export_v1_012345_ABCDEF_678901"
SINCE, UNTIL = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)


def row(
    at: datetime, cost: float, *taken_off: float, service: str = "Compute Engine", **more: Any
) -> dict[str, Any]:
    """Give a row of the export, of that moment, written a few hours later."""
    owner = more.pop("owner", None)
    labels = [{"key": "team", "value": "vision"}]
    written = more.pop("written", at + timedelta(hours=5))
    return {
        "usage_start_time": at,
        "export_time": written,
        "_PARTITIONTIME": written.replace(hour=0),
        "service": {"id": "6F81", "description": service},
        "labels": [*labels, *([{"key": "jobman-owner", "value": owner}] if owner else [])],
        "currency": "USD",
        "cost": cost,
        "credits": [{"name": "discount", "amount": amount} for amount in taken_off],
        **more,
    }


@pytest.fixture
def bigquery(monkeypatch: pytest.MonkeyPatch) -> Iterator[BigQuery]:
    service = BigQuery()
    with serving(service) as url:
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", url)
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "lab")
        yield service


def cloud_of(root: Path, **settings: Any) -> GcpCloud:
    return GcpCloud(Context(root, "home-1", SystemClock(), settings))


@pytest.fixture
def cloud(tmp_path: Path) -> GcpCloud:
    return cloud_of(tmp_path, billing_table=TABLE)


async def charges(cloud: GcpCloud, zone: str = "UTC") -> Charges:
    found = await cloud.costs(SINCE, UNTIL, zone)
    assert isinstance(found, Charges), found
    return found


async def lacking(cloud: GcpCloud) -> Lacking:
    found = await cloud.costs(SINCE, UNTIL, "UTC")
    assert isinstance(found, Lacking), found
    return found


def at(day: int, hour: int = 12) -> datetime:
    return datetime(2026, 11, day, hour, tzinfo=UTC)


async def test_costs_and_credits_are_added_up_by_day_service_and_owner(
    cloud: GcpCloud, bigquery: BigQuery
) -> None:
    rows = [
        row(at(3), 10.0, -2.0, -1.5, owner="ada"),
        row(at(3, 14), 5.0, owner="ada"),
        row(at(3), 7.0),
        row(at(4), 1.0, service="Cloud Storage", owner="_c3_a9va"),
    ]
    bigquery.tables[TABLE] = Table(rows, size=12_345)
    found = await charges(cloud)
    assert sorted(found.charges, key=lambda charge: charge.cost) == [
        Charge(date(2026, 11, 4), "Cloud Storage", "éva", "USD", 1.0),
        Charge(date(2026, 11, 3), "Compute Engine", "", "USD", 7.0),
        Charge(date(2026, 11, 3), "Compute Engine", "ada", "USD", 15.0, -3.5),
    ]
    assert (found.source, found.read) == (TABLE, 12_345)
    assert found.written == at(3, 19).replace(day=4, hour=17)


async def test_what_was_used_outside_the_span_does_not_count_whenever_it_was_written(
    cloud: GcpCloud, bigquery: BigQuery
) -> None:
    late = row(at(30, 23), 4.0, written=datetime(2026, 12, 20, tzinfo=UTC))
    unwritten = row(at(30), 8.0)
    unwritten["_PARTITIONTIME"] = None
    before, after = row(SINCE - timedelta(seconds=1), 1.0), row(UNTIL, 2.0)
    bigquery.tables[TABLE] = Table([before, late, unwritten, after])
    found = await charges(cloud)
    assert sum(charge.cost for charge in found.charges) == 12.0


async def test_only_the_days_on_which_it_can_be_written_are_read(
    cloud: GcpCloud, bigquery: BigQuery
) -> None:
    # Of a row that was written before it was used there is none: it shows what is left out.
    old = row(at(3), 1.0, written=SINCE - timedelta(days=2))
    bigquery.tables[TABLE] = Table([old])
    assert (await charges(cloud)).charges == []
    bigquery.tables[TABLE] = Table([old], partitioned=False)
    assert len((await charges(cloud)).charges) == 1


@pytest.mark.parametrize(
    ("zone", "day"),
    [("UTC", 4), ("America/Los_Angeles", 3), ("+09:00", 4), ("-05:00", 3)],
)
async def test_days_are_those_of_the_people(
    cloud: GcpCloud, bigquery: BigQuery, zone: str, day: int
) -> None:
    bigquery.tables[TABLE] = Table([row(at(4, 2), 1.0)])
    (charge,) = (await charges(cloud, zone)).charges
    assert charge.day == date(2026, 11, day)


async def test_currencies_stay_apart(cloud: GcpCloud, bigquery: BigQuery) -> None:
    bigquery.tables[TABLE] = Table([row(at(3), 1.0), row(at(3), 2.0, currency="EUR")])
    found = {charge.currency: charge.cost for charge in (await charges(cloud)).charges}
    assert found == {"USD": 1.0, "EUR": 2.0}


async def test_a_query_that_takes_long_and_has_many_pages_is_read_to_its_end(
    cloud: GcpCloud, bigquery: BigQuery
) -> None:
    rows = [row(at(3), 1.0, owner=f"user{number}") for number in range(25)]
    bigquery.tables[TABLE] = Table(rows)
    bigquery.page, bigquery.slow = 10, 1
    found = await charges(cloud)
    assert (len(found.charges), found.read) == (25, 1_000_000)


async def test_what_is_asked_travels_as_parameters_and_may_cost_little(
    cloud: GcpCloud, bigquery: BigQuery
) -> None:
    bigquery.tables[TABLE] = Table([row(at(3), 1.0)])
    await charges(cloud)
    (asked,) = bigquery.queries
    kinds = {each["name"]: each["parameterType"]["type"] for each in asked["queryParameters"]}
    assert kinds == {
        "zone": "STRING",
        "owner": "STRING",
        "since": "TIMESTAMP",
        "until": "TIMESTAMP",
        "partition": "TIMESTAMP",
    }
    assert "2026" not in asked["query"]
    bigquery.tables[TABLE].size = 10**12
    with pytest.raises(PermanentCloudError, match="more than 50 GiB: choose a later --since"):
        await charges(cloud)


@pytest.mark.parametrize(
    "name", ["costs", "lab.costs", "lab-billing.costs.t` WHERE 1=1 --", "LAB.costs.t", "a b.c.d"]
)
async def test_what_is_no_table_never_becomes_a_query(
    tmp_path: Path, bigquery: BigQuery, name: str
) -> None:
    with pytest.raises(InvalidInputError, match=r"write project\.dataset\.table"):
        await cloud_of(tmp_path, billing_table=name).costs(SINCE, UNTIL, "UTC")
    assert bigquery.queries == []


async def test_what_to_set_up_is_told_step_by_step(tmp_path: Path) -> None:
    found = await lacking(cloud_of(tmp_path))
    assert "clouds.gcp.billing_table" in found.what
    switch, wait, setting, roles = found.steps
    assert "console.cloud.google.com/billing/export" in switch
    assert "wait" in wait
    assert "billing_table: PROJECT.DATASET." in setting
    assert "roles/bigquery.dataViewer" in roles


async def test_a_table_that_is_not_there_empty_or_another_one_is_told(
    cloud: GcpCloud, bigquery: BigQuery
) -> None:
    assert "there is no table" in (await lacking(cloud)).what
    bigquery.tables[TABLE] = Table()
    found = await lacking(cloud)
    assert (found.what, len(found.steps)) == (f"nothing is in {TABLE} yet", 1)
    bigquery.tables[TABLE] = Table([{"a": 1}], columns={"a": "STRING", "cost": "FLOAT"})
    assert "it has no credits, currency, export_time" in (await lacking(cloud)).what


@pytest.mark.parametrize("where", ["look", "query"])
async def test_who_may_not_read_it_is_told_the_roles(
    cloud: GcpCloud, bigquery: BigQuery, where: str
) -> None:
    table = bigquery.tables[TABLE] = Table([row(at(3), 1.0)])
    setattr(table, where, (403, "accessDenied"))
    found = await lacking(cloud)
    assert "Access Denied" in found.what
    assert "roles/bigquery.jobUser" in found.steps[0]


async def test_a_query_that_is_refused_is_an_error_with_bigquerys_words(
    cloud: GcpCloud, bigquery: BigQuery
) -> None:
    bigquery.tables[TABLE] = Table([row(at(3), 1.0)], query=(400, "invalidQuery"))
    with pytest.raises(PermanentCloudError, match="BigQuery refuses to read"):
        await charges(cloud)


async def test_the_emulator_of_cloud_tpu_bills_nobody(
    cloud: GcpCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BIGQUERY_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("TPU_EMULATOR_HOST", "127.0.0.1:1")
    with pytest.raises(PermanentCloudError, match="bills nobody"):
        await charges(cloud)
