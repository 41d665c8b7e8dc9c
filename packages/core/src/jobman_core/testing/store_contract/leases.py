"""Controllers, leases and the fence."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from jobman_core.errors import HeldError, StaleLeaseError
from jobman_core.interfaces.store import Note, Store, Wish
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Desired, Ending, EndingKind, Step
from jobman_core.models.lease import Lease
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import (
    NOON,
    OFFER,
    QUEUE,
    SUCCEEDED,
    Scene,
    controller,
    entry,
    slice_of,
)

_NOTE = Note("test.note", "a note")
_ENDING = Ending(EndingKind.FAILED, "its command failed")

Write = Callable[[Store, Lease, Attempt], Awaitable[object]]
#: Every method that a controller acts with.
_FENCED: dict[str, Write] = {
    "set_step": lambda store, lease, _: store.set_step(lease, Step.EXECUTE, "why"),
    "set_ending": lambda store, lease, _: store.set_ending(lease, _ENDING),
    "check_lease": lambda store, lease, _: store.check_lease(lease),
    "open_slice": lambda store, lease, _: store.open_slice(lease, slice_of(lease.job, 2), _NOTE),
    "save_slice": lambda store, lease, _: store.save_slice(lease, slice_of(lease.job, 1)),
    "open_attempt": lambda store, lease, _: store.open_attempt(lease, generation=1, now=NOON),
    "save_attempt": lambda store, lease, attempt: store.save_attempt(lease, attempt),
    "end_attempt": lambda store, lease, attempt: store.end_attempt(
        lease, attempt.token, SUCCEEDED, now=NOON
    ),
    "claim": lambda store, lease, _: store.claim(lease, QUEUE, OFFER, generation=1, now=NOON),
}


class LeasesContract(BaseContract):
    """Controllers, leases and the fence."""

    async def test_a_lease_is_held_by_one(self, store: Store, scene: Scene) -> None:
        lease = await scene.worker()
        await store.register(controller("second"))
        with pytest.raises(HeldError):
            await store.take_lease(lease.job, "second", instead_of=None)
        await store.check_lease(lease)

    async def test_epochs_rise_and_never_fall(self, store: Store, scene: Scene) -> None:
        first = await scene.worker()
        second = await scene.lease(first.job, instead_of=first)
        await store.drop_lease(second)
        third = await scene.lease(first.job)
        await store.retire(third.controller)
        fourth = await scene.lease(first.job)
        epochs = [lease.epoch for lease in (first, second, third, fourth)]
        assert epochs == sorted(set(epochs))

    async def test_of_two_that_saw_the_same_loss_one_takes_over(
        self, store: Store, other: Store, scene: Scene
    ) -> None:
        lost = await scene.worker()
        for name in ("one", "two"):
            await store.register(controller(name))
        results = await asyncio.gather(
            store.take_lease(lost.job, "one", instead_of=lost),
            other.take_lease(lost.job, "two", instead_of=lost),
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in results) == ["HeldError", "Lease"]

    @pytest.mark.parametrize("method", _FENCED)
    async def test_who_was_replaced_can_do_nothing(
        self, store: Store, scene: Scene, method: str
    ) -> None:
        await scene.define(entry("a"), entry("b"))
        old = await scene.worker(queue=QUEUE)
        await store.open_slice(old, slice_of(old.job, 1), _NOTE)
        claim = await scene.must_claim(old)
        new = await scene.lease(old.job, instead_of=old)
        before = await store.version()
        with pytest.raises(StaleLeaseError):
            await _FENCED[method](store, old, claim.attempt)
        assert await store.version() == before
        await store.check_lease(new)

    @pytest.mark.parametrize("method", _FENCED)
    async def test_who_gave_its_lease_back_can_do_nothing(
        self, store: Store, scene: Scene, method: str
    ) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        await store.open_slice(lease, slice_of(lease.job, 1), _NOTE)
        claim = await scene.must_claim(lease)
        await store.drop_lease(lease)
        with pytest.raises(StaleLeaseError):
            await _FENCED[method](store, lease, claim.attempt)

    async def test_a_beat_is_kept_and_a_retired_controller_learns_that_it_is_one(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        await store.beat(lease.controller, 1234.5)
        holder = (await store.record(lease.job)).holder
        assert holder is not None
        assert holder[1].beat == 1234.5
        await store.retire(lease.controller)
        assert (await store.record(lease.job)).holder is None
        with pytest.raises(StaleLeaseError):
            await store.beat(lease.controller, 1250.0)
        with pytest.raises(StaleLeaseError):
            await store.take_lease(lease.job, lease.controller, instead_of=None)

    async def test_a_lease_given_back_late_does_no_harm(self, store: Store, scene: Scene) -> None:
        old = await scene.worker()
        new = await scene.lease(old.job, instead_of=old)
        await store.drop_lease(old)
        await store.check_lease(new)

    async def test_who_takes_its_own_lease_again_goes_on_with_the_new_one(
        self, store: Store, scene: Scene
    ) -> None:
        old = await scene.worker()
        new = await store.take_lease(old.job, old.controller, instead_of=None)
        assert new.epoch > old.epoch
        await store.check_lease(new)
        with pytest.raises(StaleLeaseError):
            await store.check_lease(old)

    async def test_news_tell_a_controller_what_is_wanted_of_all_its_jobs(
        self, store: Store, scene: Scene
    ) -> None:
        await scene.define(entry("a"))
        first = await scene.worker(queue=QUEUE)
        other = await scene.worker()
        lease = await store.take_lease(await scene.job(), first.controller, instead_of=None)
        claim = await scene.must_claim(first)
        await store.ask_end(claim.attempt.token, "stopped")
        await scene.cancel(lease.job)
        news = await store.news(first.controller)
        assert news.wishes == {
            first.job: Wish(first.epoch, Desired.STOPPED, {claim.attempt.token: "stopped"}),
            lease.job: Wish(lease.epoch, Desired.CANCELLED),
        }
        assert set((await store.news(other.controller)).wishes) == {other.job}
        await scene.end(first, claim, SUCCEEDED)
        assert (await store.news(first.controller)).wishes[first.job].ends == {}

    async def test_news_tell_when_a_queue_has_changed(self, store: Store, scene: Scene) -> None:
        await scene.define(entry("a"))
        lease = await scene.worker(queue=QUEUE)
        seen = [(await store.news(lease.controller)).queues[QUEUE]]
        claim = await scene.must_claim(lease)
        seen.append((await store.news(lease.controller)).queues[QUEUE])
        await scene.end(lease, claim, SUCCEEDED)
        seen.append((await store.news(lease.controller)).queues[QUEUE])
        await store.reset(QUEUE, ["a"], _NOTE)
        seen.append((await store.news(lease.controller)).queues[QUEUE])
        assert seen == sorted(set(seen))
