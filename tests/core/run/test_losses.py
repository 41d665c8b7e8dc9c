"""What is lost with a slice is no failure, and what cannot be proved is not taken as proved."""

from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import Scene, loop

from jobman_core.errors import TransientCloudError
from jobman_core.interfaces.store import Note
from jobman_core.models.attempt import HostState
from jobman_core.models.job import Desired
from jobman_core.models.slice import (
    Observation,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
)
from jobman_core.testing.fakes import FakeCloud

WIDE = SliceRequest("fake", "v4-32", "here")
HERE = SliceRequest("fake", "v4-8", "here")
THERE = SliceRequest("fake", "v4-8", "there")


async def test_programs_that_die_of_the_loss_of_their_peers_have_not_failed(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop(candidates=(WIDE,))) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        # Host 0 says exit 1 in the very moment in which the slice goes.
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "PREEMPTED")
        fleet.finish(token, 0, 1)
        fleet.lose()
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert (await scene.outcomes())[0] == ("interrupted", "preempted")
        assert (await scene.record()).job.restarts == 0


async def test_a_failure_beside_a_silent_host_waits_for_what_the_cloud_says(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop(candidates=(WIDE,))) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        fleet.silence(3)
        fleet.finish(token, 0, 1)
        await scene.pass_time(60)
        assert await scene.outcomes() == [("live", "")]
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "PREEMPTED")
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert (await scene.outcomes())[0] == ("interrupted", "preempted")


async def test_hosts_that_hang_do_not_hold_up_the_end_once_the_cloud_says_that_they_are_gone(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, _ = await scene.until_running()
        fleet.hung.add(0)
        scene.cloud.force("job-1-g1", SlicePhase.LOSING, "SUSPENDING")
        await scene.pass_time(20)
        assert await scene.outcomes() == [("live", "")]
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "SUSPENDED")
        await scene.pass_time(4)
        assert await scene.first_end() == ("interrupted", "preempted")


async def test_a_loss_that_the_cloud_tells_of_a_moment_after_its_hosts_fell_silent_is_seen_soon(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, _ = await scene.until_running()
        fleet.silence(0)
        await scene.pass_time(1)
        assert await scene.outcomes() == [("live", "")]
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "PREEMPTED")
        await scene.pass_time(2)
        assert await scene.first_end() == ("interrupted", "preempted")


async def test_a_failure_on_a_slice_that_stands_stays_one(tmp_path: Path) -> None:
    async with Scene(tmp_path, candidates=(WIDE,)) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        fleet.silence(3)
        fleet.finish(token, 0, 1)
        await scene.pass_time(20)
        fleet.speak(3)
        await scene.over()
        assert await scene.outcomes() == [("failed", "exited")]


async def test_a_host_that_has_lost_all_trace_of_a_program_proves_nothing(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        del fleet.programs[token, 0]
        fleet.changed()
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert scene.cloud.calls[:2] == ["create job-1-g1", "delete job-1-g1"]
        assert (await scene.outcomes())[0][0] == "interrupted"


@pytest.mark.parametrize("others", [HostState.RUNNING, HostState.NONE])
async def test_an_attempt_that_was_ended_on_one_host_is_ended_on_all_and_is_no_failure(
    tmp_path: Path, others: HostState
) -> None:
    async with Scene(tmp_path, **loop(candidates=(WIDE,))) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        # Its controller dies after the first host has confirmed.
        await scene.crash()
        for host in range(4):
            fleet.programs[token, host].state = others if host else HostState.ENDED
        scene.start()
        again = await scene.until(lambda: t if (t := scene.running()) != token else None)
        assert {fleet.program(token, host).state for host in range(4)} == {HostState.ENDED}
        assert again != token
        assert await scene.outcomes() == [("interrupted", "stopped"), ("live", "")]


async def test_a_delete_needs_no_word_of_hosts_that_are_silent(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, _ = await scene.until_running()
        fleet.silence(0)
        await scene.store.set_desired(scene.job, Desired.DELETED, Note("job.deleted", "delete"))
        await scene.over()
        assert scene.cloud.slices == {}
        assert await scene.outcomes() == [("interrupted", "cancelled")]


async def test_a_wish_to_delete_is_on_the_books_with_the_slice_it_is_about(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        await scene.until_running()
        await scene.crash()
        await scene.store.set_desired(scene.job, Desired.CANCELLED, Note("job.cancelled", "cancel"))
        record = await scene.record()
        assert [slice_.generation for slice_ in record.withdrawing] == [1]


async def test_a_request_that_may_be_on_its_way_is_not_left_for_another_zone(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, candidates=(HERE, THERE)) as scene:
        scene.cloud.refusals.extend([TransientCloudError("503")] * 3)
        scene.start()
        await scene.until_running()
        assert [s.request.zone for s in scene.cloud.slices.values()] == ["here"]
        assert set(scene.cloud.calls) == {"create job-1-g1"}


class Hanging(FakeCloud):
    """A cloud that never answers, while it hangs."""

    hangs = False

    async def observe(self, identity: SliceIdentity) -> Observation:
        while self.hangs:
            await self.context.clock.sleep(3600)
        return await super().observe(identity)


async def test_a_cloud_that_never_answers_holds_up_neither_the_work_nor_a_stop(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        cloud = Hanging(scene.cloud.context)
        scene.cloud = cloud
        scene.start()
        fleet, token = await scene.until_running()
        cloud.hangs = True
        await scene.pass_time(300)
        assert fleet.program(token, 0).state is HostState.RUNNING
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stop"))
        await scene.until(lambda: fleet.program(token, 0).state is HostState.ENDED)
        cloud.hangs = False
        await scene.over()
        assert await scene.outcomes() == [("interrupted", "stopped")]


@pytest.mark.parametrize("desired", [Desired.CANCELLED, Desired.DELETED])
async def test_nothing_takes_a_withdrawal_back(tmp_path: Path, desired: Desired) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        await scene.until_running()
        (before,) = await scene.store.slices(scene.job)
        held = (await scene.record()).holder
        assert held
        await scene.store.set_desired(scene.job, desired, Note("job.x", "x"))
        # The controller writes what it saw a moment ago.
        await scene.store.save_slice(held[0], attrs.evolve(before, withdrawn=False))
        (after,) = await scene.store.slices(scene.job)
        assert after.withdrawn
