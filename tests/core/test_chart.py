"""Charts of usage and of bills: a picture for any report, whatever the names in it."""

import logging
import struct
import sys
from datetime import UTC, date, datetime, timedelta
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib._pylab_helpers import Gcf

from jobman_core.chart import draw, span
from jobman_core.chart.bill import bars_of_bill
from jobman_core.errors import InvalidInputError
from jobman_core.models.billing import Bill, Portion
from jobman_core.models.usage import Prices, Share, Usage

SINCE = datetime(2026, 11, 24, tzinfo=UTC)
UNTIL = SINCE + timedelta(days=7)


def report(*names: str, by: str = "user", **changes: Any) -> Usage:
    plain: dict[str, Any] = {"running": 5.0, "preparing": 2.0, "idle": 3.0, "cost": 12.5}
    parts = plain | changes
    hours = parts["running"] + parts["preparing"] + parts["idle"]
    shares = tuple(Share(name, hours=hours, **parts) for name in names)
    total = Share("", hours=hours * len(names), waiting=4, **parts)
    prices = Prices(date(2026, 12, 1))
    return Usage(SINCE, SINCE + timedelta(days=7), by, shares, total, prices)


def size(png: bytes) -> tuple[int, int]:
    """Read a picture's width and height."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_chart_has_a_row_for_each_share_until_there_are_too_many() -> None:
    heights = [size(draw(report(*map(str, range(count)))))[1] for count in (0, 2, 10, 31, 99)]
    assert heights == sorted(heights)
    assert heights[2] > heights[1]
    assert heights[4] == heights[3]


@pytest.fixture(scope="module")
def plain() -> bytes:
    """Draw a chart of somebody with a usual name; it takes a while."""
    return draw(report("ada"))


@pytest.mark.parametrize(
    "name",
    [
        "$x^2$ $",
        "$",
        "\\frac{",
        "a\nb\tc\0",
        "李雷",
        "\U0001f680",
        "\u202eevil",
        "\udcff",
        "W" * 500,
    ],
)
def test_a_name_is_no_markup_and_never_a_trouble(plain: bytes, name: str) -> None:
    drawn = draw(report(name))
    assert size(drawn) == size(plain)
    assert drawn != plain


def test_dollar_signs_are_shown_as_they_are() -> None:
    assert draw(report("$x$")) != draw(report("x"))


@pytest.mark.parametrize("by", ["user", "accelerator", "job", "task", "day"])
def test_every_report_can_be_drawn(by: str) -> None:
    assert size(draw(report("a", "b", by=by)))[0] > 600
    assert draw(report(by=by))
    assert draw(report("a", by=by, running=0.0, preparing=0.0, idle=0.0, cost=None))


def test_nothing_of_matplotlib_is_left_changed() -> None:
    before, level = dict(mpl.rcParams), logging.getLogger("matplotlib").level
    draw(report("ada"))
    assert dict(mpl.rcParams) == before
    assert logging.getLogger("matplotlib").level == level
    assert not Gcf.get_all_fig_managers()


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InvalidInputError, match=r"pip install 'jobman-cli\[plot\]'"):
        draw(report("ada"))


@pytest.mark.parametrize(
    ("since", "until", "shown"),
    [
        ("2026-11-29", "2026-12-01", "2026-11-29 to 2026-11-30"),
        ("2026-11-30", "2026-12-01", "2026-11-30"),
        ("2026-11-30T18:00", "2026-12-01", "2026-11-30 18:00 to 2026-12-01 00:00"),
        ("2026-11-24", "2026-12-01T11:03", "2026-11-24 00:00 to 2026-12-01 11:03"),
    ],
)
def test_of_whole_days_the_first_and_the_last_are_named(since: str, until: str, shown: str) -> None:
    assert span(datetime.fromisoformat(since), datetime.fromisoformat(until)) == shown


def test_a_bill_is_drawn_in_the_currency_of_its_largest_sum() -> None:
    rows = [Portion(f"service {number}", "USD", 40 - number, -1) for number in range(40)]
    refund = Portion("$refund$", "USD", 0, -5)
    total, other = Portion("", "USD", 800, -45), Portion("", "EUR", 9, 0)
    bill = Bill(SINCE, UNTIL, "service", [*rows, refund, other], [other, total])
    chart = bars_of_bill(bill)
    assert chart.what[-1] == "$755 ($800 before credits)"
    assert chart.aside == "and EUR 9.00, which are not drawn"
    assert [bar.name for bar in chart.bars[-2:]] == ["service 29", "11 more"]
    assert chart.bars[0].values == (39, 1)
    assert draw(bill).startswith(b"\x89PNG")


def test_days_of_a_bill_are_drawn_to_the_last_and_nothing_charged_is_said() -> None:
    rows = [Portion(f"day {number}", "USD", 1, 0) for number in range(100)]
    bill = Bill(SINCE, UNTIL, "day", rows, [Portion("", "USD", 100, 0)])
    names = [bar.name for bar in bars_of_bill(bill).bars]
    assert (len(names), names[-1]) == (92, "day 99")
    assert draw(Bill(SINCE, UNTIL, "user")).startswith(b"\x89PNG")
