"""From the outbox to whoever tells people: all of it, in bursts, and once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.courier import FIRST_PAUSE, LONGEST_BURST, LONGEST_PAUSE, SETTLE, Courier
from jobman_core.errors import CommandFailedError, StoreError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.event import Event
from jobman_core.models.notice import Audience, Notice, NoticeKind, NotifyRule
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import FAILED, QUEUE, SUCCEEDED, Scene, entry


class MoodyStore(SqliteStore):
    """A store that counts who reads, and that can be made unreadable or read-only."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.reads = 0
        self.unreadable = False
        self.unwritable = False

    async def events(
        self, *, after: int = 0, limit: int = 1000, job: str | None = None
    ) -> Sequence[Event]:
        self.reads += 1
        if self.unreadable:
            raise StoreError("the disk is away: mount it")
        return await super().events(after=after, limit=limit, job=job)

    async def remember(self, who: str, facts: object) -> None:
        if self.unwritable:
            raise StoreError("the disk is full: make room")
        await super().remember(who, facts)  # type: ignore[arg-type]


class Desk:
    """A home, somebody who tells people, and the time."""

    def __init__(self, store: MoodyStore, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.scene = Scene(store)
        #: What was delivered, burst by burst.
        self.bursts: list[Sequence[Notice]] = []
        #: What was offered in vain.
        self.refused: list[Sequence[Notice]] = []
        self.broken = False

    async def deliver(self, notices: Sequence[Notice]) -> None:
        if self.broken:
            self.refused.append(notices)
            raise CommandFailedError("nobody is there: wait")
        self.bursts.append(notices)

    def courier(self, lab: NotifyRule | None = None) -> Courier:
        return Courier(self.store, self.clock, "desk", self.deliver, lab=lab)

    @contextlib.asynccontextmanager
    async def telling(self, lab: NotifyRule | None = None) -> AsyncIterator[None]:
        """Let a courier run, which is killed at the end of the block."""
        task = asyncio.create_task(self.courier(lab).run())
        await self.idle()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def idle(self) -> None:
        """Return once the courier waits for the time to pass."""
        async with asyncio.timeout(30):
            while not self.clock.sleepers:  # noqa: ASYNC110 - the store works in a thread
                await asyncio.sleep(0.001)

    async def wait(self, seconds: float) -> None:
        """Let time pass, a second at a time."""
        for _ in range(int(seconds)):
            await self.idle()
            await self.clock.advance(1)
        await self.idle()

    async def lose(self, job: str) -> None:
        await self.store.add_event(Note("slice.preempted", "slice is lost"), job=job)

    @property
    def events(self) -> list[int]:
        return [notice.event for burst in self.bursts for notice in burst]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock = FakeClock()
    store = MoodyStore(Context(tmp_path, "", clock))
    (tmp_path / "jobs" / ".jobman").mkdir(parents=True)
    await store.open()
    yield Desk(store, clock)
    await store.aclose()


async def test_who_is_new_hears_only_of_what_comes(desk: Desk) -> None:
    job = await desk.scene.job()
    await desk.lose(job)
    async with desk.telling():
        await desk.wait(60)
        assert desk.bursts == []
        await desk.lose(job)
        await desk.wait(SETTLE + 1)
    assert [[notice.kind for notice in burst] for burst in desk.bursts] == [[NoticeKind.PREEMPTED]]


async def test_what_happens_at_once_is_told_at_once_and_nothing_is_told_too_early(
    desk: Desk,
) -> None:
    jobs = [await desk.scene.job() for _ in range(20)]
    async with desk.telling():
        for job in jobs:
            await desk.lose(job)
        await desk.wait(SETTLE)
        assert desk.bursts == []
        await desk.wait(1)
        assert [[notice.job for notice in burst] for burst in desk.bursts] == [jobs]


async def test_a_burst_without_end_is_told_in_parts(desk: Desk) -> None:
    job = await desk.scene.job()
    async with desk.telling():
        for _ in range(2 * int(LONGEST_BURST)):
            await desk.lose(job)
            await desk.wait(1)
        await desk.wait(SETTLE + 1)
    assert 2 <= len(desk.bursts) <= 3
    assert len(desk.events) == 2 * LONGEST_BURST


async def test_a_restart_loses_nothing_and_repeats_nothing(desk: Desk) -> None:
    job = await desk.scene.job()
    async with desk.telling():
        await desk.lose(job)
        await desk.wait(SETTLE + 1)
    await desk.lose(job)
    async with desk.telling():
        # Killed before it was told.
        await desk.lose(job)
        await desk.wait(1)
    async with desk.telling():
        await desk.wait(SETTLE + 1)
    first = await desk.scene.last_event() - 2
    assert [[n.event for n in burst] for burst in desk.bursts] == [[first], [first + 1, first + 2]]


async def test_what_became_of_a_loss_is_known_over_a_restart(desk: Desk) -> None:
    job = await desk.scene.job()
    async with desk.telling():
        await desk.lose(job)
        await desk.wait(SETTLE + 1)
    async with desk.telling():
        await desk.store.add_event(Note("slice.ready", "slice is ready"), job=job)
        await desk.wait(SETTLE + 1)
    (lost,), (recovered,) = desk.bursts
    assert (lost.kind, recovered.kind) == (NoticeKind.PREEMPTED, NoticeKind.RECOVERED)
    assert lost.about == recovered.about


async def test_what_cannot_be_delivered_comes_again_later_and_later(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    job = await desk.scene.job()
    async with desk.telling():
        desk.broken = True
        await desk.lose(job)
        await desk.wait(SETTLE + 1)
        # It happens meanwhile, and waits for its turn.
        await desk.lose(job)
        await desk.wait(2 * LONGEST_PAUSE)
        desk.broken = False
        await desk.wait(LONGEST_PAUSE + SETTLE + 1)
    assert len({tuple(notices) for notices in desk.refused}) == 1
    pauses = [seconds for seconds in desk.clock.slept if seconds != 1]
    assert pauses[:8] == [FIRST_PAUSE * 2**n for n in range(1, 9)]
    assert max(pauses) <= LONGEST_PAUSE
    assert [len(burst) for burst in desk.bursts] == [1, 1]
    assert [record.getMessage() for record in caplog.records] == [
        "desk cannot tell people now, and tries on: nobody is there: wait"
    ]


async def test_a_store_that_cannot_be_read_is_waited_for(desk: Desk) -> None:
    job = await desk.scene.job()
    async with desk.telling():
        await desk.lose(job)
        desk.store.unreadable = True
        await desk.wait(60)
        assert desk.bursts == []
        desk.store.unreadable = False
        await desk.wait(SETTLE + 2)
    assert len(desk.events) == 1


async def test_what_was_delivered_is_not_told_again_because_that_cannot_be_written_down(
    desk: Desk,
) -> None:
    job = await desk.scene.job()
    async with desk.telling():
        desk.store.unwritable = True
        await desk.lose(job)
        await desk.wait(60)
        desk.store.unwritable = False
        await desk.wait(60)
    async with desk.telling():
        await desk.wait(SETTLE + 1)
    assert len(desk.events) == 1


async def test_who_has_nothing_to_tell_reads_nothing(desk: Desk) -> None:
    async with desk.telling():
        await desk.wait(2)
        reads = desk.store.reads
        await desk.wait(600)
        assert desk.store.reads == reads


async def test_ten_thousand_events_are_gone_through_and_what_counts_is_told(desk: Desk) -> None:
    job = await desk.scene.job()
    async with desk.telling():
        pass
    await desk.lose(job)
    for start in range(0, 10_000, 100):
        notes = (Note("test.count", f"{start + n}") for n in range(100))
        await asyncio.gather(*(desk.store.add_event(note, job=job) for note in notes))
    await desk.lose(job)
    async with desk.telling():
        await desk.wait(SETTLE + 1)
    assert len(desk.events) == 2
    assert desk.store.reads < 30


async def test_a_task_is_told_of_as_its_queue_says(desk: Desk) -> None:
    await desk.scene.define(
        entry("a", max_retries=2), entry("b"), notify=NotifyRule(Audience.OWNER)
    )
    lease = await desk.scene.worker(queue=QUEUE)
    async with desk.telling():
        await desk.scene.run(lease, FAILED, FAILED, SUCCEEDED)
        await desk.wait(SETTLE + 1)
    told = [(n.kind, n.task, n.to, n.user) for burst in desk.bursts for n in burst]
    assert told == [
        (NoticeKind.FAILED, "a", Audience.OWNER, "ada"),
        (NoticeKind.FINISHED, "b", Audience.OWNER, "ada"),
    ]


async def test_what_the_lab_does_not_want_to_hear_is_passed_over(desk: Desk) -> None:
    job = await desk.scene.job()
    loud = await desk.scene.job(notify=NotifyRule())
    async with desk.telling(NotifyRule(Audience.NOBODY)):
        await desk.lose(job)
        await desk.lose(loud)
        await desk.wait(SETTLE + 1)
    assert [notice.job for burst in desk.bursts for notice in burst] == [loud]


async def test_who_leaves_tells_at_once_what_there_is(desk: Desk) -> None:
    job = await desk.scene.job()
    courier = desk.courier()
    task = asyncio.create_task(courier.run())
    await desk.idle()
    await desk.lose(job)
    courier.leave()
    async with asyncio.timeout(30):
        await task
    assert len(desk.events) == 1


async def test_who_leaves_is_not_kept_by_what_cannot_be_delivered(desk: Desk) -> None:
    job = await desk.scene.job()
    desk.broken = True
    courier = desk.courier()
    task = asyncio.create_task(courier.run())
    await desk.idle()
    await desk.lose(job)
    await desk.wait(SETTLE + 100)
    courier.leave()
    async with asyncio.timeout(30):
        await task
    desk.broken = False
    async with desk.telling():
        await desk.wait(SETTLE + 1)
    assert len(desk.events) == 1
