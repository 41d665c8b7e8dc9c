"""What a controller tells people, who are elsewhere: long waits, silent hosts, losses."""

import asyncio
from pathlib import Path

import attrs
from tests.core.run.scene import Scene, loop

from jobman_core.errors import StockoutError
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Desired
from jobman_core.models.slice import Absent, Present, SlicePhase
from jobman_core.run.news import news_of
from jobman_core.run.slices import Slices
from jobman_core.run.stuck import waiting_since
from jobman_core.run.watch import TELL_AFTER, Watch
from jobman_core.testing.store_contract.scene import NOON, slice_of

LONG = 600.0


async def told(scene: Scene, kind: str) -> list[str]:
    events = await scene.store.events(job=scene.job, limit=100_000)
    return [event.text for event in events if event.kind == kind]


async def test_a_job_that_waits_long_for_a_slice_is_told_of_once(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.cloud.refusals.extend([StockoutError("no capacity in here")] * 1000)
        scene.stuck_after = LONG
        scene.start()
        await scene.pass_time(0.9 * LONG)
        assert await told(scene, "job.stuck") == []
        await scene.pass_time(LONG)
        (text,) = await told(scene, "job.stuck")
        assert text.startswith("has waited 0.")
        assert "no capacity in here" in text
        await scene.pass_time(2 * LONG)
        # Whoever drives it next knows that people were told.
        await scene.crash()
        scene.start()
        await scene.pass_time(2 * LONG)
        assert len(await told(scene, "job.stuck")) == 1


async def test_a_wait_goes_on_whoever_drives_the_job(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.cloud.refusals.extend([StockoutError("no capacity in here")] * 1000)
        scene.stuck_after = LONG
        scene.start()
        await scene.pass_time(0.6 * LONG)
        await scene.crash()
        scene.start()
        await scene.pass_time(0.6 * LONG)
        assert len(await told(scene, "job.stuck")) == 1


async def test_a_job_that_is_started_again_begins_to_wait_anew(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        note = Note("job.started", "starts")
        await scene.pass_time(LONG)
        await scene.store.set_desired(scene.job, Desired.RUNNING, note)
        events = await scene.store.events(job=scene.job)
        assert waiting_since(events) == scene.clock.now()


async def test_hosts_that_are_silent_for_long_are_told_of_before_the_slice_is_given_up(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, _ = await scene.until_running()
        fleet.silence(0, "no route to it")
        await scene.pass_time(TELL_AFTER / 2)
        assert await told(scene, "hosts.silent") == []
        await scene.pass_time(TELL_AFTER)
        (text,) = await told(scene, "hosts.silent")
        assert "host 0" in text
        assert "no route to it" in text
        assert "READY" in text


async def test_a_second_silence_is_told_of_as_well(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        fleet, _ = await scene.until_running()
        for _ in range(2):
            fleet.silence(0, "no route")
            await scene.pass_time(1.5 * TELL_AFTER)
            fleet.speak(0)
            await scene.pass_time(60)
        assert len(await told(scene, "hosts.silent")) == 2


async def test_many_hosts_that_are_silent_at_once_are_told_of_once(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.start()
        await scene.until_running()
        await scene.crash()
        async with scene.acting() as ctx:
            slice_ = (await ctx.record()).slice
            assert slice_ is not None
            watch = Watch(Slices(ctx, ctx.clock.sleep), slice_, ctx)
            looking = asyncio.create_task(watch.lost())
            await scene.pass_time(60)
            since = [scene.clock.monotonic() + host for host in range(3)]
            await scene.pass_time(1.5 * TELL_AFTER)
            # A step asks for each host, again and again.
            for host in (0, 1, 2, 0, 1, 2):
                await watch.tell_of_silence(since[host], f"host {host} does not answer")
            assert len(await told(scene, "hosts.silent")) == 1
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)


def test_what_was_given_back_is_no_loss_however_it_goes() -> None:
    ready = slice_of("000001", 1, phase=SlicePhase.READY, ready_at=NOON, state="READY")
    going = Present(SlicePhase.DELETING, "DELETING", ready.hosts)
    kinds = [
        news[1].kind
        for slice_ in (ready, attrs.evolve(ready, withdrawn=True))
        for seen in (going, Absent())
        if (news := news_of(slice_, seen, NOON))
    ]
    assert kinds == ["slice.vanished", "slice.vanished", "slice.state", "slice.state"]


async def test_a_slice_that_was_lost_before_anybody_used_it_is_no_loss_to_people(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, **loop()) as scene:
        scene.cloud.provisioning = 1000.0
        scene.start()
        await scene.until(lambda: scene.cloud.slices)
        await scene.pass_time(5)
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "PREEMPTED")
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert "slice.lost_early" in await scene.kinds()
        assert "slice.preempted" not in await scene.kinds()
