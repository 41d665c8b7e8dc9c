"""What the accounts of a home hold."""

from pathlib import Path

from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.errors import InvalidInputError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.models.reap import Holding, KeptSlice
from jobman_core.models.slice import Present, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.zone import Zone
from jobman_core.plugins import Plugins
from jobman_core.quota import Accounts, count
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
            listed("v4-16", SlicePhase.READY),
            listed("v4-8", SlicePhase.PENDING),
            listed("v4-8", SlicePhase.LOST),
            listed("v4-8", SlicePhase.DELETING),
            listed("v4-8", SlicePhase.READY, "ondemand"),
            listed("v5e-16", SlicePhase.LOSING),
        ],
    )
    assert found == [
        Holding("fake", "lab", "zone-a", "v4", "ondemand", ready=4),
        Holding("fake", "lab", "zone-a", "v4", "spot", ready=12, waiting=4, dead=8),
        Holding("fake", "lab", "zone-a", "v5litepod", "spot", dead=16),
    ]


def test_types_that_are_new_or_not_told_are_not_taken_for_nothing() -> None:
    new, untold = count(ZONE, [listed("v9x-64", SlicePhase.READY), listed("", SlicePhase.LOST)])[
        ::-1
    ]
    assert (new.family, new.ready, new.uncounted) == ("v9x-64", 0, 1)
    assert (untold.family, untold.dead, untold.uncounted) == ("", 0, 1)


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
    held, unseen = await Accounts(find, clock).holdings(known)
    assert held == Holding("fake", "usual", "zone-a", "v4", "spot", ready=4)
    assert cloud.lists == ["zone-a"]
    assert unseen.trouble == "no cloud 'moon': install its plugin"
    cloud.unlisted = "busy"
    mine = await with_accounts(zones[:1], find, "mine")
    (busy,) = await Accounts(find, clock).holdings(mine)
    assert (busy.project, busy.trouble) == ("mine", "busy")


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
        local, moon = await app.quota()
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
