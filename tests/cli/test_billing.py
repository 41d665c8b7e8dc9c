"""``billing``: what the cloud charged, as a person and a script read it."""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
import pytest
from tests.cli.conftest import NOW, Cli, FakeApp

from jobman_core.models.billing import Bill, Lacking, Portion

USD = [Portion("TPU", "USD", 1234.5, -200.25), Portion("", "USD", 10.0, 0.0)]
BILL = Bill(
    NOW,
    NOW,
    "service",
    USD,
    [Portion("", "USD", 1244.5, -200.25)],
    ["lab.costs.export"],
    datetime(2025, 3, 9, 9, 30, tzinfo=UTC),
    3 * 2**20,
)


@pytest.fixture(autouse=True)
def billed(app: FakeApp) -> None:
    app.bill = BILL


def test_net_cost_and_credits_stand_by_service_with_how_fresh_they_are(
    cli: Cli, app: FakeApp
) -> None:
    code, out, err = cli("billing")
    assert code == 0
    head, *rows = [line.split() for line in out.splitlines() if line][1:5]
    assert head == ["SERVICE", "NET", "COST", "CREDITS", "CURRENCY"]
    assert rows == [
        ["TPU", "1,034.25", "1,234.50", "-200.25", "USD"],
        ["-", "10.00", "10.00", "0.00", "USD"],
        ["total", "1,044.25", "1,244.50", "-200.25", "USD"],
    ]
    assert "wrote its books last at 09:30:00" in out
    assert "Read were 3 MiB of lab.costs.export." in out
    assert err.startswith("warning: `jobman billing` is experimental")
    assert app.calls == [("billing", NOW - timedelta(days=30), NOW, "service")]


def test_a_span_and_a_split_are_asked_for(cli: Cli, app: FakeApp) -> None:
    argv = ("--since", "2025-03-01", "--until", "2025-03-07", "--by", "user")
    out = cli("billing", *argv).out
    assert out.startswith("charged from 2025-03-01 00:00 to 2025-03-08 00:00\n")
    assert "(no slice of jobman's)" in out
    assert app.calls[0][-1] == "user"


def test_currencies_have_a_total_each_and_are_not_added_up(cli: Cli, app: FakeApp) -> None:
    totals = [*BILL.totals, Portion("", "EUR", 5.0, 0.0)]
    app.bill = attrs.evolve(BILL, totals=totals)
    out = cli("billing").out
    assert len([line for line in out.splitlines() if line.startswith("total ")]) == 2
    assert "Currencies are not added up." in out


def test_what_to_set_up_is_told_step_by_step_and_ends_with_1(cli: Cli, app: FakeApp) -> None:
    app.bill = Lacking("no export is named", ["switch it on\x1b", "wait"])
    code, out, err = cli("billing", "--json")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "error: no export is named",
        "1. switch it on\\x1b",
        "2. wait",
        "more of it is in docs/billing.md",
    ]


def test_nothing_charged_is_said_so(cli: Cli, app: FakeApp) -> None:
    app.bill = attrs.evolve(BILL, portions=(), totals=())
    code, out, err = cli("billing")
    assert (code, out) == (0, "")
    assert "nothing was charged from 2025-02-07 14:00 to now" in err


def test_scripts_get_every_number(cli: Cli, app: FakeApp) -> None:
    found = json.loads(cli("billing", "--json").out)
    assert found["portions"][0] == {
        "name": "TPU",
        "currency": "USD",
        "net": 1034.25,
        "cost": 1234.5,
        "credits": -200.25,
    }
    assert found["portions"][1]["name"] is None
    assert (found["bytes_read"], found["experimental"]) == (3 * 2**20, True)
    assert found["written"] == "2025-03-09T09:30:00Z"


def test_spreadsheets_get_a_line_for_each_portion(cli: Cli, app: FakeApp) -> None:
    first, second = csv.DictReader(cli("billing", "--csv").out.splitlines())
    assert (first["name"], first["net"], first["credits"]) == ("TPU", "1034.25", "-200.25")
    assert second["name"] == ""
    assert cli("billing", "--csv", "--json").code == 2


def test_a_chart_is_written_where_it_is_asked_for(cli: Cli, app: FakeApp, tmp_path: Path) -> None:
    picture = tmp_path / "costs.png"
    code, _, err = cli("billing", "--plot", str(picture))
    assert code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "drew " in err
    assert cli("billing", "--plot", str(tmp_path / "costs.pdf")).code == 2
