"""What an edited file does to a queue that has a story."""

import pytest

from jobman_core.errors import InvalidInputError, NotFoundError
from jobman_core.interfaces.store import Note, PastRun, Store
from jobman_core.models.outcome import Cause, interrupted
from jobman_core.models.task import Counters, TaskStatus
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


class DefinitionsContract(BaseContract):
    """What an edited file does to a queue that has a story."""

    async def test_tasks_can_be_added_moved_and_changed(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a"), entry("b"), entry("c"))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, SUCCEEDED)
        run_ids = {task.id: task.run_id for task in await store.tasks(QUEUE)}
        await scene.define(entry("c", run="other"), entry("new"), entry("b"), entry("a"))
        tasks = await store.tasks(QUEUE)
        assert [task.id for task in tasks] == ["c", "new", "b", "a"]
        assert tasks[0].spec.run == "other"
        assert tasks[3].status is TaskStatus.DONE
        assert {t.id: t.run_id for t in tasks if t.id != "new"} == run_ids
        assert (await scene.must_claim(lease)).task.id == "c"

    async def test_a_file_that_says_the_same_is_no_event(self, scene: Scene) -> None:
        await scene.define(entry("a"))
        before = await scene.last_event()
        await scene.define(entry("a"))
        assert await scene.kinds(before) == []

    async def test_a_removed_task_is_taken_no_more_and_has_its_history_when_it_comes_back(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"), entry("b"))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED, FAILED)
        await scene.define(entry("b"))
        assert list(await scene.statuses()) == ["b"]
        with pytest.raises(NotFoundError):
            await store.task(QUEUE, "a")
        assert (await scene.must_claim(lease)).task.id == "b"
        assert len(await store.attempts(queue=QUEUE, task="a")) == 2
        await scene.define(entry("b"), entry("a"))
        task = await store.task(QUEUE, "a")
        assert (task.status, task.counters.run_count) == (TaskStatus.RETRY, 2)

    async def test_a_task_that_is_removed_while_it_runs_is_shown_until_it_ends(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a", max_jobs=2), entry("b"))
        one, two = await scene.worker(queue=QUEUE), await scene.worker(queue=QUEUE)
        claim = await scene.must_claim(one)
        await scene.define(entry("b"))
        tasks = await store.tasks(QUEUE)
        assert [(task.id, task.removed) for task in tasks] == [("b", False), ("a", True)]
        assert (await scene.must_claim(two)).task.id == "b"
        await scene.end(one, claim, SUCCEEDED)
        assert [task.id for task in await store.tasks(QUEUE)] == ["b"]
        await scene.define(entry("a"), entry("b"))
        assert (await store.task(QUEUE, "a")).status is TaskStatus.DONE

    async def test_a_removed_task_waits_for_nothing_any_more(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"), entry("b", depends_on=("a",)))
        await store.mark_done(QUEUE, "a", Note("task.marked_done", ""))
        await scene.must_claim(await scene.worker(queue=QUEUE))
        await store.reset(QUEUE, ["a"], Note("task.reset", ""))
        await scene.define(entry("c"))
        assert await scene.statuses() == {"c": "PENDING", "b": "RUNNING"}

    async def test_more_retries_revive_a_failed_task_and_fewer_end_it(self, scene: Scene) -> None:
        await scene.define(entry("a", max_retries=2), entry("b", depends_on=("a",)))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED, FAILED)
        assert await scene.statuses() == {"a": "FAILED", "b": "BLOCKED"}
        await scene.define(entry("a", max_retries=3), entry("b", depends_on=("a",)))
        assert await scene.statuses() == {"a": "RETRY", "b": "WAITING"}
        await scene.define(entry("a", max_retries=1), entry("b", depends_on=("a",)))
        assert await scene.statuses() == {"a": "FAILED", "b": "BLOCKED"}
        assert await scene.claim(lease) is None

    async def test_more_jobs_at_once_let_another_worker_in(self, scene: Scene) -> None:
        await scene.define(entry("a"))
        one, two = await scene.worker(queue=QUEUE), await scene.worker(queue=QUEUE)
        await scene.must_claim(one)
        await scene.define(entry("a", max_jobs=2))
        assert (await scene.must_claim(two)).task.id == "a"

    async def test_dependencies_follow_the_file(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a", max_retries=1), entry("b", depends_on=("a",)))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED)
        await scene.define(entry("a", max_retries=1), entry("b"))
        assert (await store.task(QUEUE, "b")).status is TaskStatus.PENDING
        await scene.define(entry("b", depends_on=("c",)), entry("c"))
        assert (await store.task(QUEUE, "b")).reason == "waits for c"

    async def test_a_circle_or_a_missing_dependency_is_refused_and_changes_nothing(
        self, store: Store, scene: Scene
    ) -> None:
        before = await scene.define(entry("x"))
        with pytest.raises(InvalidInputError, match="circle"):
            await scene.define(entry("a", depends_on=("b",)), entry("b", depends_on=("a",)))
        with pytest.raises(InvalidInputError, match="does not exist"):
            await scene.define(entry("a", depends_on=("x",)))
        assert await store.queue(QUEUE) == before
        assert await scene.statuses() == {"x": "PENDING"}

    async def test_a_v3_state_is_taken_over_once(self, store: Store, scene: Scene) -> None:
        await store.open_queue(QUEUE)
        counters = {
            "a": Counters(done=True, run_count=2),
            "b": Counters(failed=True, fail_count=3, run_count=3, priority=True),
            "gone": Counters(fail_count=1, run_count=1),
        }
        runs = [
            PastRun("000045", NOON, NOON, "interrupted"),
            PastRun("000047", NOON, None, "completed"),
        ]
        await store.import_state(QUEUE, counters, {"a": runs})
        await scene.define(entry("a"), entry("b"), entry("c", depends_on=("b",)))
        assert await scene.statuses() == {"a": "DONE", "b": "FAILED", "c": "BLOCKED"}
        task = await store.task(QUEUE, "b")
        assert (task.counters.run_count, task.counters.priority) == (3, True)
        assert [r.status for r in (await store.history(QUEUE))["a"]] == ["interrupted", "completed"]
        assert [a.job for a in await store.attempts(queue=QUEUE, task="a")] == ["000045", "000047"]
        await store.import_state(QUEUE, {"a": Counters()}, {})
        assert (await store.task(QUEUE, "a")).status is TaskStatus.DONE
        await scene.define(entry("gone"))
        assert (await store.task(QUEUE, "gone")).status is TaskStatus.RETRY

    async def test_a_v3_state_without_history_is_taken_over_once_too(
        self, store: Store, scene: Scene
    ) -> None:
        await store.open_queue(QUEUE)
        await store.import_state(QUEUE, {"a": Counters(done=True)}, {})
        await store.import_state(QUEUE, {"a": Counters()}, {})
        await scene.define(entry("a"))
        assert await scene.statuses() == {"a": "DONE"}

    async def test_runs_of_v3_are_no_runs_of_this_homes_jobs(
        self, store: Store, scene: Scene
    ) -> None:
        await store.open_queue(QUEUE)
        job = await scene.job()
        await store.import_state(
            QUEUE, {"a": Counters()}, {"a": [PastRun(job, NOON, NOON, "failed")]}
        )
        assert list(await store.attempts(job=job)) == []
        assert (await store.record(job)).attempts == ()

    async def test_a_queue_with_a_story_of_its_own_takes_none_over(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        await scene.run(await scene.worker(queue=QUEUE), FAILED)
        await store.import_state(QUEUE, {"a": Counters(done=True)}, {})
        assert (await store.task(QUEUE, "a")).status is TaskStatus.RETRY

    async def test_history_has_v3s_words(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a", max_retries=9))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED, PREEMPTED, interrupted(Cause.STALE), SUCCEEDED)
        runs = (await store.history(QUEUE))["a"]
        words = [run.status for run in runs]
        assert words == ["failed", "interrupted", "stale_cleanup", "completed"]
        assert {run.job for run in runs} == {lease.job}
        assert all(run.started and run.ended and run.started < run.ended for run in runs)
