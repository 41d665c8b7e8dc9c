"""Slices that are kept alive."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.errors import (
    InvalidInputError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Cloud
from jobman_core.keep.keeper import Keeper
from jobman_core.keep.policy import Act, Memory, Verdict, judge
from jobman_core.models.reap import KEPT, KeptSlice
from jobman_core.models.slice import (
    Absent,
    Observation,
    Present,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
    Unknown,
)
from jobman_core.testing.fakes import FakeClock, FakeCloud, LateRefusal

SPARE = KeptSlice("spare", "v4-8", "zone-a", cloud="fake")
NOW = FakeClock().now()


def seen(phase: SlicePhase, state: str = "X", **labels: str) -> Present:
    ours = SliceIdentity("spare", "zone-a", "home-1", "lab", KEPT, 3).labels
    return Present(phase, state, labels={**ours, **labels})


def decided(look: Observation, memory: Memory = Memory(3)) -> Verdict:  # noqa: B008 - frozen
    return judge(SPARE, "home-1", look, memory, NOW)


@pytest.mark.parametrize(
    ("look", "act"),
    [
        (Unknown("no answer"), Act.NOTHING),
        (seen(SlicePhase.READY), Act.NOTHING),
        (seen(SlicePhase.PENDING), Act.NOTHING),
        (seen(SlicePhase.LOSING, "SUSPENDING"), Act.NOTHING),
        (seen(SlicePhase.DELETING), Act.NOTHING),
        (seen(SlicePhase.LOST, "PREEMPTED"), Act.DELETE),
        (seen(SlicePhase.LOST, "SUSPENDED"), Act.DELETE),
        (Absent(), Act.ASK),
    ],
)
def test_what_is_dead_is_deleted_and_only_what_is_absent_is_asked_for(
    look: Observation, act: Act
) -> None:
    assert decided(look).act is act


@pytest.mark.parametrize(
    "labels",
    [
        {"jobman-home": "home-2"},
        {"jobman-job": "000001"},
        {"jobman-generation": "many"},
    ],
)
@pytest.mark.parametrize("phase", SlicePhase)
def test_what_others_call_so_is_never_touched_and_told_once(
    phase: SlicePhase, labels: dict[str, str]
) -> None:
    first = decided(seen(phase, **labels))
    assert first.act is Act.NOTHING
    assert "left alone" in first.line
    assert decided(seen(phase, **labels), first.memory) == Verdict(Act.NOTHING, first.memory)
    assert decided(Present(phase, "X")).act is Act.NOTHING


def test_a_moment_that_a_wrong_clock_wrote_down_is_not_waited_for() -> None:
    words = decided(Absent()).memory.asked
    wait = Memory(3, due=NOW + timedelta(minutes=5), asked=words)
    assert decided(Absent(), wait).act is Act.NOTHING
    late = attrs.evolve(wait, due=NOW + timedelta(days=400))
    assert decided(Absent(), late).act is Act.ASK


def test_what_is_remembered_is_read_as_it_was_written() -> None:
    memory = Memory(3, open=True, refusals=2, due=NOW, asked="v4-8", told=("x",))
    assert Memory.read(memory.written()) == memory
    assert Memory.read({}) == Memory()


class Home:
    """A home that keeps slices, called again and again."""

    def __init__(self, store: SqliteStore, clock: FakeClock) -> None:
        self.store, self.clock = store, clock
        self.cloud = FakeCloud(Context(Path("/nowhere"), "home-1", clock))

    def keeper(self) -> Keeper:
        def find(name: str) -> Cloud:
            if name != "fake":
                raise InvalidInputError(f"no cloud {name!r}: install its plugin")
            return self.cloud

        return Keeper(self.store, find, "home-1", "lab", self.clock)

    async def keep(self, *kept: KeptSlice, after: float = 60.0) -> list[str]:
        await self.clock.advance(after)
        return list(await self.keeper().keep(kept or [SPARE]))

    @property
    def generation(self) -> int:
        return self.cloud.slices["spare"].identity.generation


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    clock = FakeClock()
    store = SqliteStore(Context(tmp_path, "", clock))
    await store.open()
    yield Home(store, clock)
    await store.aclose()


async def test_a_slice_that_dies_is_deleted_seen_absent_and_asked_for_again(home: Home) -> None:
    assert await home.keep() == [
        "asks for kept slice spare: v4-8 in zone-a, spot, queued-resources"
    ]
    assert await home.keep() == ["kept slice spare is ready"]
    assert await home.keep() == []
    home.cloud.force("spare", SlicePhase.LOST, "PREEMPTED")
    assert await home.keep() == [
        "kept slice spare is PREEMPTED: it is deleted, and asked for again"
    ]
    assert [line[:8] for line in await home.keep()] == ["asks for"]
    assert await home.keep() == ["kept slice spare is ready"]
    assert home.generation == 2
    assert home.cloud.calls == ["create spare", "delete spare", "create spare"]
    identity = home.cloud.slices["spare"].identity
    assert (identity.home, identity.owner, identity.job) == ("home-1", "lab", KEPT)


async def test_without_capacity_it_is_asked_for_ever_more_seldom_and_told_once(home: Home) -> None:
    home.cloud.capacity["zone-a"] = 0
    lines = [line for _ in range(60) for line in await home.keep()]
    assert len(lines) == 2
    assert "no capacity" in lines[1]
    # At 0, 1, 3, 7 and 15 minutes, and every ten from then on.
    assert len(home.cloud.calls) == 9
    home.cloud.capacity["zone-a"] = 1
    assert [line for _ in range(12) for line in await home.keep()] == ["kept slice spare is ready"]


async def test_a_refusal_for_good_is_told_once_and_tried_daily_or_when_the_list_changes(
    home: Home,
) -> None:
    home.cloud.refusals.extend(PermanentCloudError("no such type there") for _ in range(3))
    assert "no such type there" in (await home.keep())[1]
    assert [line for _ in range(20) for line in await home.keep(after=600)] == []
    assert home.cloud.calls == ["create spare"]
    await home.keep(attrs.evolve(SPARE, pricing="ondemand"))
    assert len(home.cloud.calls) == 2
    assert await home.keep(after=90_000) == []
    assert len(home.cloud.calls) == 3


async def test_a_request_that_comes_to_nothing_later_is_waited_with_and_its_husk_deleted(
    home: Home,
) -> None:
    home.cloud.late.append(LateRefusal(StockoutError("none left"), husk=True))
    await home.keep()
    assert await home.keep() == ["kept slice spare: none left; it is asked for again"]
    assert home.cloud.calls == ["create spare", "delete spare"]
    await home.keep(after=30)
    assert len(home.cloud.calls) == 2
    await home.keep(after=60)
    assert home.generation == 2


async def test_a_request_whose_answer_nobody_heard_is_the_only_one(home: Home) -> None:
    home.cloud.wire = 90.0
    await home.keep()
    home.cloud.wire = 0.0
    await home.keep()
    await home.keep()
    await home.keep()
    assert home.generation == 1


async def test_a_cloud_that_says_nothing_is_asked_for_nothing_and_told_of_if_it_lasts(
    home: Home,
) -> None:
    await home.keep()
    home.cloud.unknown = "no such zone"
    assert await home.keep() == []
    assert await home.keep() == []
    (line,) = await home.keep()
    assert "nothing is known of kept slice spare" in line
    assert "no such zone" in line
    assert await home.keep() == []
    assert home.cloud.calls == ["create spare"]
    home.cloud.unknown = None
    assert await home.keep() == ["kept slice spare is ready"]


async def test_a_delete_that_fails_is_told_once_and_tried_again(home: Home) -> None:
    await home.keep()
    home.cloud.force("spare", SlicePhase.LOST, "PREEMPTED")
    broken = _Broken(home.cloud)
    home.cloud = broken
    first, second = await home.keep()
    assert "PREEMPTED" in first
    assert "busy" in second
    assert [line for _ in range(3) for line in await home.keep()] == []
    broken.broken = False
    await home.keep()
    await home.keep()
    assert home.generation == 2


async def test_others_with_its_name_are_left_alone(home: Home) -> None:
    theirs = SliceIdentity("spare", "zone-a", "home-2", "eve", "000001", 1)
    await home.cloud.create(theirs, SliceRequest("fake", "v4-8", "zone-a"))
    home.cloud.force("spare", SlicePhase.LOST, "PREEMPTED")
    (line,) = await home.keep()
    assert "left alone" in line
    assert await home.keep() == []
    assert home.cloud.calls == ["create spare"]


async def test_what_it_made_before_its_memory_was_lost_is_taken_on(home: Home) -> None:
    identity = SliceIdentity("spare", "zone-a", "home-1", "somebody", KEPT, 7)
    await home.cloud.create(identity, SliceRequest("fake", "v4-8", "zone-a"))
    assert await home.keep() == ["kept slice spare is ready"]
    home.cloud.force("spare", SlicePhase.LOST, "PREEMPTED")
    await home.keep()
    await home.keep()
    assert home.generation == 8


async def test_one_that_cannot_be_kept_holds_up_no_other(home: Home) -> None:
    odd = [attrs.evolve(SPARE, name="odd", cloud="moon"), attrs.evolve(SPARE, accelerator="x")]
    other = attrs.evolve(SPARE, name="other")
    odd[1] = attrs.evolve(odd[1], name="unheard")
    lines = await home.keep(*odd, other)
    assert [line.split(":")[0] for line in lines] == [
        "kept slice odd",
        "kept slice unheard",
        "asks for kept slice other",
    ]
    assert await home.keep(*odd, other) == ["kept slice other is ready"]


async def test_one_that_is_off_the_list_stays_and_is_told_of(home: Home) -> None:
    await home.keep()
    other = attrs.evolve(SPARE, name="other")
    assert any("spare is not on the list any more" in line for line in await home.keep(other))
    assert await home.keep(other) == ["kept slice other is ready"]
    assert "spare" in home.cloud.slices


class _Broken(FakeCloud):
    """One that deletes nothing."""

    def __init__(self, like: FakeCloud) -> None:
        super().__init__(like.context)
        self.slices, self.broken, self._told = like.slices, True, 0

    async def delete(self, identity: SliceIdentity) -> None:
        if self.broken:
            self._told += 1
            raise TransientCloudError(f"busy for the {self._told}. time")
        await super().delete(identity)


class _Killed(BaseException):
    """What a process knows of its kill."""


class _Mortal(FakeCloud):
    """One whose caller may be killed before or after what he asks for is done."""

    kill = ""

    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        self._die("before")
        seen = await self.observe(identity)
        assert isinstance(seen, Absent), "two requests at once"
        await super().create(identity, request)
        self._die("after")

    async def delete(self, identity: SliceIdentity) -> None:
        self._die("before")
        await super().delete(identity)
        self._die("after")

    def _die(self, when: str) -> None:
        if self.kill == when:
            self.kill = ""
            raise _Killed


@given(
    st.lists(
        st.sampled_from(["keep", "before", "after", "lost", "losing", "vanish", "unknown"])
        | st.sampled_from(["full", "wire", "late", "husk"]),
        max_size=25,
    )
)
@settings(max_examples=60)
async def test_whatever_happens_and_whenever_it_is_killed_there_is_one_in_the_end(
    tmp_path_factory: pytest.TempPathFactory, happenings: list[str]
) -> None:
    clock = FakeClock()
    store = SqliteStore(Context(tmp_path_factory.mktemp("home"), "", clock))
    await store.open()
    home = Home(store, clock)
    home.cloud = cloud = _Mortal(home.cloud.context)
    for happening in happenings:
        _happen(cloud, happening)
        try:
            await home.keep()
        except _Killed:
            continue
        finally:
            cloud.kill, cloud.unknown, cloud.wire = "", None, 0.0
    cloud.refusals.clear()
    cloud.late.clear()
    for _ in range(4):
        if "spare" in cloud.slices and cloud.slices["spare"].forced is not None:
            cloud.force("spare", SlicePhase.LOST, "PREEMPTED")
        await home.keep(after=600)
    assert list(cloud.slices) == ["spare"]
    assert (await home.keep(after=600)) == []
    await store.aclose()


def _happen(cloud: _Mortal, happening: str) -> None:
    match happening:
        case "before" | "after":
            cloud.kill = happening
        case "lost" | "losing" if "spare" in cloud.slices:
            cloud.force("spare", SlicePhase(happening), happening.upper())
        case "vanish" if "spare" in cloud.slices:
            cloud.vanish("spare")
        case "unknown":
            cloud.unknown = "no answer"
        case "full":
            cloud.refusals.append(StockoutError("none left"))
        case "wire":
            cloud.wire = 90.0
        case "late" | "husk":
            cloud.late.append(LateRefusal(StockoutError("none"), husk=happening == "husk"))
