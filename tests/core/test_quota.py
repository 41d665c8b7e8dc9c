"""What the accounts of a home hold."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.errors import InvalidInputError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.models.quota import Allowance, Allowances, Holding, Sizes
from jobman_core.models.reap import KeptSlice
from jobman_core.models.slice import Present, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.zone import Zone
from jobman_core.plugins import Plugins
from jobman_core.quota import Accounts, count, holdings
from jobman_core.territory import with_accounts
from jobman_core.testing.fakes import FakeClock, FakeCloud

ZONE = Zone("fake", "zone-a", "lab")


def listed(accelerator: str, phase: SlicePhase, pricing: str = "spot") -> Listed:
    return Listed("x", "zone-a", Present(phase, "X"), "1", accelerator, pricing)


def test_chips_are_counted_by_family_and_pricing_and_how_they_stand() -> None:
    found = count(
        ZONE,
        [
            listed("v4-8", SlicePhase.READY),
            listed("v4-16", SlicePhase.READY, "preemptible"),
            listed("v4-8", SlicePhase.PENDING),
            listed("v4-8", SlicePhase.LOST),
            listed("v4-8", SlicePhase.DELETING),
            listed("v4-8", SlicePhase.READY, "ondemand"),
            listed("v5e-16", SlicePhase.LOSING),
        ],
    )
    assert [*found.values()] == [
        Holding("fake", "lab", "zone-a", "v4", "spot", ready=12, waiting=4, dead=8),
        Holding("fake", "lab", "zone-a", "v4", "ondemand", ready=4),
        Holding("fake", "lab", "zone-a", "v5litepod", "spot", dead=16),
    ]


def test_types_that_are_new_or_not_told_are_not_taken_for_nothing() -> None:
    types = [listed("v9x-64", SlicePhase.READY), listed("", SlicePhase.LOST)]
    new, untold = count(ZONE, types).values()
    assert (new.family, new.ready, new.uncounted) == ("v9x-64", 0, 1)
    assert (untold.family, untold.dead, untold.uncounted) == ("", 0, 1)


def allowance(limit: int | None, *zones: str, place: str = "", **about: Any) -> Allowance:
    about = {"what": "v4", "pricing": "spot", **about}
    return Allowance(place or zones[0], zones, limit=limit, **about)


def limits(allowed: list[Allowance], looks: dict[str, list[Listed]]) -> dict[tuple[str, ...], Any]:
    """Give limit, its place, and what counts against it, by zone, family, pricing and sizes."""
    found = holdings({Zone("fake", name, "lab"): look for name, look in looks.items()}, allowed)
    return {
        (one.zone, one.family, one.pricing, one.sizes): (one.limit, one.limited_in, one.used)
        for one in found
    }


def test_the_tightest_limit_is_told_with_all_that_counts_against_it() -> None:
    ready = [listed("v4-16", SlicePhase.READY)]
    allowed = [
        allowance(16, "zone-a"),
        allowance(None, "zone-b"),
        allowance(12, "zone-a", "zone-b", place="region"),
    ]
    found = limits(allowed, {"zone-a": ready, "zone-b": ready})
    assert found["zone-a", "v4", "spot", ""] == (12, "region", 16)
    assert found["zone-b", "v4", "spot", ""] == (12, "region", 16)
    found = limits([*allowed, allowance(2, "zone-b")], {"zone-a": ready, "zone-b": ready})
    assert found["zone-b", "v4", "spot", ""] == (2, "zone-b", 8)


def test_what_may_be_held_and_is_not_is_told_and_nothing_of_it_elsewhere() -> None:
    allowed = [allowance(64, "zone-a", what="v6e"), allowance(64, "nowhere", what="v6e")]
    assert limits(allowed, {"zone-a": []}) == {("zone-a", "v6e", "spot", ""): (64, "zone-a", 0)}


def test_a_family_without_a_limit_is_told_from_one_of_which_nothing_is_known() -> None:
    looks = {"zone-a": [listed("v4-8", SlicePhase.READY), listed("v6e-8", SlicePhase.READY)]}
    found = limits([allowance(None, "zone-a")], looks)
    assert found["zone-a", "v4", "spot", ""] == (None, "zone-a", None)
    assert found["zone-a", "v6e", "spot", ""] == (None, "", None)


def test_slices_of_one_host_and_larger_ones_are_counted_apart_where_limits_are() -> None:
    allowed = [
        allowance(8, "zone-a", what="v5litepod", sizes=Sizes.ONE_HOST),
        allowance(64, "zone-a", what="v5litepod", sizes=Sizes.MANY_HOSTS),
    ]
    types = [listed("v5e-4", SlicePhase.READY), listed("v5e-16", SlicePhase.LOST)]
    assert limits(allowed, {"zone-a": types}) == {
        ("zone-a", "v5litepod", "spot", "one host"): (8, "zone-a", 4),
        ("zone-a", "v5litepod", "spot", "pods"): (64, "zone-a", 16),
    }


class Projects(FakeCloud):
    """One with an account that is usual there."""

    async def project_of(self, request: SliceRequest) -> str:
        return str(self.option(request, "project", "usual"))


async def test_each_zone_is_asked_once_and_one_without_answer_is_told(tmp_path: Path) -> None:
    clock = FakeClock(auto=True)
    cloud = Projects(Context(tmp_path, "home-1", clock))
    request = SliceRequest("fake", "v4-8", "zone-a", "spot")
    await cloud.create(SliceIdentity("theirs", "zone-a", "home-2", "eve", "000001", 1), request)

    def find(name: str) -> Cloud:
        if name != "fake":
            raise InvalidInputError(f"no cloud {name!r}: install its plugin")
        return cloud

    zones = [Zone("fake", "zone-a"), Zone("fake", "zone-a", "usual"), Zone("moon", "zone-b")]
    known = await with_accounts(zones, find, None)
    asked = await Accounts(find, clock).quota(known, [("fake", "usual")])
    held, unseen = asked.holdings
    assert held == Holding("fake", "usual", "zone-a", "v4", "spot", ready=4)
    assert cloud.lists == ["zone-a"]
    assert unseen.trouble == "no cloud 'moon': install its plugin"
    cloud.unlisted = "busy"
    mine = await with_accounts(zones[:1], find, "mine")
    asked = await Accounts(find, clock).quota(mine, [("fake", "mine")])
    (busy,) = asked.holdings
    assert (busy.project, busy.zone, busy.trouble) == ("mine", "zone-a", "busy")


async def test_zones_come_from_the_account_with_what_may_be_held_there(tmp_path: Path) -> None:
    clock = FakeClock(auto=True)
    cloud = FakeCloud(Context(tmp_path, "home-1", clock))
    cloud.known_zones = ("zone-b", "zone-a")
    others = (Allowance("region", ("zone-a",), "external IPs", 8, used=3, unit=""),)
    cloud.allowed = Allowances((allowance(32, "zone-b"),), others, ("no word on disks",))
    found = await Accounts(lambda _: cloud, clock).quota([Zone("fake", "zone-c")], [("fake", "")])
    assert sorted(cloud.lists) == ["zone-a", "zone-b", "zone-c"]
    assert [(one.zone, one.limit) for one in found.holdings] == [("zone-b", 32)]
    assert found.others == (("fake", "", others[0]),)
    assert found.unknown == ("no word on disks",)


async def test_an_account_that_cannot_be_asked_for_its_zones_is_told(tmp_path: Path) -> None:
    clock = FakeClock(auto=True)
    cloud = FakeCloud(Context(tmp_path, "home-1", clock))
    cloud.unlisted = "no credentials"
    found = await Accounts(lambda _: cloud, clock).quota([], [("fake", "lab")])
    assert found.holdings == (Holding("fake", "lab", "", "", "", trouble="no credentials"),)


async def test_a_zone_that_does_not_answer_does_not_hold_up_the_others(tmp_path: Path) -> None:
    class Slow(FakeCloud):
        async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
            if zone == "zone-b":
                await asyncio.Event().wait()
            return await super().list_slices(zone, project)

    clock = FakeClock(auto=True)
    cloud = Slow(Context(tmp_path, "home-1", clock))
    cloud.known_zones = ("zone-a", "zone-b")
    cloud.allowed = Allowances((allowance(32, "zone-a", "zone-b"),))
    found = await Accounts(lambda _: cloud, clock).quota([], [("fake", "")])
    quick, slow = found.holdings
    assert (quick.zone, quick.limit) == ("zone-a", 32)
    assert "no answer within 30 s" in slow.trouble


async def test_a_home_counts_what_it_keeps_alive_and_the_places_of_its_settings(
    tmp_path: Path,
) -> None:
    (tmp_path / "jobs/.jobman").mkdir(parents=True)
    (tmp_path / "jobman.yaml").write_text("reap: {places: [{cloud: moon, zone: crater}]}\n")
    plugins = Plugins.from_environment(builtins)
    async with App(Home(tmp_path), user="ada", plugins=plugins) as app:
        spare = KeptSlice("spare", "v4-8", "local", cloud="local")
        (line,) = await app.keep([spare])
        assert line.startswith("asks for kept slice spare")
        local, moon = (await app.quota()).holdings
        assert (local.cloud, local.zone, local.family) == ("local", "local", "v4")
        assert local.ready + local.waiting == 4
        assert "moon" in moon.trouble
        await app.keep([])


async def test_a_reaper_looks_where_slices_are_kept_alive_too(tmp_path: Path) -> None:
    (tmp_path / "jobs/.jobman").mkdir(parents=True)
    plugins = Plugins.from_environment(builtins)
    async with App(Home(tmp_path), user="ada", plugins=plugins) as app:
        assert (await app.reap(dry_run=True)).looked == ()
        await app.keep([KeptSlice("spare", "v4-8", "local", cloud="local")])
        assert (await app.reap(dry_run=True)).looked == ("local",)
        await app.keep([])
