"""What clouds charged, added up."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from jobman_core import hookimpl
from jobman_core.app import App
from jobman_core.billing import bill_of, check_split
from jobman_core.builtin import builtins
from jobman_core.errors import InvalidInputError
from jobman_core.home import Home
from jobman_core.interfaces.cloud import Cloud
from jobman_core.models.billing import Bill, Charge, Charges, Lacking, Portion
from jobman_core.plugins import Plugins
from jobman_core.testing.fakes import FakeCloud

SINCE, UNTIL = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)


def charge(day: int, service: str, user: str, cost: float, off: float = 0.0) -> Charge:
    return Charge(date(2026, 11, day), service, user, "USD", cost, off)


CHARGES = [
    charge(2, "TPU", "ada", 10, -4),
    charge(1, "TPU", "bob", 3),
    charge(2, "Storage", "", 5),
    Charge(date(2026, 11, 2), "TPU", "ada", "EUR", 100),
]
BOOKS = Charges(CHARGES, "books", datetime(2026, 11, 30, 5, tzinfo=UTC), read=7)


def portions(by: str) -> list[tuple[str, str, float]]:
    bill = bill_of([BOOKS], SINCE, UNTIL, by=by)
    return [(each.name, each.currency, each.net) for each in bill.portions]


def test_net_is_cost_and_credits_and_the_dearest_comes_first() -> None:
    assert portions("service") == [("TPU", "EUR", 100), ("TPU", "USD", 9), ("Storage", "USD", 5)]
    assert portions("user") == [
        ("ada", "EUR", 100),
        ("ada", "USD", 6),
        ("", "USD", 5),
        ("bob", "USD", 3),
    ]


def test_days_come_in_their_order() -> None:
    assert portions("day") == [
        ("2026-11-01", "USD", 3),
        ("2026-11-02", "EUR", 100),
        ("2026-11-02", "USD", 11),
    ]


def test_currencies_have_a_total_each() -> None:
    assert bill_of([BOOKS], SINCE, UNTIL, by="day").totals == [
        Portion("", "USD", 18, -4),
        Portion("", "EUR", 100, 0),
    ]


def test_books_of_several_clouds_are_as_old_as_the_oldest() -> None:
    older = Charges([], "others", datetime(2026, 11, 29, tzinfo=UTC), read=1)
    bill = bill_of([BOOKS, older], SINCE, UNTIL, by="day")
    assert (bill.written, bill.read, bill.sources) == (older.written, 8, ["books", "others"])


def test_what_nobody_can_answer_is_refused_before_a_cloud_is_asked() -> None:
    with pytest.raises(InvalidInputError, match="use one of day, service, user"):
        check_split(SINCE, UNTIL, "sku")
    with pytest.raises(InvalidInputError, match="ends before it begins"):
        check_split(UNTIL, SINCE, "day")


class Billing(FakeCloud):
    """Has books of November."""

    async def costs(self, since: datetime, until: datetime, zone: str) -> Charges | Lacking:
        self.charged = Lacking("no books") if zone == "+05:30" else BOOKS
        return await super().costs(since, until, zone)


class Brings:
    """A plugin with a cloud."""

    def __init__(self, cloud: type[Cloud]) -> None:
        self._cloud = cloud

    @hookimpl
    def jobman_clouds(self) -> list[type[Cloud]]:
        return [self._cloud]


def app_of(root: Path, cloud: type[Cloud], settings: str = "") -> App:
    (root / "jobs/.jobman").mkdir(parents=True)
    (root / "jobman.yaml").write_text(settings)
    plugins = Plugins(lambda: {**builtins(), "cloud": Brings(cloud)}, disabled="gcp")
    return App(Home(root), user="ada", plugins=plugins)


async def test_a_bill_of_a_home_is_of_the_clouds_that_have_books(tmp_path: Path) -> None:
    async with app_of(tmp_path, Billing, "time_zone: Europe/Paris\n") as app:
        bill = await app.billing(SINCE, datetime(2026, 11, 2, tzinfo=UTC), by="user")
    assert isinstance(bill, Bill)
    assert [each.name for each in bill.portions] == ["bob"]


async def test_days_of_a_zone_without_a_name_and_lacking_books(tmp_path: Path) -> None:
    async with app_of(tmp_path, Billing) as app:
        since = datetime.fromisoformat("2026-11-01T00:00:00+05:30")
        assert await app.billing(since, UNTIL) == Lacking("no books")


class Free(FakeCloud):
    """Charges nothing."""

    bills = False


async def test_without_a_cloud_that_has_books_it_is_said_what_to_install(tmp_path: Path) -> None:
    async with app_of(tmp_path, Free) as app:
        with pytest.raises(InvalidInputError, match="pip install jobman-gcp"):
            await app.billing(SINCE, UNTIL)
