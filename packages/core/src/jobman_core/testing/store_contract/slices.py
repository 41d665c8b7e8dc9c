"""The books on slices."""

import attrs
import pytest

from jobman_core.errors import HeldError, InvalidInputError, NotFoundError
from jobman_core.interfaces.store import Note, Store
from jobman_core.models.slice import SlicePhase
from jobman_core.models.zone import Zone
from jobman_core.testing.store_contract.base import BaseContract
from jobman_core.testing.store_contract.scene import NOON, Scene, slice_of

_NOTE = Note("test.note", "a note")


class SlicesContract(BaseContract):
    """The books on slices."""

    async def test_what_is_known_of_a_slice_comes_back_as_it_was(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        first = slice_of(lease.job, 1)
        await store.open_slice(lease, first, _NOTE)
        assert await store.slices(lease.job) == [first]
        ready = attrs.evolve(
            first, state="READY", phase=SlicePhase.READY, ready_at=NOON, detail="said so"
        )
        await store.save_slice(lease, ready, Note("slice.ready", "it is ready"))
        assert (await store.record(lease.job)).slice == ready
        assert (await scene.kinds())[-1] == "slice.ready"

    async def test_a_new_generation_waits_until_the_last_is_withdrawn_or_gone(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        first, second = slice_of(lease.job, 1), slice_of(lease.job, 2)
        await store.open_slice(lease, first, _NOTE)
        with pytest.raises(HeldError):
            await store.open_slice(lease, second, _NOTE)
        await store.save_slice(lease, attrs.evolve(first, withdrawn=True))
        await store.open_slice(lease, second, _NOTE)
        await store.save_slice(lease, attrs.evolve(second, gone_at=NOON))
        with pytest.raises(HeldError):
            await store.open_slice(lease, second, _NOTE)
        await store.open_slice(lease, slice_of(lease.job, 3), _NOTE)
        assert [s.generation for s in await store.slices(lease.job)] == [1, 2, 3]

    async def test_where_slices_were_asked_for_is_known_for_ever_and_told_once(
        self, store: Store, scene: Scene
    ) -> None:
        assert await store.zones() == []
        for zone, project in (("b", ""), ("a", "lab"), ("b", ""), ("b", "lab")):
            lease = await scene.worker()
            first = slice_of(lease.job, 1)
            identity = attrs.evolve(first.identity, zone=zone, project=project)
            await store.open_slice(lease, attrs.evolve(first, identity=identity), _NOTE)
            await store.save_slice(lease, attrs.evolve(first, identity=identity, gone_at=NOON))
            await scene.cancel(lease.job)
        expected = [Zone("local", "b"), Zone("local", "a", "lab"), Zone("local", "b", "lab")]
        assert await store.zones() == expected

    async def test_a_loss_counts_as_a_recovery_once_the_next_is_asked_for(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        lost = slice_of(lease.job, 1, lost_at=NOON, gone_at=NOON)
        given_back = slice_of(lease.job, 2, gone_at=NOON)
        await store.open_slice(lease, slice_of(lease.job, 1), _NOTE)
        await store.save_slice(lease, lost)
        assert (await store.record(lease.job)).job.recoveries == 0
        await store.open_slice(lease, slice_of(lease.job, 2), _NOTE)
        assert (await store.record(lease.job)).job.recoveries == 1
        await store.save_slice(lease, given_back)
        await store.open_slice(lease, slice_of(lease.job, 3), _NOTE)
        assert (await store.record(lease.job)).job.recoveries == 1

    async def test_a_withdrawal_is_not_undone_by_who_had_not_heard_of_it(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        slice_ = slice_of(lease.job, 1)
        await store.open_slice(lease, slice_, _NOTE)
        await scene.cancel(lease.job)
        await store.save_slice(lease, attrs.evolve(slice_, state="READY"), _NOTE)
        (kept,) = (await store.record(lease.job)).withdrawing
        assert (kept.state, kept.withdrawn) == ("READY", True)

    async def test_a_withdrawn_slice_is_on_the_books_until_it_is_gone(
        self, store: Store, scene: Scene
    ) -> None:
        lease = await scene.worker()
        withdrawn = slice_of(lease.job, 1, withdrawn=True)
        await store.open_slice(lease, slice_of(lease.job, 1), _NOTE)
        await store.save_slice(lease, withdrawn)
        assert (await store.record(lease.job)).withdrawing == (withdrawn,)
        await store.save_slice(lease, attrs.evolve(withdrawn, gone_at=NOON))
        assert (await store.record(lease.job)).withdrawing == ()

    async def test_a_slice_that_is_not_on_the_books_or_another_jobs_is_refused(
        self, store: Store, scene: Scene
    ) -> None:
        lease, other = await scene.worker(), await scene.worker()
        with pytest.raises(NotFoundError):
            await store.save_slice(lease, slice_of(lease.job, 1))
        with pytest.raises(InvalidInputError):
            await store.open_slice(lease, slice_of(other.job, 1), _NOTE)
