"""What a report of a span of time is made of."""

from datetime import datetime, timedelta
from typing import Any

import attrs

from jobman_core.interfaces.store import Note, PastRun, Store
from jobman_core.models.job import Desired, Ending, EndingKind, Step
from jobman_core.models.lease import Lease
from jobman_core.models.outcome import OutcomeKind
from jobman_core.models.slice import SlicePhase
from jobman_core.models.task import Counters
from jobman_core.models.usage import Run, SliceLife
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import (
    ACCELERATOR,
    FAILED,
    NOON,
    PREEMPTED,
    QUEUE,
    SUCCEEDED,
    ZONE,
    Scene,
    entry,
    slice_of,
)

NOTE = Note("test.note", "a note")


def at(minutes: float) -> datetime:
    """Give a moment so many minutes after noon."""
    return NOON + timedelta(minutes=minutes)


async def _slice(store: Store, lease: Lease, generation: int = 1, **changes: Any) -> None:  # noqa: ANN401 - any field
    slice_ = slice_of(lease.job, generation, **changes)
    await store.open_slice(lease, slice_, NOTE)
    await store.save_slice(lease, slice_)


class ReportsContract(BaseContract):
    """What a report of a span of time is made of."""

    async def test_a_slice_and_its_attempts_are_given_with_whose_they_are(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        await scene.define(entry("a"))
        await _slice(store, lease, phase=SlicePhase.READY, ready_at=at(0.5))
        claim = await scene.must_claim(lease)
        await scene.end(lease, claim, SUCCEEDED)
        used = await store.used(at(0), at(60))
        assert used.slices == (
            SliceLife(
                job=lease.job,
                name=f"worker_{lease.job}",
                user="ada",
                generation=1,
                cloud="local",
                accelerator=ACCELERATOR,
                zone=ZONE,
                pricing="ondemand",
                requested_at=NOON,
                ready_at=at(0.5),
                began_at=at(1),
            ),
        )
        assert used.runs == (
            Run(
                job=lease.job,
                generation=1,
                name=f"worker_{lease.job}",
                user="ada",
                accelerator=ACCELERATOR,
                claimed_at=at(1),
                queue=QUEUE,
                task="a",
                ended_at=at(2),
                outcome=OutcomeKind.SUCCEEDED,
                final=True,
            ),
        )

    async def test_only_what_was_there_in_the_span_is_given(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        await scene.define(entry("a"), entry("b"))
        await _slice(store, lease, ready_at=NOON, gone_at=at(10), withdrawn=True)
        await scene.run(lease, SUCCEEDED)
        await _slice(store, lease, 2, requested_at=at(20))
        live = await scene.must_claim(lease)
        assert live.attempt.claimed_at == at(3)
        cases = {
            # Before all, over the first, after it and before the second, and while that is there.
            (-60, 0): ((), ()),
            (0, 1): ((1,), ()),
            (0, 2): ((1,), ("a",)),
            (2, 3): ((1,), ("a",)),
            (2, 4): ((1,), ("a", "b")),
            (11, 20): ((), ("b",)),
            (11, 21): ((2,), ("b",)),
        }
        for (since, until), wanted in cases.items():
            used = await store.used(at(since), at(until))
            generations = tuple(slice_.generation for slice_ in used.slices)
            tasks = tuple(run.task for run in used.runs)
            assert (generations, tasks) == wanted, (since, until)

    async def test_it_is_known_when_a_job_that_lost_its_slice_went_on(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        lost: dict[str, Any] = {
            "ready_at": NOON,
            "lost_at": at(5),
            "gone_at": at(6),
            "withdrawn": True,
        }
        await _slice(store, lease, **lost)
        await _slice(store, lease, 2, ready_at=at(7), requested_at=at(6))
        attempt = await store.open_attempt(lease, generation=2, now=at(8))
        (first, second) = (await store.used(at(0), at(60))).slices
        assert (first.lost_at, first.resumed_at) == (at(5), None)
        await store.save_attempt(lease, attrs.evolve(attempt, started_at=at(9)))
        (first, second) = (await store.used(at(0), at(60))).slices
        assert (first.resumed_at, second.resumed_at) == (at(9), None)

    async def test_hosts_are_being_prepared_on_the_newest_slice_alone(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        await _slice(store, lease, lost_at=at(1), gone_at=at(2), withdrawn=True)
        await _slice(store, lease, 2, ready_at=at(3), requested_at=at(2))
        await store.set_step(lease, Step.PREPARE, "env")
        used = await store.used(at(0), at(60))
        assert [slice_.preparing for slice_ in used.slices] == [False, True]

    async def test_a_task_is_over_once_however_often_it_was_tried(
        self, store: Store, scene: Scene
    ) -> None:
        lease, other = await scene.worker(), await scene.worker()
        await scene.define(entry("a", max_retries=2), entry("b", max_jobs=2))
        await scene.run(lease, FAILED, PREEMPTED, FAILED)
        first, second = await scene.must_claim(lease), await scene.must_claim(other)
        await scene.end(lease, first, SUCCEEDED)
        await scene.end(other, second, SUCCEEDED)
        runs = (await store.used(at(0), at(60))).runs
        assert [(run.task, run.outcome, run.final) for run in runs] == [
            ("a", OutcomeKind.FAILED, False),
            ("a", OutcomeKind.INTERRUPTED, False),
            ("a", OutcomeKind.FAILED, True),
            ("b", OutcomeKind.SUCCEEDED, True),
            ("b", OutcomeKind.SUCCEEDED, False),
        ]

    async def test_a_command_has_failed_for_good_when_its_job_has(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        endings = (None, Ending(EndingKind.FAILED, "exit 3"))
        for number, ending in enumerate(endings):
            attempt = await store.open_attempt(lease, generation=1, now=at(number))
            await store.end_attempt(lease, attempt.token, FAILED, now=at(number), ending=ending)
        runs = (await store.used(at(0), at(60))).runs
        assert [(run.task, run.final) for run in runs] == [(None, False), (None, True)]

    async def test_what_a_deleted_job_used_is_known_still(self, store: Store, scene: Scene) -> None:
        lease = await scene.worker()
        await _slice(store, lease, ready_at=NOON, gone_at=at(10), withdrawn=True)
        await store.set_desired(lease.job, Desired.DELETED, NOTE)
        (slice_,) = (await store.used(at(0), at(60))).slices
        assert slice_.user == "ada"

    async def test_runs_of_a_v3_state_file_are_no_part_of_it(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        past = PastRun("000042", at(0), at(1), "completed")
        await store.import_state(QUEUE, {"a": Counters(done=True)}, {"a": [past]})
        assert (await store.used(at(-60), at(60))).runs == ()

    async def test_what_was_reaped_is_given_and_no_other_event(self, store: Store) -> None:
        await store.add_event(Note("slice.reaped", "deleted tpu-1"))
        await store.add_event(NOTE)
        (event,) = await store.events(limit=1)
        minute = timedelta(minutes=1)
        used = await store.used(event.at, event.at + minute)
        assert [event.text for event in used.reaped] == ["deleted tpu-1"]
        assert (await store.used(event.at - minute, event.at)).reaped == ()
