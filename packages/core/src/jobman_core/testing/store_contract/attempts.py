"""Attempts, of commands and of tasks."""

import attrs
import pytest

from jobman_core.errors import HeldError, NotFoundError, StaleLeaseError
from jobman_core.interfaces.store import Store
from jobman_core.models.outcome import Cause, Outcome
from jobman_core.models.task import TaskStatus
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import (
    FAILED,
    NOON,
    PREEMPTED,
    QUEUE,
    SUCCEEDED,
    Scene,
    entry,
)


class AttemptsContract(BaseContract):
    """Attempts, of commands and of tasks."""

    async def test_runs_of_a_command_are_numbered_and_share_a_run_id(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        runs = []
        for _ in range(2):
            run = await store.open_attempt(lease, generation=1, now=NOON)
            await store.end_attempt(lease, run.token, FAILED, now=NOON)
            runs.append(run)
        assert [run.number for run in runs] == [1, 2]
        assert len({run.run_id for run in runs}) == 1
        assert len({run.token for run in runs}) == 2
        assert (runs[0].queue, runs[0].task) == (None, None)
        assert (await scene.kinds())[-1] == "attempt.failed"

    async def test_a_job_has_one_live_attempt(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a"), entry("b"))
        lease = await scene.worker(queue=QUEUE)
        await scene.must_claim(lease)
        with pytest.raises(HeldError):
            await scene.claim(lease)
        with pytest.raises(HeldError):
            await store.open_attempt(lease, generation=1, now=NOON)

    async def test_what_is_known_of_an_attempt_comes_back_as_it_was(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        claim = await scene.must_claim(lease)
        assert (await store.record(lease.job)).attempts == (claim.attempt,)
        started = attrs.evolve(claim.attempt, hosts=(0, 1), commit="c0ffee", started_at=NOON)
        await store.save_attempt(lease, started)
        assert (await store.record(lease.job)).attempts == (started,)
        assert (await scene.kinds())[-1] == "attempt.started"
        await scene.end(lease, claim, FAILED)
        (ended,) = await store.attempts(job=lease.job)
        assert ended == attrs.evolve(started, ended_at=scene.now, outcome=FAILED)
        assert (await store.record(lease.job)).attempts == ()

    @pytest.mark.parametrize("second", [SUCCEEDED, FAILED, PREEMPTED])
    async def test_an_outcome_is_recorded_once_and_stays(
        self, store: Store, scene: Scene, second: Outcome
    ) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        claim = await scene.must_claim(lease)
        await scene.end(lease, claim, FAILED)
        task = await store.task(QUEUE, "a")
        with pytest.raises(StaleLeaseError):
            await scene.end(lease, claim, second)
        with pytest.raises(StaleLeaseError):
            await store.save_attempt(lease, attrs.evolve(claim.attempt, hosts=(7,)))
        assert await store.task(QUEUE, "a") == task
        assert [a.outcome for a in await store.attempts(job=lease.job)] == [FAILED]

    async def test_another_jobs_attempt_cannot_be_ended(self, scene: Scene) -> None:
        await scene.define(entry("a"))
        lease, other = await scene.worker(queue=QUEUE), await scene.worker(queue=QUEUE)
        claim = await scene.must_claim(lease)
        with pytest.raises(StaleLeaseError):
            await scene.end(other, claim, SUCCEEDED)

    async def test_the_next_controller_may_end_what_the_last_began(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        old = await scene.worker(queue=QUEUE)
        claim = await scene.must_claim(old)
        new = await scene.lease(old.job, instead_of=old)
        await scene.end(new, claim, SUCCEEDED)
        assert (await store.task(QUEUE, "a")).status is TaskStatus.DONE

    async def test_the_wish_for_an_end_is_seen_by_whoever_controls_the_job(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        token = (await scene.must_claim(lease)).attempt.token
        causes = []
        for cause in (Cause.STOPPED, Cause.REQUEUED, Cause.RESET, Cause.STOPPED):
            await store.ask_end(token, cause)
            causes.append((await store.record(lease.job)).attempts[0].end_cause)
        assert causes == [Cause.STOPPED, Cause.STOPPED, Cause.RESET, Cause.RESET]
        with pytest.raises(NotFoundError):
            await store.ask_end("nonsense", Cause.STOPPED)

    async def test_attempts_are_found_by_job_task_and_queue(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"), entry("b"))
        one, two = await scene.worker(queue=QUEUE), await scene.worker(queue=QUEUE)
        await scene.run(one, FAILED, SUCCEEDED)
        await scene.run(two, SUCCEEDED)
        assert [a.task for a in await store.attempts(job=one.job)] == ["a", "a"]
        assert [a.number for a in await store.attempts(queue=QUEUE, task="a")] == [1, 2]
        assert [a.job for a in await store.attempts(queue=QUEUE)] == [one.job, one.job, two.job]
        assert [a.number for a in await store.attempts(job=two.job, task="b")] == [1]
        assert list(await store.attempts(queue=QUEUE, task="nonsense")) == []
