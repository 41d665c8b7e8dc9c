"""Reports of a home: spans of time, and days with what stands idle in the end."""

from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.errors import NotFoundError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.slice import SlicePhase
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import NOON, SUCCEEDED, Scene, entry, slice_of

NOTE = Note("test.note", "a note")
TODAY = date(2026, 1, 1)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "jobman.yaml").write_text("time_zone: Europe/Paris\nprices: {v4: 2}\n")
    return Home(tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(start=NOON)


@pytest.fixture
async def scene(home: Home, clock: FakeClock) -> AsyncIterator[Scene]:
    store = SqliteStore(Context(home.root, "", clock))
    await store.open()
    yield Scene(store)
    await store.aclose()


@pytest.fixture
async def app(home: Home, clock: FakeClock, scene: Scene) -> AsyncIterator[App]:
    async with App(home, user="ada", clock=clock) as app:
        yield app


async def ready(scene: Scene, **changes: str) -> str:
    """Let a job have a slice of eight chips since noon."""
    lease = await scene.worker(**changes)
    slice_ = slice_of(
        lease.job, 1, phase=SlicePhase.READY, state="READY", requested_at=NOON, ready_at=NOON
    )
    await scene.store.open_slice(lease, slice_, NOTE)
    return lease.job


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


async def test_what_was_used_is_split_as_asked_and_costs_what_the_lab_says(
    app: App, scene: Scene, clock: FakeClock
) -> None:
    await ready(scene)
    await ready(scene, user="bob")
    await clock.advance(3 * 3600)
    found = await app.usage(at(-1), at(2))
    assert [(share.name, share.hours, share.cost) for share in found.shares] == [
        ("ada", 16, 32),
        ("bob", 16, 32),
    ]
    assert found.total.hours == 32
    assert (await app.usage(at(-1), at(99), by="job")).total.hours == 48


async def test_my_own_is_what_my_jobs_used(app: App, scene: Scene, clock: FakeClock) -> None:
    await ready(scene)
    await ready(scene, user="bob")
    await clock.advance(3600)
    found = await app.usage(at(0), at(1), by="accelerator", mine=True)
    assert (found.total.hours, len(found.shares)) == (8, 1)


async def test_a_day_is_that_of_the_homes_zone_with_what_was_reaped_in_it(
    app: App, scene: Scene, clock: FakeClock
) -> None:
    job = await ready(scene)
    await scene.store.add_event(Note("slice.reaped", "deleted tpu-7"))
    await clock.advance(24 * 3600)
    day = await app.day(TODAY)
    assert (day.day, day.zone) == (TODAY, "Europe/Paris")
    assert day.users.since == datetime(2025, 12, 31, 23, tzinfo=UTC)
    # From one o'clock in the afternoon to midnight.
    assert day.users.total.hours == 11 * 8
    assert [share.name for share in day.accelerators.shares] == ["v4-16"]
    assert day.reaped == ("deleted tpu-7",)
    (idle,) = day.idle
    assert (idle.job, idle.user, idle.accelerator, idle.since) == (job, "ada", "v4-16", NOON)
    assert idle.cost_per_hour == 16
    assert not day.empty
    assert (await app.day(date(2026, 1, 2))).reaped == ()


async def test_a_day_can_be_that_of_another_zone(app: App, scene: Scene, clock: FakeClock) -> None:
    await ready(scene)
    await clock.advance(48 * 3600)
    day = await app.day(TODAY, zone="Asia/Tokyo")
    assert day.zone == "Asia/Tokyo"
    # Noon in UTC is nine in the evening there.
    assert day.users.total.hours == 3 * 8


async def test_a_day_without_anything_is_empty(app: App, scene: Scene) -> None:
    assert (await app.day(date(2020, 1, 1))).empty


async def test_a_slice_is_idle_since_its_last_attempt_and_not_between_two(
    app: App, scene: Scene, clock: FakeClock
) -> None:
    lease = await scene.worker()
    slice_ = slice_of(lease.job, 1, phase=SlicePhase.READY, ready_at=NOON)
    await scene.store.open_slice(lease, slice_, NOTE)
    await scene.define(entry("a"))
    claim = await scene.must_claim(lease)
    await clock.advance(3600)
    assert (await app.day(TODAY)).idle == ()
    await scene.store.end_attempt(lease, claim.attempt.token, SUCCEEDED, now=at(1))
    await clock.advance(300)
    assert (await app.day(TODAY)).idle == ()
    await clock.advance(600)
    assert [idle.since for idle in (await app.day(TODAY)).idle] == [at(1)]


async def test_where_there_is_no_home_there_is_nothing_to_report(tmp_path: Path) -> None:
    async with App(Home(tmp_path / "none"), user="ada") as app:
        with pytest.raises(NotFoundError, match="no jobman home"):
            await app.usage(at(0), at(1))
    assert not (tmp_path / "none").exists()


async def test_a_report_can_be_drawn(app: App, scene: Scene, clock: FakeClock) -> None:
    await ready(scene)
    await clock.advance(3600)
    assert (await app.chart(await app.usage(at(0), at(1)))).startswith(b"\x89PNG")
