"""What a process hears of the store: each of its jobs, whatever happens to the others."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.errors import StaleLeaseError, StoreError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import News, Note, Wish
from jobman_core.models.job import Desired
from jobman_core.models.lease import Lease
from jobman_core.run.pulse import LOOK_EVERY, Pulse
from jobman_core.testing.fakes import FakeClock, settle
from jobman_core.testing.store_contract.scene import Scene

NOTE = Note("test.note", "a note")


class MoodyStore(SqliteStore):
    """A store whose next looks can be made to fail."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.mood: list[Exception] = []
        self.looks = 0

    async def news(self, controller: str) -> News:
        self.looks += 1
        if self.mood:
            raise self.mood.pop(0)
        return await super().news(controller)


class Ear:
    """Remembers what it heard."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.heard: list[Desired] = []
        self.unread: list[str] = []
        self.deaf: list[Exception] = []
        #: Raised at the next news.
        self.ache: Exception | None = None

    async def hear(self, wish: Wish) -> None:
        if self.ache is not None:
            ache, self.ache = self.ache, None
            raise ache
        self.heard.append(wish.desired)

    def unreadable(self, error: StoreError) -> None:
        self.unread.append(str(error))

    async def deafen(self, error: Exception) -> None:
        self.deaf.append(error)


class Room:
    """A store with two jobs of one controller, and a pulse."""

    def __init__(self, root: Path) -> None:
        self.clock = FakeClock()
        self.store = MoodyStore(Context(root, "", SystemClock()))
        self.scene = Scene(self.store)

    async def begin(self) -> None:
        await self.store.open()
        self.one, self.two = [Ear(await self.scene.worker()) for _ in range(2)]
        # One process has both of them.
        self.two.lease = await self.store.take_lease(
            self.two.lease.job, self.one.lease.controller, instead_of=self.two.lease
        )
        self.pulse = Pulse(self.store, self.clock, self.one.lease.controller)

    async def look(self) -> None:
        """Let the pulse look once more."""
        looks = self.store.looks
        for turn in range(2000):
            if self.store.looks > looks:
                break
            # The store's thread works in real time, for a moment.
            await asyncio.sleep(0.005)
            if turn % 50 == 10:
                await self.clock.advance(LOOK_EVERY)
        await asyncio.sleep(0.05)
        await settle()

    async def want(self, ear: Ear, desired: Desired) -> None:
        await self.store.set_desired(ear.lease.job, desired, NOTE)


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Room]:
    room = Room(tmp_path)
    await room.begin()
    yield room
    await room.store.aclose()


async def test_each_job_hears_what_is_wanted_of_it(room: Room) -> None:
    async with room.pulse.listening(room.one), room.pulse.listening(room.two):
        await room.want(room.two, Desired.CANCELLED)
        await room.look()
        assert room.two.heard[-1] is Desired.CANCELLED
        assert room.one.heard[-1] is not Desired.CANCELLED


async def test_a_job_that_joins_while_nothing_changes_hears_all_the_same(room: Room) -> None:
    async with room.pulse.listening(room.one):
        await room.look()
        assert room.one.heard
        async with room.pulse.listening(room.two):
            await room.look()
            assert room.two.heard


async def test_a_look_that_failed_is_made_up_for_though_nothing_changed_since(room: Room) -> None:
    room.store.mood = [StoreError("the disk is full")]
    async with room.pulse.listening(room.one):
        await room.look()
        assert room.one.unread == ["the disk is full"]
        assert room.one.heard == []
        await room.look()
        assert room.one.heard


async def test_a_fault_in_one_jobs_ear_is_no_matter_to_the_others(room: Room) -> None:
    async with room.pulse.listening(room.one), room.pulse.listening(room.two):
        await room.look()
        room.one.ache = RuntimeError("a plugin's own")
        await room.want(room.two, Desired.STOPPED)
        await room.look()
        assert [str(error) for error in room.one.deaf] == ["a plugin's own"]
        assert room.two.deaf == []
        assert room.two.heard[-1] is Desired.STOPPED


async def test_a_job_that_could_not_be_told_is_told_again(room: Room) -> None:
    async with room.pulse.listening(room.one):
        await room.look()
        room.one.ache = StoreError("not now")
        await room.want(room.one, Desired.STOPPED)
        await room.look()
        assert room.one.unread == ["not now"]
        await room.look()
        assert room.one.heard[-1] is Desired.STOPPED


async def test_after_a_fault_of_the_look_itself_later_jobs_hear(room: Room) -> None:
    room.store.mood = [RuntimeError("a fault of ours")]
    async with room.pulse.listening(room.one):
        await room.look()
        assert [str(error) for error in room.one.deaf] == ["a fault of ours"]
        async with room.pulse.listening(room.two):
            await room.look()
            assert room.two.deaf == []
            assert room.two.heard


async def test_whoever_was_replaced_is_told_and_hears_no_more_wishes(room: Room) -> None:
    async with room.pulse.listening(room.one), room.pulse.listening(room.two):
        await room.look()
        heard = len(room.one.heard)
        other = await room.scene.worker()
        await room.store.take_lease(room.one.lease.job, other.controller, instead_of=room.one.lease)
        await room.look()
        assert [type(error) for error in room.one.deaf] == [StaleLeaseError]
        assert len(room.one.heard) == heard
        assert room.two.deaf == []
