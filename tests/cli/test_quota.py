"""``quota``: what the accounts hold, as a person and a script read it."""

import json

import attrs
from tests.cli.conftest import Cli, FakeApp

from jobman_core.models.reap import Holding

HELD = Holding("gcp", "lab", "us-central2-b", "v4", "spot", ready=8, waiting=4, dead=16)


def test_chips_stand_by_place_family_and_pricing_with_what_is_dead(cli: Cli, app: FakeApp) -> None:
    app.holdings = [HELD]
    code, out, err = cli("quota")
    assert code == 0
    head, row = out.splitlines()
    assert head.split() == ["PLACE", "FAMILY", "PRICING", "READY", "WAITING", "DEAD", "LIMIT"]
    assert row.split() == [
        *["gcp", "lab", "us-central2-b", "v4", "spot", "8", "4", "16", "not", "asked"]
    ]
    assert "`jobman reap`" in err


def test_nothing_held_is_said_so(cli: Cli, app: FakeApp) -> None:
    assert cli("quota") == (0, "nothing is held in the zones that this home knows\n", "")


def test_a_zone_that_could_not_be_asked_is_told_and_ends_with_1(cli: Cli, app: FakeApp) -> None:
    app.holdings = [HELD, Holding("gcp", "", "moon-1", "", "", trouble="no\x1b answer")]
    code, out, err = cli("quota")
    assert code == 1
    assert len(out.splitlines()) == 2
    assert "warning: nothing is known of gcp moon-1: no\\x1b answer" in err


def test_types_that_nobody_can_count_are_told(cli: Cli, app: FakeApp) -> None:
    app.holdings = [attrs.evolve(HELD, family="v9x-64", ready=0, uncounted=2)]
    assert "chips of 2 slices of type v9x-64 are not counted" in cli("quota").err


def test_scripts_get_null_for_what_nobody_knows(cli: Cli, app: FakeApp) -> None:
    app.holdings = [HELD, Holding("gcp", "", "moon-1", "", "", trouble="no answer")]
    code, out, _ = cli("quota", "--json")
    held, unseen = json.loads(out)
    assert code == 1
    assert held == {
        "cloud": "gcp",
        "project": "lab",
        "zone": "us-central2-b",
        "family": "v4",
        "pricing": "spot",
        "ready": 8,
        "waiting": 4,
        "dead": 16,
        "uncounted": 0,
        "limit": None,
        "error": None,
    }
    assert (unseen["ready"], unseen["dead"], unseen["error"]) == (None, None, "no answer")
