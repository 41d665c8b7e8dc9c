"""Jobs, and the store itself."""

import asyncio
from datetime import timedelta
from pathlib import Path

import attrs
import pytest

from jobman_core.errors import HeldError, NotFoundError
from jobman_core.interfaces.store import Note, OldJob, OldRun, Store
from jobman_core.models.job import Desired, Ending, EndingKind, Step
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import (
    FAILED,
    NOON,
    QUEUE,
    SUCCEEDED,
    Scene,
    draft,
    entry,
    slice_of,
)

_NOTE = Note("test.note", "a note")
_ENDING = Ending(EndingKind.FAILED, "its command failed")


class JobsContract(BaseContract):
    """Jobs, and the store itself."""

    async def test_a_home_has_one_id_for_ever(
        self, store: Store, other: Store, tmp_path: Path
    ) -> None:
        again = self.make(tmp_path)
        await again.open()
        try:
            ids = {await s.home_id() for s in (store, other, again)}
        finally:
            await again.aclose()
        assert len(ids) == 1
        assert ids.pop()

    async def test_the_version_differs_after_every_change_by_anybody(
        self, store: Store, other: Store
    ) -> None:
        seen = [await store.version()]
        assert await store.version() == seen[0]
        for writer in (other, store, other, other, store):
            await writer.add_event(_NOTE)
            seen.append(await store.version())
        assert len(set(seen)) == len(seen)
        assert await store.version() == seen[-1]

    async def test_a_job_of_v3_keeps_its_name_and_its_id_where_that_is_free(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.job()
        for wanted, got in (("000045", "000045"), ("000001", "000046")):
            old = OldJob(wanted, f"qw_{wanted}", NOON, "of v3", (OldRun(1, NOON), OldRun(7, NOON)))
            job = await store.draft_job(draft(base_name="qw", worker_num="auto"), old)
            await store.publish_job(job.id, spec_hash="hash", old=old)
            found = (await store.record(got)).job
            assert (found.id, found.name, found.created_at) == (got, old.name, NOON)
            assert (found.desired, found.step_reason) == (Desired.STOPPED, "of v3")
            runs = await store.attempts(job=got)
            assert [(run.number, run.job, run.live) for run in runs] == [
                (1, got, False),
                (7, got, False),
            ]
            lease = await scene.lease(got)
            attempt = await store.open_attempt(lease, generation=1, now=NOON)
            assert attempt.number == 8
        with pytest.raises(HeldError, match="qw_000045"):
            await store.draft_job(draft(), OldJob("000099", "qw_000045", NOON, ""))

    async def test_a_draft_is_seen_by_nobody_until_it_is_published(
        self, store: Store, scene: Scene
    ) -> None:
        job = await store.draft_job(draft())
        assert await store.job_ids() == []
        assert await store.records() == []
        with pytest.raises(NotFoundError):
            await store.record(job.id)
        published = await store.publish_job(job.id, spec_hash="abc")
        assert published.desired is Desired.STOPPED
        assert published.spec_hash == "abc"
        assert await store.job_ids() == [job.id]
        assert (await store.record(job.id)).job == published
        assert await scene.kinds() == ["job.created"]

    async def test_ids_have_six_digits_and_make_the_name_unique(self, store: Store) -> None:
        job = await store.draft_job(draft())
        assert (job.id, job.name, job.worker_num) == ("000001", "worker_000001", None)
        assert job.created_at.tzinfo is not None

    async def test_the_number_of_a_discarded_draft_is_not_used_again(self, store: Store) -> None:
        first = await store.draft_job(draft())
        await store.discard_job(first.id)
        second = await store.draft_job(draft())
        assert second.id > first.id
        with pytest.raises(NotFoundError):
            await store.publish_job(first.id, spec_hash="")

    async def test_many_drafts_at_once_get_distinct_ids_and_numbers(
        self, store: Store, other: Store
    ) -> None:
        auto = draft(worker_num="auto")
        jobs = await asyncio.gather(*(s.draft_job(auto) for s in (store, other) * 10))
        assert len({job.id for job in jobs}) == 20
        assert {job.worker_num for job in jobs} == {str(n) for n in range(1, 21)}

    async def test_auto_takes_the_smallest_number_that_is_free(
        self, store: Store, scene: Scene
    ) -> None:
        jobs = [await scene.job(worker_num="auto") for _ in range(3)]
        await scene.cancel(jobs[1])
        assert (await store.draft_job(draft(worker_num="auto"))).name == "worker_2"
        assert (await store.draft_job(draft(worker_num="auto"))).name == "worker_4"
        other = await store.draft_job(draft(worker_num="auto", base_name="work"))
        assert other.name == "work_1"

    async def test_a_number_or_word_in_use_is_refused(self, store: Store, scene: Scene) -> None:
        first = await scene.job(worker_num="spot")
        with pytest.raises(HeldError, match=first):
            await store.draft_job(draft(worker_num="spot"))
        await scene.cancel(first)
        assert (await store.draft_job(draft(worker_num="spot"))).name == "worker_spot"
        with pytest.raises(HeldError):
            await store.set_desired(first, Desired.RUNNING, _NOTE)

    async def test_running_clears_how_the_job_ended_and_its_restarts(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        for _ in range(2):
            attempt = await store.open_attempt(lease, generation=1, now=NOON)
            await store.end_attempt(lease, attempt.token, FAILED, now=NOON)
        await store.set_ending(lease, _ENDING)
        job = (await store.record(lease.job)).job
        assert (job.ending, job.restarts) == (_ENDING, 2)
        stopped = await store.set_desired(lease.job, Desired.STOPPED, _NOTE)
        assert (stopped.ending, stopped.restarts) == (_ENDING, 2)
        running = await store.set_desired(lease.job, Desired.RUNNING, _NOTE)
        assert (running.desired, running.ending, running.restarts) == (Desired.RUNNING, None, 0)

    async def test_restarts_of_a_job_that_is_to_run_already_are_not_forgotten(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        await store.set_desired(lease.job, Desired.RUNNING, _NOTE)
        attempt = await store.open_attempt(lease, generation=1, now=NOON)
        await store.end_attempt(lease, attempt.token, FAILED, now=NOON)
        again = await store.set_desired(lease.job, Desired.RUNNING, _NOTE)
        assert again.restarts == 1

    async def test_an_outcome_and_the_end_of_its_job_are_written_together(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        await store.open_slice(lease, slice_of(lease.job, 1), _NOTE)
        attempt = await store.open_attempt(lease, generation=1, now=NOON)
        await store.end_attempt(
            lease, attempt.token, FAILED, now=NOON, ending=_ENDING, give_back=True
        )
        record = await store.record(lease.job)
        assert (record.job.ending, record.job.restarts) == (_ENDING, 1)
        assert [slice_.generation for slice_ in record.withdrawing] == [1]

    async def test_a_wish_is_an_event_of_the_job(self, store: Store, scene: Scene) -> None:
        job = await scene.job()
        await store.set_desired(job, Desired.RUNNING, Note("job.desired", "ada wants it"))
        event = (await store.events(job=job))[-1]
        assert (event.kind, event.text, event.job) == ("job.desired", "ada wants it", job)

    async def test_an_edited_file_changes_what_was_asked_for_not_who_the_job_is(
        self, store: Store, scene: Scene
    ) -> None:
        job = await scene.job()
        edited = draft(base_name="x", user="bob", accelerator="v6e-8", zone="z", queue="/q.yaml")
        before = (await store.record(job)).job
        after = await store.set_spec(job, edited, spec_hash="new")
        assert after == attrs.evolve(
            before, accelerator="v6e-8", zone="z", queue="/q.yaml", spec_hash="new"
        )

    async def test_a_step_is_kept_with_its_reason(self, store: Store, scene: Scene) -> None:
        lease = await scene.worker()
        await store.set_step(lease, Step.PREPARE, "conda")
        job = (await store.record(lease.job)).job
        assert (job.step, job.step_reason) == (Step.PREPARE, "conda")

    async def test_a_step_that_is_no_change_changes_nothing(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        await store.set_step(lease, Step.PREPARE, "conda")
        version = await store.version()
        await store.set_step(lease, Step.PREPARE, "conda")
        assert await store.version() == version

    async def test_a_step_lasts_since_it_was_taken_whatever_its_reason_and_names_its_next_try(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        assert (await store.record(lease.job)).job.step_at is None
        await store.set_step(lease, Step.ACQUIRE, "no capacity", until=NOON)
        first = (await store.record(lease.job)).job
        assert first.step_at is not None
        assert first.next_try == NOON
        await store.set_step(lease, Step.ACQUIRE, "asks again")
        again = (await store.record(lease.job)).job
        assert (again.step_at, again.next_try) == (first.step_at, None)

    async def test_the_next_try_is_put_off_though_nothing_else_changes(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        for minutes in (1, 2):
            later = NOON + timedelta(minutes=minutes)
            await store.set_step(lease, Step.ACQUIRE, "no capacity", until=later)
            assert (await store.record(lease.job)).job.next_try == later

    async def test_a_wish_has_its_moment_and_a_start_begins_anew(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        assert (await store.record(lease.job)).job.desired_at is None
        stopped = await store.set_desired(lease.job, Desired.STOPPED, _NOTE)
        assert stopped.desired_at is not None
        await store.set_ending(lease, _ENDING)
        ended = (await store.record(lease.job)).job
        assert ended.ended_at is not None
        await store.set_step(lease, Step.ACQUIRE, "no capacity", until=NOON)
        running = await store.set_desired(lease.job, Desired.RUNNING, _NOTE)
        assert (running.ended_at, running.next_try) == (None, None)
        assert running.desired_at is not None

    async def test_attempts_that_ended_add_up_to_how_long_a_job_ran(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        for minutes in (5, 10):
            attempt = await store.open_attempt(lease, generation=1, now=NOON)
            started = attrs.evolve(attempt, started_at=NOON + timedelta(minutes=1))
            await store.save_attempt(lease, started)
            end = NOON + timedelta(minutes=minutes)
            await store.end_attempt(lease, attempt.token, FAILED, now=end)
        unstarted = await store.open_attempt(lease, generation=1, now=NOON)
        await store.end_attempt(lease, unstarted.token, FAILED, now=NOON + timedelta(hours=1))
        assert (await store.record(lease.job)).job.ran == pytest.approx((4 + 9) * 60)

    async def test_a_queue_worker_knows_how_far_its_queue_is(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"), entry("b"), entry("c"))
        lease = await scene.worker(queue=QUEUE)
        assert (await store.record(lease.job)).progress == (0, 3)
        await scene.run(lease, SUCCEEDED)
        assert (await store.record(lease.job)).progress == (1, 3)
        await store.mark_done(QUEUE, "b", _NOTE)
        await scene.define(entry("b"), entry("d"))
        assert (await store.record(lease.job)).progress == (1, 2)
        await store.reset(QUEUE, ["b"], _NOTE)
        assert (await store.record(lease.job)).progress == (0, 2)
        await scene.define(entry("a"), entry("b"), entry("d"))
        assert (await store.records())[0].progress == (1, 3)

    async def test_deleted_jobs_are_listed_only_when_asked_for(
        self, store: Store, scene: Scene
    ) -> None:
        gone, here = await scene.job(), await scene.job()
        await store.set_desired(gone, Desired.DELETED, _NOTE)
        assert [r.job.id for r in await store.records()] == [here]
        assert [r.job.id for r in await store.records(deleted=True)] == [gone, here]
        assert await store.job_ids() == [gone, here]

    async def test_all_records_tell_the_same_as_each_one(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a"))
        await scene.job()
        lease = await scene.worker(queue=QUEUE)
        await store.open_slice(lease, slice_of(lease.job, 1), _NOTE)
        await store.save_slice(lease, slice_of(lease.job, 1, withdrawn=True))
        await store.open_slice(lease, slice_of(lease.job, 2), _NOTE)
        await scene.must_claim(lease)
        records = await store.records()
        assert records == [await store.record(job) for job in await store.job_ids()]
        last = records[-1]
        assert last.slice is not None
        assert last.slice.generation == 2
        assert [s.generation for s in last.withdrawing] == [1]
        assert [a.task for a in last.attempts] == ["a"]
        assert last.holder is not None
        assert last.holder[0] == lease

    @pytest.mark.parametrize("job", ["000009", "9", "x", "", "-1", "9" * 40, "٣"])
    async def test_an_unknown_job_is_said_to_be_unknown(self, store: Store, job: str) -> None:
        with pytest.raises(NotFoundError, match="no job"):
            await store.record(job)
        with pytest.raises(NotFoundError):
            await store.set_desired(job, Desired.RUNNING, _NOTE)
