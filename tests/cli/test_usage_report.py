"""``usage``: what a person, a script and a spreadsheet read of chip-hours."""

import csv
import io
import itertools
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from tests.cli.conftest import NOW

from jobman_core.models.usage import Prices, Share

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp

ADA = Share("ada", 1234.5, 1000, 34.5, 200, 77, 4321.5, 3, 12, 1)
BOB = Share("bob", 8, 0, 0, 8, 0, None)


@pytest.fixture(autouse=True)
def used(app: "FakeApp") -> None:
    app.shares = [ADA, BOB]
    app.time_zone = "Europe/Paris"


def asked(app: "FakeApp") -> tuple[datetime, datetime, str, bool]:
    """Give what the home was asked for."""
    (call,) = (call for call in app.calls if call[0] == "usage")
    _, since, until, by, mine = call
    return since, until, by, mine


def test_a_report_is_a_table_that_fits_a_terminal(cli: "Cli", app: "FakeApp") -> None:
    app.recovery = 750
    code, out, _ = cli("usage", tty=True)
    assert code == 0
    assert out.splitlines() == [
        "chip-hours from 2025-03-02 15:00 to now",
        "",
        "USER   HOURS  RUN  PREP  IDLE  WAITED  LOST  DONE  FAILED      COST",
        "ada    1,234  81%    3%   16%    77.0     3    12       1  4,321.50",
        "bob      8.0   0%    0%  100%       0     0     0       0         -",
        "total  1,242  80%    3%   17%    77.0     3    12       1     12.50",
        "",
        "RUN, PREP and IDLE are parts of HOURS, which are paid for; WAITED is not.",
        "From the loss of a slice to the next start it took 12m 30s on average.",
        "COST is an estimate in USD, by prices of 2025-03-01: a list of prices.",
    ]
    assert all(len(line) <= 80 for line in out.splitlines())


def test_costs_by_prices_of_no_list_are_said_to_be_by_the_labs_own(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.prices = Prices(None, "EUR")
    assert "COST is an estimate in EUR, by the lab's own prices.\n" in cli("usage").out


def test_long_names_and_large_numbers_fit_a_terminal(cli: "Cli", app: "FakeApp") -> None:
    app.shares = [Share("n" * 60, 123456.7, 123456.7, 0, 0, 98765, 7654321.5, 321, 4567, 890)]
    _, out, _ = cli("usage", tty=True)
    assert all(len(line) <= 80 for line in out.splitlines())


def test_a_week_by_user_is_what_is_shown_unless_something_else_is_asked_for(
    cli: "Cli", app: "FakeApp"
) -> None:
    cli("usage")
    assert asked(app) == (NOW - timedelta(days=7), NOW, "user", False)


@pytest.mark.parametrize(
    ("argv", "since", "until"),
    [
        (["--since", "36h"], "2025-03-08T03:00+01:00", "2025-03-09T15:00+01:00"),
        (["--since", "2025-03-01"], "2025-03-01T00:00+01:00", "2025-03-09T15:00+01:00"),
        (
            ["--since", "2025-03-01", "--until", "2025-03-01"],
            "2025-03-01T00:00+01:00",
            "2025-03-02T00:00+01:00",
        ),
        (["--until", "2025-03-09 08:30"], "2025-03-02T15:00+01:00", "2025-03-09T08:30+01:00"),
        (["--since", "2025-03-01T10:00Z"], "2025-03-01T11:00+01:00", "2025-03-09T15:00+01:00"),
        # A day of the past has the offset of its own season.
        (["--since", "2024-07-01"], "2024-07-01T00:00+02:00", "2025-03-09T15:00+01:00"),
    ],
)
def test_times_are_those_of_the_homes_zone_and_a_last_day_is_whole(
    cli: "Cli", app: "FakeApp", argv: list[str], since: str, until: str
) -> None:
    assert cli("usage", *argv).code == 0
    first, last, *_ = asked(app)
    assert (first, last) == (datetime.fromisoformat(since), datetime.fromisoformat(until))
    assert first.tzinfo == last.tzinfo == ZoneInfo("Europe/Paris")


@pytest.mark.parametrize(
    ("span", "since"),
    # Clocks went from 2 to 3 in the night.
    [("12h", "2025-03-29T23:00+01:00"), ("1d", "2025-03-29T12:00+01:00")],
)
def test_hours_are_as_long_as_any_on_the_day_on_which_clocks_are_put(
    cli: "Cli", app: "FakeApp", span: str, since: str
) -> None:
    cli.clock = lambda: datetime(2025, 3, 30, 10, tzinfo=UTC)
    assert cli("usage", "--since", span).code == 0
    assert asked(app)[0].astimezone(UTC) == datetime.fromisoformat(since)


@pytest.mark.parametrize("when", ["yesterday", "7", "-1d", "2025-13-01", "999999w", ""])
def test_what_is_no_moment_is_told_with_how_to_write_one(cli: "Cli", when: str) -> None:
    code, out, err = cli("usage", f"--since={when}")
    assert (code, out) == (2, "")
    assert err.startswith(f"error: --since {when!r} is no moment: write 12h, 7d, a day like")


def test_it_is_split_and_narrowed_as_asked(cli: "Cli", app: "FakeApp") -> None:
    app.shares = [Share("000012", 1, note="train_1")]
    _, out, _ = cli("usage", "--by", "job", "--mine")
    assert asked(app)[2:] == ("job", True)
    assert "\n000012 train_1 " in out


def test_a_home_without_use_says_so(cli: "Cli", app: "FakeApp") -> None:
    app.shares = []
    code, out, err = cli("usage")
    assert (code, out) == (0, "")
    assert err == "nothing was used from 2025-03-02 15:00 to now\n"


def test_a_report_up_to_now_says_so_however_long_it_took(cli: "Cli") -> None:
    times = itertools.count()
    cli.clock = lambda: NOW + timedelta(seconds=next(times))
    assert cli("usage").out.startswith("chip-hours from 2025-03-02 15:00 to now\n")
    assert " to 2025-03-09 00:00\n" in cli("usage", "--until", "2025-03-08").out


def test_what_should_be_known_of_the_numbers_is_told_beside_them(
    cli: "Cli", app: "FakeApp"
) -> None:
    app.notes = ("no price is known of v9",)
    assert cli("usage").err == "no price is known of v9\n"
    assert cli("usage", "-q").err == ""


def test_a_script_gets_all_numbers(cli: "Cli", app: "FakeApp") -> None:
    app.notes = ("a note",)
    document = json.loads(cli("usage", "--json", "-q").out)
    shares = document.pop("shares")
    total = document.pop("total")
    assert document == {
        "since": "2025-03-02T14:00:00Z",
        "until": "2025-03-09T14:00:00Z",
        "by": "user",
        "currency": "USD",
        "prices_of": "2025-03-01",
        "recovery_seconds": None,
        "notes": ["a note"],
    }
    assert shares[0] == {
        "name": "ada",
        "note": None,
        "hours": 1234.5,
        "running": 1000,
        "preparing": 34.5,
        "idle": 200,
        "waiting": 77,
        "goodput": 0.81,
        "cost": 4321.5,
        "preemptions": 3,
        "finished": 12,
        "failed": 1,
    }
    assert shares[1]["cost"] is None
    assert total["hours"] == 1242.5


def test_a_script_gets_an_empty_report_too(cli: "Cli", app: "FakeApp") -> None:
    app.shares = []
    assert json.loads(cli("usage", "--json").out)["shares"] == []


def test_a_spreadsheet_gets_text_and_never_a_formula(cli: "Cli", app: "FakeApp") -> None:
    names = ["=1+1", "+1", "-2", "@x", "\ttab", "\rback", "a,b", 'say "hi"', "a\nb", "nul\0", "x=1"]
    app.shares = [Share(name, 1.5, note="", cost=None) for name in names]
    out = cli("usage", "--csv").out
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert [row["name"] for row in rows] == [
        "'=1+1", "'+1", "'-2", "'@x", "'\ttab", "'\nback", "a,b", 'say "hi"', "a\nb", "nul", "x=1"
    ]  # fmt: skip
    assert rows[0]["hours"] == "1.5"
    assert rows[0]["cost"] == ""
    assert out.startswith("name,note,hours,running,preparing,idle,waiting,goodput,cost,")


def test_a_chart_is_written_besides(cli: "Cli", app: "FakeApp", tmp_path: Path) -> None:
    path = tmp_path / "usage.png"
    code, out, err = cli("usage", "--by", "day", "--plot", str(path))
    assert (code, err) == (0, f"drew {path}\n")
    assert "chip-hours from" in out
    assert path.read_bytes() == b"\x89PNG of day"


def test_no_chart_is_drawn_unless_it_is_asked_for(cli: "Cli", app: "FakeApp") -> None:
    cli("usage")
    assert all(call[0] != "chart" for call in app.calls)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--plot", "usage.pdf"], "a chart is a PNG, which 'usage.pdf' does not say: call it"),
        (["--plot", "/nowhere/usage.png"], "cannot be written to /nowhere/usage.png (No such file"),
        (["--csv", "--json"], "--csv and --json are two ways to print the same: choose one"),
    ],
)
def test_what_cannot_be_done_is_told(cli: "Cli", argv: list[str], told: str) -> None:
    code, out, err = cli("usage", *argv)
    assert (code, out) == (2, "")
    assert told in err


def test_hostile_names_do_not_steer_a_terminal(cli: "Cli", app: "FakeApp") -> None:
    app.shares = [Share("\x1b[31mred\n", 1)]
    app.notes = ("no price of \x1b[2J",)
    _, out, err = cli("usage", tty=True)
    assert "\x1b" not in out + err
