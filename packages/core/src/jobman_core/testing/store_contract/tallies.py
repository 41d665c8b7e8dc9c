"""How queues stand, at a glance."""

from collections import Counter

from jobman_core.interfaces.store import Note, Store
from jobman_core.models.slice import Offer
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import FAILED, QUEUE, SUCCEEDED, ZONE, Scene, entry

_NOTE = Note("test.note", "a note")
_SMALL = Offer("v4-8", ZONE, 1)


class TalliesContract(BaseContract):
    """How queues stand, at a glance."""

    async def test_each_status_is_counted_as_the_tasks_themselves_say(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(
            entry("done"),
            entry("failed", max_retries=1),
            entry("blocked", depends_on=("failed",)),
            entry("retry"),
            entry("running"),
            entry("waiting", depends_on=("running",)),
            *(entry(f"pending-{number}") for number in range(3)),
        )
        lease = await scene.worker(queue=QUEUE)
        for outcome in (SUCCEEDED, FAILED, FAILED):
            await scene.run(lease, outcome)
        await store.prioritize(QUEUE, "running", _NOTE)
        await scene.must_claim(lease)
        (tally,) = await store.tallies()
        assert tally.queue == await store.queue(QUEUE)
        assert tally.tasks == ()
        assert tally.counts == Counter((await scene.statuses()).values())
        assert len(tally.counts) == 7

    async def test_what_runs_comes_before_what_failed_and_what_could_start(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(
            entry("later", depends_on=("running",)),
            entry("failed", max_retries=1),
            entry("next"),
            entry("running", accelerator="v4-8"),
            entry("done"),
        )
        lease = await scene.worker(queue=QUEUE)
        await scene.run(lease, FAILED)
        await store.mark_done(QUEUE, "done", _NOTE)
        await scene.must_claim(lease, _SMALL)
        (tally,) = await store.tallies(tasks=9)
        assert [task.id for task in tally.tasks] == ["running", "failed", "next", "later"]
        assert list(tally.tasks) == [await store.task(QUEUE, task.id) for task in tally.tasks]
        (fewer,) = await store.tallies(tasks=2)
        assert fewer.tasks == tally.tasks[:2]

    async def test_only_a_queue_that_has_changed_is_read_again(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        await scene.define(entry("b"), path="/home/lab/other.yaml")
        before = await store.tallies(tasks=9)
        assert all(
            a is b for a, b in zip(await store.tallies(before, tasks=9), before, strict=True)
        )
        await store.mark_done(QUEUE, "a", _NOTE)
        changed, same = await store.tallies(before, tasks=9)
        assert changed.counts == {"DONE": 1}
        assert same is before[1]
