"""The outbox."""

import pytest

from jobman_core.errors import StaleLeaseError
from jobman_core.interfaces.store import Note, Store
from jobman_core.models.outcome import Cause, HostExit, Outcome, OutcomeKind, interrupted
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import (
    FAILED,
    PREEMPTED,
    QUEUE,
    SUCCEEDED,
    Scene,
    entry,
)

_NOTE = Note("test.note", "a note")


class EventsContract(BaseContract):
    """The outbox."""

    async def test_events_rise_and_are_read_on_from_any_of_them(
        self, store: Store, scene: Scene
    ) -> None:
        job = await scene.job()
        for number in range(5):
            await store.add_event(Note("test.count", f"number {number}"), job=job)
        events = await store.events()
        assert [event.id for event in events] == sorted({event.id for event in events})
        later = await store.events(after=events[2].id, limit=2)
        assert later == events[3:5]
        assert await store.events(job=job) == events
        assert list(await store.events(after=events[-1].id)) == []

    async def test_a_tasks_story_is_told_in_order_and_names_who_and_where(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a", max_retries=2))
        lease = await scene.worker(queue=QUEUE)
        since = await scene.last_event()
        await scene.run(lease, FAILED, PREEMPTED, SUCCEEDED)
        events = await store.events(after=since)
        assert [event.kind for event in events] == [
            "task.claimed", "task.failed",
            "task.claimed", "task.interrupted",
            "task.claimed", "task.succeeded",
        ]  # fmt: skip
        assert {(e.job, e.queue, e.task) for e in events} == {(lease.job, QUEUE, "a")}
        failed = events[1].text
        for word in (lease.job, "a", "exit 3", "host 1", "1 of 2"):
            assert word in failed
        assert "preempted" in events[3].text

    async def test_a_task_that_has_used_up_its_attempts_is_given_up_once(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a", max_retries=2, max_jobs=2))
        first, second = await scene.worker(queue=QUEUE), await scene.worker(queue=QUEUE)
        since = await scene.last_event()
        runs = [await scene.must_claim(first), await scene.must_claim(second)]
        await scene.end(first, runs[0], FAILED)
        runs.append(await scene.must_claim(first))
        for lease, run in ((second, runs[1]), (first, runs[2])):
            await scene.end(lease, run, FAILED)
        given_up = [e for e in await store.events(after=since) if e.kind == "task.given_up"]
        assert [(event.job, event.queue, event.task) for event in given_up] == [
            (second.job, QUEUE, "a")
        ]
        for word in ("a", "for good", "exit 3", "host 1", "2 of 2"):
            assert word in given_up[0].text

    async def test_a_done_task_that_is_reset_below_a_failure_is_told_to_be_blocked(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a", max_retries=1), entry("b", depends_on=("a",)))
        await scene.run(await scene.worker(queue=QUEUE), FAILED)
        await store.mark_done(QUEUE, "b", _NOTE)
        since = await scene.last_event()
        await store.reset(QUEUE, ["b"], _NOTE)
        assert await scene.kinds(since) == [_NOTE.kind, "task.blocked"]

    async def test_a_done_task_that_starts_afresh_as_its_run_ends_is_told_to_be_blocked(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a", max_retries=1), entry("b", depends_on=("a",)))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, SUCCEEDED)
        claim = await scene.must_claim(lease)
        await store.mark_done(QUEUE, "b", _NOTE)
        await store.reset(QUEUE, ["a"], _NOTE)
        await scene.run(await scene.worker(queue=QUEUE), FAILED)
        since = await scene.last_event()
        await scene.end(lease, claim, interrupted(Cause.RESET))
        assert await scene.kinds(since) == ["task.interrupted", "task.blocked"]

    async def test_a_change_that_is_refused_tells_nothing(self, scene: Scene) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        claim = await scene.must_claim(lease)
        await scene.end(lease, claim, SUCCEEDED)
        since = await scene.last_event()
        with pytest.raises(StaleLeaseError):
            await scene.end(lease, claim, FAILED)
        assert await scene.kinds(since) == []

    async def test_the_newest_of_a_job_are_given_oldest_first(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        for number in range(3):
            await store.add_event(Note("test", f"event {number}"), job=lease.job)
        await scene.worker()
        newest = await store.newest_events(lease.job, 2)
        assert [event.text for event in newest] == ["event 1", "event 2"]
        assert await store.newest_events(None, 2) == (await store.events())[-2:]

    async def test_the_text_of_an_event_is_one_line(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        detail = Outcome(OutcomeKind.FAILED, "plugin:x", (HostExit(0, 1),), "line one\nline two")
        await scene.run(lease, detail)
        assert "line one line two" in (await store.events())[-1].text
