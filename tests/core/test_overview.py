"""The whole home at a glance, as whoever keeps looking at it asks for it."""

from collections.abc import AsyncIterator
from pathlib import Path

import attrs
import pytest

from jobman_core.app import App
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note, Store
from jobman_core.models.slice import SlicePhase
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import NOON, QUEUE, Scene, entry, slice_of

_NOTE = Note("test.note", "a note")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    Home(tmp_path).state.mkdir(parents=True)
    store = SqliteStore(Context(tmp_path, "", FakeClock()))
    await store.open()
    yield store
    await store.aclose()


@pytest.fixture
async def app(tmp_path: Path, store: Store) -> AsyncIterator[App]:
    async with App(Home(tmp_path), user="ada", clock=FakeClock()) as app:
        yield app


async def test_there_is_nothing_to_see_where_there_is_no_home(tmp_path: Path) -> None:
    async with App(Home(tmp_path), clock=FakeClock()) as app:
        assert await app.changes() == 0
        assert (await app.overview()).jobs == ()
        assert not app.found


async def test_jobs_and_all_slices_that_may_still_exist_are_seen(app: App, store: Store) -> None:
    scene = Scene(store)
    lease = await scene.worker()
    await store.open_slice(lease, slice_of(lease.job, 1), _NOTE)
    withdrawn = slice_of(lease.job, 1, withdrawn=True)
    await store.save_slice(lease, withdrawn)
    ready = slice_of(lease.job, 2, phase=SlicePhase.READY, state="READY", ready_at=NOON)
    await store.open_slice(lease, ready, _NOTE)
    look = await app.overview()
    assert [(job.id, job.cores) for job in look.jobs] == [(lease.job, 16)]
    assert [one.generation for one in look.slices] == [1, 2]
    await store.save_slice(lease, attrs.evolve(withdrawn, gone_at=NOON))
    assert [one.generation for one in (await app.overview(look)).slices] == [2]


async def test_a_queue_is_seen_with_its_counts_and_workers(app: App, store: Store) -> None:
    scene = Scene(store)
    await scene.define(entry("a"), entry("b"))
    lease = await scene.worker(queue=QUEUE)
    await scene.must_claim(lease)
    (queue,) = (await app.overview()).queues
    assert queue.tally.counts == {"RUNNING": 1, "PENDING": 1}
    assert [task.id for task in queue.tally.tasks] == ["a", "b"]
    assert queue.workers["v4-16"].working == (lease.job,)


async def test_a_change_is_told_by_a_number_and_its_event_is_added(app: App, store: Store) -> None:
    scene = Scene(store)
    job = await scene.job()
    before = await app.changes()
    look = await app.overview()
    assert await app.changes() == before
    await store.add_event(_NOTE, job=job)
    assert await app.changes() != before
    events = (await app.overview(look)).events
    assert events[:-1] == look.events
    assert events[-1].text == _NOTE.text
