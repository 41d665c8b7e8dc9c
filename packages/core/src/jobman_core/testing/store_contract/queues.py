"""Claims, and what becomes of tasks."""

import asyncio

import pytest

from jobman_core.errors import NotFoundError
from jobman_core.interfaces.store import Note, Store
from jobman_core.models.outcome import Cause, Outcome, interrupted
from jobman_core.models.slice import Offer
from jobman_core.models.task import Code, Counters, Repo, TaskStatus, Workers
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import (
    FAILED,
    NOON,
    OFFER,
    PREEMPTED,
    QUEUE,
    SUCCEEDED,
    ZONE,
    Scene,
    entry,
)

_NOTE = Note("test.note", "a note")
_OTHER = "/home/lab/other.yaml"


class QueuesContract(BaseContract):
    """Definitions, claims, and what becomes of tasks."""

    async def test_tasks_come_back_as_they_were_defined_in_the_files_order(
        self, store: Store, scene: Scene
    ) -> None:
        entries = [
            entry("z", zone=ZONE, repo=Repo("git@x:y", "main"), workdir="w", env="e", hide=True),
            entry("a b/ü$(id)", run="echo 'x'\n", workers=Workers("all"), max_jobs=3),
            entry("m", depends_on=("z", "a b/ü$(id)"), workers=Workers((0, 1)), max_retries=0),
            entry("s", code=Code("/home/ada/my code", "code", ("*.ckpt", "/it's")), workdir="code"),
        ]
        queue = await scene.define(*entries)
        tasks = await store.tasks(QUEUE)
        assert [task.spec for task in tasks] == entries
        assert all(task.run_id for task in tasks)
        assert len({task.run_id for task in tasks}) == 4
        assert [await store.task(QUEUE, e.id) for e in entries] == list(tasks)
        assert queue == await store.queue(QUEUE)
        assert list(await store.queues()) == [queue]

    async def test_each_further_queue_has_a_folder_of_its_own(self, store: Store) -> None:
        paths = ["/a/tasks.yaml", "/b/tasks.yaml", "/c/tasks.yaml", "/c/more.yaml"]
        folders = [(await store.open_queue(path)).folder for path in paths]
        assert folders[0] == ""
        assert len(set(folders)) == 4
        assert all(folder.startswith("@") for folder in folders[1:])
        assert [(await store.open_queue(path)).folder for path in paths] == folders

    async def test_two_queues_with_the_same_task_ids_keep_apart(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        await scene.define(entry("a"), path=_OTHER)
        lease = await scene.worker()
        assert (await scene.run(lease, SUCCEEDED)).status is TaskStatus.DONE
        assert (await store.task(_OTHER, "a")).status is TaskStatus.PENDING
        assert list(await store.attempts(queue=_OTHER)) == []
        await scene.run(lease, FAILED, path=_OTHER)
        assert (await store.task(QUEUE, "a")).counters.fail_count == 0

    async def test_an_unknown_queue_or_task_is_said_to_be_unknown(
        self, store: Store, scene: Scene
    ) -> None:
        with pytest.raises(NotFoundError, match="no queue"):
            await store.queue(QUEUE)
        await scene.define(entry("a"))
        with pytest.raises(NotFoundError, match="no task"):
            await store.task(QUEUE, "b")
        with pytest.raises(NotFoundError, match="no task"):
            await store.reset(QUEUE, ["a", "b"], _NOTE)

    async def test_the_problem_of_a_file_is_kept_until_it_is_mended(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        await store.set_problem(QUEUE, "tasks.yaml:3: a tab")
        assert (await store.queue(QUEUE)).problem == "tasks.yaml:3: a tab"
        assert (await store.events())[-1].kind == "queue.problem"
        await scene.define(entry("a"), entry("b"))
        assert (await store.queue(QUEUE)).problem == ""

    async def test_changes_rise_with_every_change_of_a_task(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker(queue=QUEUE)
        counts = [(await scene.define(entry("a"), entry("b"))).changes]
        claim = await scene.must_claim(lease)
        counts.append((await store.queue(QUEUE)).changes)
        await scene.end(lease, claim, FAILED)
        counts.append((await store.queue(QUEUE)).changes)
        await store.reset(QUEUE, ["a"], _NOTE)
        counts.append((await store.queue(QUEUE)).changes)
        assert counts == sorted(set(counts))

    async def test_a_worker_gets_what_its_slice_is_fit_for(self, scene: Scene) -> None:
        await scene.define(
            entry("other type", accelerator="v4-32"),
            entry("other zone", zone="elsewhere"),
            entry("too many hosts", workers=Workers((0, 2))),
            entry("fits", zone=ZONE),
        )
        lease = await scene.worker(queue=QUEUE)
        assert (await scene.must_claim(lease)).task.id == "fits"

    async def test_a_task_without_a_zone_runs_anywhere_and_types_have_two_names(
        self, scene: Scene
    ) -> None:
        await scene.define(entry("a", accelerator="v5e-8"))
        lease = await scene.worker(queue=QUEUE)
        offer = Offer("v5litepod-8", "anywhere", 1)
        assert (await scene.must_claim(lease, offer)).task.id == "a"

    async def test_the_files_order_holds_and_priority_comes_before_it_once(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("c"), entry("b", zone=ZONE), entry("a"))
        await store.prioritize(QUEUE, "a", Note("task.prioritized", "ada wants a first"))
        lease = await scene.worker(queue=QUEUE)
        took = []
        for _ in range(3):
            claim = await scene.must_claim(lease)
            took.append(claim.task.id)
            assert not claim.task.counters.priority
            await scene.end(lease, claim, SUCCEEDED)
        assert took == ["a", "c", "b"]
        assert await scene.claim(lease) is None

    async def test_under_contention_every_task_is_taken_once(
        self, store: Store, other: Store, scene: Scene
    ) -> None:
        await scene.define(*(entry(f"t{n}") for n in range(8)))
        leases = [await scene.worker(queue=QUEUE) for _ in range(10)]
        claims = await asyncio.gather(
            *(
                (store, other)[n % 2].claim(lease, QUEUE, OFFER, generation=1, now=NOON)
                for n, lease in enumerate(leases)
            )
        )
        took = [claim.task.id for claim in claims if claim is not None]
        assert sorted(took) == [f"t{n}" for n in range(8)]

    async def test_max_jobs_is_how_many_run_it_at_once(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a", max_jobs=2))
        one, two, three = [await scene.worker(queue=QUEUE) for _ in range(3)]
        first, second = await scene.must_claim(one), await scene.must_claim(two)
        assert await scene.claim(three) is None
        task = await store.task(QUEUE, "a")
        assert [run.job for run in task.running] == [one.job, two.job]
        assert (first.attempt.number, second.attempt.number) == (1, 2)
        await scene.end(one, first, FAILED)
        assert (await scene.must_claim(three)).task.id == "a"

    async def test_the_first_success_makes_it_done_and_no_other_starts(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a", max_jobs=2, max_retries=1))
        one, two, three = [await scene.worker(queue=QUEUE) for _ in range(3)]
        first, second = await scene.must_claim(one), await scene.must_claim(two)
        await scene.end(one, first, SUCCEEDED)
        task = await store.task(QUEUE, "a")
        assert task.status is TaskStatus.DONE
        assert [run.job for run in task.running] == [two.job]
        assert await scene.claim(three) is None
        await scene.end(two, second, FAILED)
        assert (await store.task(QUEUE, "a")).status is TaskStatus.DONE

    @pytest.mark.parametrize(("max_retries", "times"), [(3, 3), (1, 1), (0, 1)])
    async def test_a_failing_task_is_tried_so_often_in_all_then_it_failed(
        self, scene: Scene, max_retries: int, times: int
    ) -> None:
        await scene.define(entry("a", max_retries=max_retries))
        lease = await scene.worker(queue=QUEUE)
        for count in range(1, times):
            task = await scene.run(lease, FAILED)
            assert task.status is TaskStatus.RETRY
            assert f"failed {count} of {times} attempts" in task.reason
        task = await scene.run(lease, FAILED)
        assert task.status is TaskStatus.FAILED
        assert "exit 3 on host 1" in task.reason
        assert await scene.claim(lease) is None

    async def test_interruptions_use_up_nothing(self, scene: Scene) -> None:
        await scene.define(entry("a", max_retries=2))
        lease = await scene.worker(queue=QUEUE)
        task = await scene.run(lease, *[PREEMPTED] * 5)
        assert task.status is TaskStatus.PENDING
        assert (task.counters.fail_count, task.counters.run_count) == (0, 5)
        task = await scene.run(lease, FAILED, PREEMPTED)
        assert (task.status, task.counters.fail_count) == (TaskStatus.RETRY, 1)

    async def test_a_success_wipes_out_the_failures_before_it(self, scene: Scene) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        task = await scene.run(lease, FAILED, FAILED, SUCCEEDED)
        assert (task.status, task.counters.fail_count) == (TaskStatus.DONE, 0)

    async def test_attempts_of_a_task_share_a_run_id_until_it_is_reset(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED, SUCCEEDED)
        await store.reset(QUEUE, ["a"], _NOTE)
        await scene.run(lease, SUCCEEDED)
        attempts = await store.attempts(queue=QUEUE, task="a")
        first, second, third = (attempt.run_id for attempt in attempts)
        assert first == second != third
        assert [attempt.number for attempt in attempts] == [1, 2, 3]

    async def test_a_task_waits_for_all_that_it_depends_on(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("c", depends_on=("a", "b")), entry("a"), entry("b"))
        lease = await scene.worker(queue=QUEUE)
        assert (await store.task(QUEUE, "c")).reason == "waits for a, b"
        await scene.run(lease, SUCCEEDED)
        task = await store.task(QUEUE, "c")
        assert (task.status, task.reason) == (TaskStatus.WAITING, "waits for b")
        await scene.run(lease, SUCCEEDED)
        assert (await store.task(QUEUE, "c")).status is TaskStatus.PENDING
        assert (await scene.must_claim(lease)).task.id == "c"

    async def test_a_failure_for_good_blocks_all_that_depend_on_it_and_says_so(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(
            entry("root", max_retries=1),
            entry("mid", depends_on=("root",)),
            entry("leaf", depends_on=("mid",)),
            entry("free"),
        )
        lease = await scene.worker(queue=QUEUE)
        since = await scene.last_event()
        await scene.run(lease, FAILED)
        mid, leaf = await store.task(QUEUE, "mid"), await store.task(QUEUE, "leaf")
        assert (mid.status, leaf.status) == (TaskStatus.BLOCKED, TaskStatus.BLOCKED)
        assert mid.reason == "dependency root failed for good (exit 3 on host 1)"
        assert "root failed for good" in leaf.reason
        assert await store.tasks(QUEUE) == [
            await store.task(QUEUE, name) for name in ("root", "mid", "leaf", "free")
        ]
        kinds = await scene.kinds(since)
        assert kinds == [
            "task.claimed", "task.failed", "task.given_up", "task.blocked", "task.blocked",
        ]  # fmt: skip

    async def test_a_reset_unblocks_what_depends_on_it(self, store: Store, scene: Scene) -> None:
        await scene.define(
            entry("a", max_retries=1),
            entry("b", max_retries=1),
            entry("c", depends_on=("a", "b")),
            entry("d", depends_on=("c",)),
        )
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED, FAILED)
        await store.reset(QUEUE, ["a"], _NOTE)
        still = await store.task(QUEUE, "d")
        assert still.status is TaskStatus.BLOCKED
        assert "b failed for good" in still.reason
        await store.reset(QUEUE, ["b"], _NOTE)
        assert await scene.statuses() == {
            "a": "PENDING", "b": "PENDING", "c": "WAITING", "d": "WAITING",
        }  # fmt: skip

    async def test_a_reset_of_what_is_done_makes_others_wait_again(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"), entry("b", depends_on=("a",)))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, SUCCEEDED)
        await store.reset(QUEUE, ["a"], _NOTE)
        assert await scene.statuses() == {"a": "PENDING", "b": "WAITING"}

    async def test_a_reset_touches_no_attempt_that_runs(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        claim = await scene.must_claim(lease)
        await store.reset(QUEUE, ["a"], _NOTE)
        task = await store.task(QUEUE, "a")
        assert (task.status, task.counters.running) == (TaskStatus.RUNNING, 1)
        await scene.end(lease, claim, SUCCEEDED)
        assert (await store.task(QUEUE, "a")).status is TaskStatus.DONE

    @pytest.mark.parametrize(
        ("asked", "outcome"),
        [
            (False, interrupted(Cause.RESET)),
            (True, interrupted(Cause.RESET)),
            (True, SUCCEEDED),
            (True, FAILED),
            (True, PREEMPTED),
        ],
    )
    async def test_an_attempt_that_a_reset_ends_leaves_a_fresh_task(
        self, store: Store, scene: Scene, asked: bool, outcome: Outcome
    ) -> None:
        await scene.define(entry("a", max_retries=2))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED)
        claim = await scene.must_claim(lease)
        if asked:
            await store.ask_end(claim.attempt.token, Cause.RESET)
        await scene.end(lease, claim, outcome)
        task = await store.task(QUEUE, "a")
        assert task.status is TaskStatus.PENDING
        assert task.counters == Counters(run_count=2)
        assert task.run_id != claim.attempt.run_id
        assert (await store.attempts(queue=QUEUE, task="a"))[-1].outcome == outcome

    async def test_a_reset_that_ends_the_last_attempt_of_a_done_task_undoes_that(
        self, scene: Scene
    ) -> None:
        await scene.define(entry("a", max_jobs=2), entry("b", depends_on=("a",)))
        one, two = await scene.worker(queue=QUEUE), await scene.worker(queue=QUEUE)
        first, second = await scene.must_claim(one), await scene.must_claim(two)
        await scene.end(one, first, SUCCEEDED)
        assert await scene.statuses() == {"a": "DONE", "b": "PENDING"}
        await scene.end(two, second, interrupted(Cause.RESET))
        assert await scene.statuses() == {"a": "PENDING", "b": "WAITING"}
        assert (await scene.run(one, SUCCEEDED)).id == "a"
        assert (await scene.must_claim(two)).task.id == "b"

    async def test_a_task_can_be_called_done(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a", max_retries=1), entry("b", depends_on=("a",)))
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED)
        await store.mark_done(QUEUE, "a", Note("task.marked_done", "ada says that a is done"))
        task = await store.task(QUEUE, "a")
        assert task.status is TaskStatus.DONE
        assert (task.counters.failed, task.counters.fail_count) == (False, 1)
        assert (await store.task(QUEUE, "b")).status is TaskStatus.PENDING

    async def test_the_task_to_avoid_is_taken_only_if_nothing_else_fits(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"), entry("b"))
        lease = await scene.worker(queue=QUEUE)
        await store.set_avoid(lease.job, "a")
        claim = await scene.must_claim(lease)
        assert claim.task.id == "b"
        assert (await store.record(lease.job)).job.avoid_task is None
        await scene.end(lease, claim, SUCCEEDED)
        await store.set_avoid(lease.job, "a")
        assert (await scene.must_claim(lease)).task.id == "a"
        assert (await store.record(lease.job)).job.avoid_task is None

    async def test_demand_counts_what_is_ready_and_what_is_open(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(
            entry("a"), entry("b", depends_on=("a",)), entry("c", zone=ZONE),
            entry("d", accelerator="v5e-8"),
        )  # fmt: skip
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, SUCCEEDED)
        await scene.must_claim(lease)
        found = {(d.accelerator, d.zone): (d.ready, d.open) for d in await store.demand(QUEUE)}
        assert found == {
            ("v4-16", None): (0, 1),
            ("v4-16", ZONE): (1, 1),
            ("v5litepod-8", None): (1, 1),
        }
