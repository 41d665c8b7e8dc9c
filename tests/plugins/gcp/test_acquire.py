"""How the core gets a job's slices from an emulated Cloud TPU, and gives them back."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs
import pytest
from tests.core.run.scene import Scene
from tests.plugins.gcp.conftest import MakeCloud

from jobman_core.clock import SystemClock
from jobman_core.models.place import Where
from jobman_core.models.slice import Slice, SlicePhase, SliceRequest
from jobman_core.run.context import JobContext
from jobman_core.run.slices import Slices
from jobman_core.run.watch import Watch
from jobman_core.testing.cloud_contract import until_phase
from jobman_emulator.server import Emulator

pytestmark = pytest.mark.e2e

if TYPE_CHECKING:
    from jobman_core.testing.fakes import FakeClock

FULL, ROOMY, ACCELERATOR = "europe-west4-b", "us-central1-a", "v5p-16"
THERE = SliceRequest("gcp", ACCELERATOR, FULL, pricing="spot", runtime="v2-alpha-tpuv5")
HERE = attrs.evolve(THERE, zone=ROOMY)
QUEUED = attrs.evolve(HERE, mode="queued-resources")
#: A job's user and the public key that its hosts would let in.
PUBLIC_KEY = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1XZ4v6fVY0Q1m7b0aS0m3n8T6y1q2w3e4r5t6y7u8i test\n"
)


class RealTime(Scene):
    """A job on the gcp cloud, with the machine's own clock."""

    def __init__(
        self, root: Path, make_cloud: MakeCloud, candidates: Sequence[SliceRequest]
    ) -> None:
        key = root / "key"
        super().__init__(
            root / "home",
            candidates=tuple(candidates),
            sections={"ssh": {"private_key": str(key)}},
            tpu_name="train",
        )
        key.write_text("not read")
        key.with_name("key.pub").write_text(PUBLIC_KEY)
        self.clock = cast("FakeClock", SystemClock())
        self.gcp = make_cloud()
        self.cloud = self.gcp  # type: ignore[assignment]


@pytest.fixture(params=[HERE, QUEUED], ids=["node", "queued resource"])
async def ctx(
    request: pytest.FixtureRequest, tmp_path: Path, make_cloud: MakeCloud
) -> AsyncIterator[JobContext]:
    async with RealTime(tmp_path, make_cloud, (request.param,)) as scene, scene.acting() as ctx:
        yield ctx


async def give_back(ctx: JobContext, slice_: Slice) -> None:
    gone = await Slices(ctx, ctx.clock.sleep).give_back(slice_, ctx.clock.sleep)
    assert gone.gone_at is not None


async def test_a_place_that_has_none_is_left_for_the_next_and_nothing_stays_there(
    tmp_path: Path, make_cloud: MakeCloud, emulator: Emulator
) -> None:
    await emulator.control.capacity(FULL, ACCELERATOR, 0)
    async with RealTime(tmp_path, make_cloud, (THERE, HERE)) as scene, scene.acting() as ctx:
        slice_ = await Slices(ctx, ctx.clock.sleep).acquire()
        assert slice_.request == HERE
        assert set(await ctx.store.stockouts(map(Where.of, (THERE, HERE)))) == {Where.of(THERE)}
        assert emulator.control.counts().nodes == 1
        await give_back(ctx, slice_)
        assert emulator.control.counts().nodes == 0


async def test_a_queued_resource_that_fails_is_deleted_before_the_next_is_asked_for(
    tmp_path: Path, make_cloud: MakeCloud, emulator: Emulator
) -> None:
    await emulator.control.fail_next("CreateQueuedResource", code=13, message="internal", late=True)
    async with RealTime(tmp_path, make_cloud, (QUEUED,)) as scene, scene.acting() as ctx:
        slice_ = await Slices(ctx, ctx.clock.sleep).acquire()
        first, second = await ctx.store.slices(ctx.job.id)
        assert first.gone_at is not None
        assert second == slice_
        assert emulator.control.counts().queued_resources == 1
        await give_back(ctx, slice_)


@pytest.mark.parametrize("order", ["suspending-first", "node-first"])
async def test_a_preempted_slice_is_seen_to_be_and_is_followed_by_the_next(
    ctx: JobContext, emulator: Emulator, order: str
) -> None:
    slices = Slices(ctx, ctx.clock.sleep)
    slice_ = await slices.acquire()
    assert len(slice_.hosts) == slice_.request.hosts
    watch = Watch(slices, slice_, ctx)
    lost = asyncio.create_task(watch.lost())
    preempted = asyncio.create_task(emulator.control.preempt(slice_.identity.name, order=order))
    async with asyncio.timeout(20):
        assert (await lost).lost_at is not None
        await preempted
        await until_phase(ctx.cloud, slice_.identity, SlicePhase.LOST)
    following = await slices.acquire()
    assert following.generation == 2
    counts = emulator.control.counts()
    assert (counts.nodes, counts.queued_resources) in {(1, 0), (1, 1)}
    await give_back(ctx, following)
    counts = emulator.control.counts()
    assert (counts.nodes, counts.queued_resources) == (0, 0)


async def test_a_slice_that_stands_is_watched_by_lists_that_all_share(
    ctx: JobContext, emulator: Emulator
) -> None:
    slices = Slices(ctx, ctx.clock.sleep)
    slice_ = await slices.acquire()
    # Nobody can look at it alone.
    await emulator.control.fail_next("GetNode", code=14, times=1000)
    await emulator.control.fail_next("GetQueuedResource", code=14, times=1000)
    seen = await Slices(ctx, ctx.clock.sleep).glance(slice_, 1.0)
    assert await slices.note(slice_, seen) == slice_
    await emulator.control.reset()
    await give_back(ctx, slice_)
