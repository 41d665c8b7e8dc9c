"""Who delivers to a home's notifiers: one of its processes, for as long as it lives."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobman_core import hookimpl
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.event import Event
from jobman_core.models.notice import Notice
from jobman_core.models.settings import Settings
from jobman_core.models.task import QueueDefinition
from jobman_core.notifiers import TAKE_EVERY, notifying
from jobman_core.plugins import Plugins
from jobman_core.queue.lock import try_lock
from jobman_core.testing.fake_notifier import FakeNotifier
from jobman_core.testing.store_contract.scene import Scene


class Quick(SystemClock):
    """A clock on which a minute takes a moment."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds / 1000, 0.05))

    def monotonic(self) -> float:
        return super().monotonic() * 1000


class Seen(FakeNotifier):
    """One whose board all of a test can see."""

    def __init__(self, context: Context) -> None:
        super().__init__(context, BOARDS.setdefault(str(context.home), {}))


class Faulty(FakeNotifier):
    """One with a bug."""

    name = "faulty"

    async def deliver(self, notices: Sequence[Notice]) -> None:
        raise KeyError("a fault of somebody else's")


BOARDS: dict[str, dict[int, Notice]] = {}


def _no_tasks(_: Path) -> QueueDefinition:
    raise AssertionError("no queue is read here")


def plugins() -> Plugins:
    found = Plugins()
    give = hookimpl(lambda: [Seen, Faulty])
    found.add("seen", SimpleNamespace(jobman_notifiers=give), distribution="jobman-seen")
    return found


class House:
    """A home with notifiers, and processes that come and go."""

    def __init__(self, root: Path, store: SqliteStore) -> None:
        self.home = Home(root)
        self.store = store
        self.scene = Scene(store)

    def hub(self, *names: str) -> Hub:
        settings = Settings(backends={"notifiers": {name: {} for name in names}})
        return Hub(self.home, "home-1", "ada", settings, self.store, Quick(), plugins, _no_tasks)

    async def happen(self, job: str) -> Event:
        await self.store.add_event(Note("slice.preempted", "slice is lost"), job=job)
        return (await self.store.events(limit=100_000))[-1]

    @property
    def board(self) -> dict[int, Notice]:
        return BOARDS.setdefault(str(self.home.root), {})

    async def until_told(self, *events: Event) -> None:
        await until(lambda: {event.id for event in events} <= self.board.keys())

    async def begun(self, *names: str) -> None:
        """Return once somebody has a cursor for each of some notifiers."""
        for name in names:
            async with asyncio.timeout(30):
                while not await self.store.recall(f"notifier {name}"):
                    await Quick().sleep(1)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await Quick().sleep(1)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    home = Home(tmp_path)
    home.state.mkdir(parents=True)
    store = SqliteStore(Context(tmp_path, "", Quick()))
    await store.open()
    yield House(tmp_path, store)
    await store.aclose()
    BOARDS.pop(str(tmp_path), None)


async def test_a_process_delivers_while_it_lives(house: House) -> None:
    job = await house.scene.job()
    async with notifying(house.hub("fake")):
        await house.begun("fake")
        await house.until_told(await house.happen(job))


async def test_what_is_left_when_a_process_ends_is_told_at_once(house: House) -> None:
    job = await house.scene.job()
    async with notifying(house.hub("fake")):
        await house.begun("fake")
        event = await house.happen(job)
    assert list(house.board) == [event.id]


async def test_the_next_process_goes_on_where_one_has_ended(house: House) -> None:
    job = await house.scene.job()
    async with notifying(house.hub("fake")):
        await house.begun("fake")
        first = await house.happen(job)
    second = await house.happen(job)
    async with notifying(house.hub("fake")):
        await house.until_told(second)
    assert list(house.board) == [first.id, second.id]


async def test_one_process_delivers_and_another_takes_over_when_it_is_gone(house: House) -> None:
    job = await house.scene.job()
    with try_lock(house.home.notices_lock) as mine:
        assert mine
        async with notifying(house.hub("fake")):
            for _ in range(3):
                await Quick().sleep(TAKE_EVERY)
        # Somebody else had the lock.
        assert not await house.store.recall("notifier fake")
    async with notifying(house.hub("fake")):
        await house.begun("fake")
        await house.until_told(await house.happen(job))


async def test_one_that_fails_disturbs_no_other_and_is_complained_of_once(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    job = await house.scene.job()
    async with notifying(house.hub("fake", "faulty", "nowhere")):
        await house.begun("fake", "faulty", "nowhere")
        await house.until_told(await house.happen(job))
        await until(lambda: len(caplog.records) == 2)
    said = sorted(record.getMessage() for record in caplog.records)
    begin = "cannot tell people now, and tries on"
    assert len(said) == 2
    assert said[0].startswith(f"notifier faulty {begin}: notifier 'faulty' failed with KeyError")
    assert said[1].startswith(f"notifier nowhere {begin}: no notifier is called 'nowhere'")


async def test_a_home_without_notifiers_locks_nothing(house: House) -> None:
    before = asyncio.all_tasks()
    async with notifying(house.hub()):
        assert asyncio.all_tasks() == before
    assert not house.home.notices_lock.exists()
