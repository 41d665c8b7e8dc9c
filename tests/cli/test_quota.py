"""``quota``: what the accounts hold and may hold, as a person and a script read it."""

import json

import attrs
import pytest
from tests.cli.conftest import Cli, FakeApp

from jobman_core.models.quota import Allowance, Holding, Sizes

HELD = Holding("gcp", "lab", "us-central2-b", "v4", "spot", ready=8, waiting=4, dead=16)
FULL = attrs.evolve(HELD, limit=28, limited_in="us-central2-b", used=28)
FREE = Holding("gcp", "lab", "us-east1-d", "v6e", "spot", limit=64, limited_in="us-east1-d", used=0)
UNSEEN = Holding("gcp", "lab", "moon-1", "", "", trouble="no\x1b answer")
ADDRESSES = Allowance("us-central2", ("us-central2-b",), "external IPs", 8, used=8, unit="")


def test_chips_stand_by_zone_family_and_pricing_with_what_is_dead(cli: Cli, app: FakeApp) -> None:
    app.holdings = [HELD]
    code, out, err = cli("quota")
    assert code == 0
    account, _, head, row = out.splitlines()
    assert account == "accounts: gcp lab"
    assert head.split() == ["ZONE", "FAMILY", "PRICING", "READY", "WAITING", "DEAD", "OF", "LIMIT"]
    assert row.split() == ["us-central2-b", "v4", "spot", "8", "4", "16", "not", "known"]
    assert "`jobman reap`" in err


def test_nothing_held_is_said_so(cli: Cli, app: FakeApp) -> None:
    assert cli("quota") == (0, "nothing is held in the zones that were asked\n", "")


def test_a_limit_that_is_reached_is_told_with_the_remedy(cli: Cli, app: FakeApp) -> None:
    app.holdings = [FULL, FREE]
    _, out, err = cli("quota")
    assert "########## 100% 28/28" in out
    assert "all 28 chips of v4 spot are held: `jobman reap` deletes what is dead" in err
    app.holdings = [attrs.evolve(FULL, ready=28, waiting=0, dead=0)]
    assert "all 28 chips of v4 spot are held: more is asked for in vain" in cli("quota").err


def test_a_limit_says_where_it_holds_and_what_counts_against_it_there(
    cli: Cli, app: FakeApp
) -> None:
    app.holdings = [attrs.evolve(HELD, limit=128, limited_in="us-central2", used=64)]
    assert "#####.....  50% 64/128 in us-central2" in cli("quota").out


def test_zones_where_nothing_is_held_stand_together_by_their_limit(cli: Cli, app: FakeApp) -> None:
    zones = [f"us-east{number}-a" for number in range(1, 8)]
    app.holdings = [attrs.evolve(FREE, zone=zone, limited_in=zone) for zone in zones]
    head, row = cli("quota").out.splitlines()[-2:]
    assert head == "FAMILY  PRICING  LIMIT  ZONES WHERE NONE IS HELD"
    assert row == "v6e     spot     64     us-east1-a, us-east2-a, us-east3-a, and 4 more"
    assert len(cli("quota", "--all").out.splitlines()) == 10


def test_what_may_not_be_held_or_has_no_limit_is_shown_on_demand_alone(
    cli: Cli, app: FakeApp
) -> None:
    none = attrs.evolve(FREE, limit=0)
    unlimited = attrs.evolve(FREE, limit=None, used=None, sizes=Sizes.ONE_HOST)
    app.holdings = [none, unlimited]
    assert cli("quota").out.startswith("nothing is held")
    out = cli("quota", "--all").out
    assert "0/0" in out
    assert "v6e one host  spot     0      0        0     no limit" in out


@pytest.mark.parametrize(
    ("options", "zones"),
    [
        (("--zone", "us-e*"), ["us-east1-d"]),
        (("--family", "v4"), ["us-central2-b"]),
        (("--family", "v5e"), ["eu-1"]),
    ],
)
def test_zones_and_families_can_be_chosen(
    cli: Cli, app: FakeApp, options: tuple[str, str], zones: list[str]
) -> None:
    app.holdings = [HELD, FREE, attrs.evolve(HELD, zone="eu-1", family="v5litepod")]
    app.others = [("gcp", "lab", ADDRESSES)]
    found = json.loads(cli("quota", "--json", *options).out)
    assert [each["zone"] for each in found["chips"]] == zones
    assert found["others"] == []


def test_what_hosts_take_stands_by_region(cli: Cli, app: FakeApp) -> None:
    idle = attrs.evolve(ADDRESSES, place="us-west1", zones=("us-west1-c",), used=0)
    app.holdings = [HELD]
    app.others = [("gcp", "lab", ADDRESSES), ("gcp", "lab", idle)]
    _, out, err = cli("quota")
    assert out.splitlines()[-1] == "us-central2  external IPs  8     ########## 100% 8/8"
    assert "gcp lab us-central2: all 8 external IPs are in use" in err
    assert "us-west1" in cli("quota", "--all").out


def test_accounts_are_told_apart_where_there_are_several(cli: Cli, app: FakeApp) -> None:
    app.holdings = [HELD, attrs.evolve(FREE, project="other")]
    out = cli("quota").out
    assert out.startswith("accounts: gcp lab, gcp other\n")
    assert "\ngcp lab us-central2-b  v4" in out
    assert out.endswith("gcp other us-east1-d\n")


def test_limits_that_could_not_be_asked_for_are_no_failure(cli: Cli, app: FakeApp) -> None:
    app.holdings = [HELD]
    app.unasked = ("limits are not known: have the role roles/x granted",)
    code, _, err = cli("quota")
    assert code == 0
    assert "have the role roles/x granted" in err
    assert json.loads(cli("quota", "--json").out)["unknown"] == [*app.unasked]


def test_a_zone_that_could_not_be_asked_is_told_and_ends_with_1(cli: Cli, app: FakeApp) -> None:
    app.holdings = [HELD, UNSEEN]
    code, out, err = cli("quota")
    assert code == 1
    assert "moon-1" not in out
    assert "warning: nothing is known of gcp lab moon-1: no\\x1b answer" in err


def test_an_account_of_which_nothing_is_known_is_told_whatever_was_chosen(
    cli: Cli, app: FakeApp
) -> None:
    app.holdings = [Holding("gcp", "", "", "", "", trouble="no credentials: log in")]
    code, out, err = cli("quota", "--zone", "us-*")
    assert (code, out) == (1, "")
    assert "warning: nothing is known of gcp: no credentials: log in" in err


def test_types_that_nobody_can_count_are_told(cli: Cli, app: FakeApp) -> None:
    app.holdings = [attrs.evolve(HELD, family="v9x-64", ready=0, uncounted=2)]
    assert "chips of 2 slices of type v9x-64 are not counted" in cli("quota").err


def test_scripts_get_null_for_what_nobody_knows(cli: Cli, app: FakeApp) -> None:
    app.holdings = [FULL, UNSEEN]
    app.others = [("gcp", "lab", ADDRESSES)]
    code, out, _ = cli("quota", "--json")
    found = json.loads(out)
    assert code == 1
    held, unseen = found["chips"]
    assert held == {
        "cloud": "gcp",
        "project": "lab",
        "zone": "us-central2-b",
        "family": "v4",
        "sizes": None,
        "pricing": "spot",
        "ready": 8,
        "waiting": 4,
        "dead": 16,
        "uncounted": 0,
        "limit": 28,
        "limited_in": "us-central2-b",
        "used": 28,
        "error": None,
    }
    assert (unseen["ready"], unseen["dead"], unseen["limit"]) == (None, None, None)
    assert unseen["error"] == "no\x1b answer"
    assert found["others"] == [
        {
            "cloud": "gcp",
            "project": "lab",
            "place": "us-central2",
            "what": "external IPs",
            "unit": None,
            "used": 8,
            "limit": 8,
        }
    ]
