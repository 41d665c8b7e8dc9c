"""What a chip-hour costs: by the lab, else by the public list."""

from datetime import date
from typing import Any

import pytest

from jobman_core.models.accelerator import FAMILIES
from jobman_core.models.settings import Settings
from jobman_core.prices import tariff_of


def rate(pricing: str = "spot", zone: str = "us-east5-b", cloud: str = "gcp", **said: Any) -> Any:
    return tariff_of(Settings(**said)).rate(cloud, "v6e", zone, pricing)


def test_the_list_says_what_each_family_costs_in_a_region_and_where_that_comes_from() -> None:
    tariff = tariff_of(Settings())
    assert tariff.prices.of is not None
    assert tariff.prices.currency == "USD"
    assert "list prices of Google Cloud" in tariff.prices.source
    assert set(tariff.listed) == set(FAMILIES)
    assert tariff.rate("gcp", "v4", "us-central2-b", "ondemand") == 3.22
    for family, entry in tariff.listed.items():
        assert isinstance(entry, dict)
        for zone in entry["zones"]:
            on_demand = tariff.rate("gcp", family, f"{zone}-a", "ondemand")
            spot = tariff.rate("gcp", family, f"{zone}-a", "spot")
            assert on_demand
            assert spot is None or 0 < spot < on_demand


def test_that_the_lab_has_prices_of_its_own_is_said() -> None:
    said = tariff_of(Settings(prices={"v4": 2})).prices.source
    assert said == "this lab's own, else list prices of Google Cloud"


def test_preemptible_costs_what_spot_does() -> None:
    assert rate("preemptible") == rate("spot")
    assert rate("spot") < rate("ondemand")


def test_a_region_that_is_not_on_the_list_has_no_price() -> None:
    assert rate(zone="mars-north1-a") is None


def test_of_another_cloud_the_list_says_nothing_and_this_machine_is_free() -> None:
    assert rate(cloud="pods") is None
    assert rate(cloud="local") == 0
    assert rate(cloud="pods", prices={"v6e": 2}) == 2


@pytest.mark.parametrize(
    ("said", "spot", "on_demand"),
    [
        (1.5, 1.5, 1.5),
        ({"spot": 0.5}, 0.5, 2.7),
        ({"ondemand": 2, "zones": {"us-east5": 1}}, 1, 1),
        ({"spot": 3, "zones": {"us-east5-b": {"spot": 0.1}, "us-east5": {"ondemand": 2}}}, 0.1, 2),
        ({"spot": 0}, 0, 2.7),
    ],
)
def test_what_the_lab_says_beats_the_list_the_nearest_place_first(
    said: object, spot: float, on_demand: float
) -> None:
    prices = {"v6e": said}
    assert rate("spot", prices=prices) == spot
    assert rate("ondemand", prices=prices) == on_demand


def test_v5e_is_v5litepod() -> None:
    tariff = tariff_of(Settings(prices={"v5e": 7}))
    assert tariff.rate("gcp", "v5litepod", "us-east5-a", "spot") == 7


def test_in_another_currency_only_the_labs_own_prices_hold() -> None:
    said: dict[str, Any] = {"currency": "EUR", "prices": {"v4": 3}, "prices_of": "2026-11-30"}
    assert rate(**said) is None
    tariff = tariff_of(Settings(**said))
    assert tariff.rate("gcp", "v4", "anywhere", "spot") == 3
    assert tariff.prices.of == date(2026, 11, 30)
    assert (tariff.prices.currency, tariff.prices.source) == ("EUR", "")
