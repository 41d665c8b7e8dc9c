"""What front ends and reapers remember between runs."""

from jobman_core.interfaces.store import Store
from jobman_core.models.notice import Audience, NoticeKind, NotifyRule
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import QUEUE, Scene, draft, entry


class MemoryContract(BaseContract):
    """What front ends and reapers remember between runs."""

    async def test_what_was_remembered_is_recalled_by_every_process(
        self, store: Store, other: Store
    ) -> None:
        facts = {"cursor": 7, "day": "2026-12-01", "told": {"ts": "1.5", "of": [1, 2]}}
        await store.remember("slack", facts)
        assert await other.recall("slack") == facts
        assert await other.recall("reap") == {}

    async def test_a_fact_is_replaced_and_forgotten_with_its_neighbours_left(
        self, store: Store
    ) -> None:
        await store.remember("slack", {"a": 1, "b": 2})
        await store.remember("slack", {"a": None, "b": 3, "c": False})
        await store.remember("reap", {"b": None})
        assert await store.recall("slack") == {"b": 3, "c": False}

    async def test_facts_are_recalled_by_what_their_keys_begin_with(self, store: Store) -> None:
        await store.remember("slack", {"told/2": 2, "told/1": 1, "told%": 3, "cursor": 9})
        found = await store.recall("slack", prefix="told/")
        assert list(found.items()) == [("told/1", 1), ("told/2", 2)]

    async def test_who_is_told_of_a_queue_is_known_until_its_file_says_something_else(
        self, store: Store, scene: Scene
    ) -> None:
        rule = NotifyRule(Audience.OWNER, (NoticeKind.FAILED,))
        await scene.define(entry("a"), notify=rule)
        assert (await store.queue(QUEUE)).notify == rule
        await scene.define(entry("a"))
        assert (await store.queue(QUEUE)).notify is None

    async def test_who_is_told_of_a_job_is_known_and_follows_its_file(
        self, store: Store, scene: Scene
    ) -> None:
        rule = NotifyRule(Audience.NOBODY)
        job = await scene.job(notify=rule)
        assert (await store.record(job)).job.notify == rule
        await store.set_spec(job, draft(), spec_hash="new")
        assert (await store.record(job)).job.notify is None
