"""A request that comes to nothing after it was taken on is a refusal, and leaves nothing behind."""

import itertools
from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import STEP, Scene, loop

from jobman_core.errors import (
    CloudError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
    UnfinishedError,
)
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Desired, EndingKind
from jobman_core.models.lease import Liveness
from jobman_core.models.place import Where
from jobman_core.models.slice import SliceIdentity, SlicePhase, SliceRequest
from jobman_core.testing.fakes import FakeCloud, LateRefusal
from jobman_core.views import status_of_record

HERE = SliceRequest("fake", "v4-8", "here")
THERE = SliceRequest("fake", "v4-8", "there")
BOTH = (HERE, THERE)
FULL = StockoutError("no more capacity in the zone")
ZERO = PermanentCloudError("Limit: 0 in region R")
#: Seconds between requests at the least; a test that looks every quarter may see them late.
WAITS = [wait - 2 * STEP for wait in (1, 2, 4, 8, 16, 32, 60, 60)]


def creates(cloud: FakeCloud) -> list[str]:
    return [call for call in cloud.calls if call.startswith("create")]


async def times_of_creates(scene: Scene, count: int) -> list[float]:
    """Start a controller and give the moments at which it asked, until it has so often."""
    times: list[float] = []

    def look() -> bool:
        asked = len(creates(scene.cloud))
        times.extend([scene.clock.monotonic()] * (asked - len(times)))
        return len(times) >= count

    scene.start()
    await scene.until(look)
    return times[:count]


@pytest.mark.parametrize(
    ("error", "husk"),
    [(error, husk) for error in (FULL, ZERO) for husk in (False, True)],
)
async def test_it_goes_on_to_the_next_candidate(
    tmp_path: Path, error: CloudError, husk: bool
) -> None:
    async with Scene(tmp_path, candidates=BOTH) as scene:
        scene.cloud.late.append(LateRefusal(error, husk))
        scene.start()
        await scene.until_running()
        (slice_,) = scene.cloud.slices.values()
        assert slice_.request == THERE
        assert str(error) in [e.text for e in await scene.store.events(job=scene.job)]
        assert (await scene.record()).job.recoveries == 0


async def test_a_husk_is_deleted_and_confirmed_absent_before_anything_is_asked_for(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.late.append(LateRefusal(FULL, husk=True))
        scene.start()
        await scene.until_running()
        assert scene.cloud.calls == ["create job-1-g1", "delete job-1-g1", "create job-1-g2"]
        first, _ = await scene.store.slices(scene.job)
        assert first.gone_at is not None


async def test_a_controller_that_dies_over_a_husk_is_followed_by_one_that_deletes_it(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.late.append(LateRefusal(FULL, husk=True))
        scene.cloud.unknown = "503"
        scene.start()
        await scene.until(lambda: scene.cloud.slices)
        await scene.crash()
        scene.cloud.unknown = None
        scene.start()
        await scene.until_running()
        assert list(scene.cloud.slices) == ["job-1-g2"]


@pytest.mark.parametrize("husk", [False, True])
async def test_a_place_that_is_always_full_is_asked_ever_more_seldom(
    tmp_path: Path, husk: bool
) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.late.extend([LateRefusal(FULL, husk)] * 1000)
        times = await times_of_creates(scene, 9)
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert all(gap >= least for gap, least in zip(gaps, WAITS, strict=True)), gaps
        scene.cloud.late.clear()
        await scene.until_running()


async def test_when_every_place_refuses_for_good_the_job_fails_with_all_reasons(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, candidates=BOTH) as scene:
        scene.cloud.late.extend([LateRefusal(ZERO), LateRefusal(PermanentCloudError("no v4"))])
        scene.start()
        await scene.over()
        ending = (await scene.record()).job.ending
        assert ending is not None
        assert ending.kind is EndingKind.FAILED
        assert ending.reason == "Limit: 0 in region R; no v4"
        assert len(creates(scene.cloud)) == 2


async def test_what_vanishes_before_it_is_ready_is_not_asked_for_in_a_hot_loop(
    tmp_path: Path,
) -> None:
    class Forgetful(FakeCloud):
        """Takes requests on and has forgotten them by the next look."""

        forgets = True

        async def create(self, *args: object) -> None:
            await super().create(*args)  # type: ignore[arg-type]
            if self.forgets:
                self.slices.clear()

    async with Scene(tmp_path) as scene:
        cloud = scene.cloud = Forgetful(scene.cloud.context)
        times = await times_of_creates(scene, 9)
        gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
        assert all(gap >= least for gap, least in zip(gaps, WAITS, strict=True)), gaps
        cloud.forgets = False
        await scene.until_running()
        assert list(cloud.slices) == ["job-1-g1"]


async def test_a_slice_that_was_ready_and_fails_is_lost_as_any_other(tmp_path: Path) -> None:
    async with Scene(tmp_path, **loop(candidates=BOTH)) as scene:
        scene.start()
        await scene.until_running()
        found = scene.cloud.slices["job-1-g1"]
        found.failure = LateRefusal(FULL, husk=True)
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert (await scene.outcomes())[0] == ("interrupted", "preempted")
        assert scene.cloud.slices["job-1-g2"].request == HERE
        assert (await scene.record()).job.recoveries == 1


async def test_a_stop_while_a_request_is_on_the_wire_leaves_no_slice(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.wire = 5.0
        scene.start()
        await scene.until(lambda: creates(scene.cloud))
        await scene.store.set_desired(scene.job, Desired.STOPPED, Note("job.stopped", "stop"))
        await scene.over()
        await scene.clock.advance(60)
        (slice_,) = await scene.store.slices(scene.job)
        assert slice_.gone_at is not None
        await scene.cloud.observe(slice_.identity)
        assert scene.cloud.slices == {}


async def test_a_request_that_a_dead_controller_left_on_the_wire_is_withdrawn_by_the_next(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.wire = 5.0
        scene.start()
        await scene.until(lambda: creates(scene.cloud))
        await scene.crash()
        await scene.store.set_desired(scene.job, Desired.CANCELLED, Note("job.x", "cancel"))
        scene.bring_back()
        await scene.over()
        await scene.clock.advance(60)
        assert (await scene.record()).withdrawing == ()
        (slice_,) = await scene.store.slices(scene.job)
        await scene.cloud.observe(slice_.identity)
        assert scene.cloud.slices == {}


async def test_a_job_that_goes_on_takes_what_was_on_the_wire_for_its_own(tmp_path: Path) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.wire = 5.0
        scene.start()
        await scene.until_running()
        assert list(scene.cloud.slices) == ["job-1-g1"]


async def test_a_slice_going_by_itself_is_not_deleted_by_a_cancel_before_it_is_gone(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        fleet, token = await scene.until_running()
        scene.cloud.force("job-1-g1", SlicePhase.LOSING, "SUSPENDING")
        await scene.store.set_desired(scene.job, Desired.CANCELLED, Note("job.x", "cancel"))
        await scene.until(lambda: fleet.program(token, 0).state.value == "ENDED")
        await scene.pass_time(30)
        assert scene.cloud.calls == ["create job-1-g1"]
        scene.cloud.force("job-1-g1", SlicePhase.LOST, "SUSPENDED")
        await scene.over()
        assert scene.cloud.slices == {}


async def test_a_request_that_names_no_account_strikes_its_place(tmp_path: Path) -> None:
    class Paid(FakeCloud):
        """A cloud that wants to know who pays."""

        async def project_of(self, request: SliceRequest) -> str:
            if "project" not in request.options:
                raise PermanentCloudError("no project: set tpu.project")
            return str(request.options["project"])

    paid = attrs.evolve(THERE, options={"project": "lab"})
    async with Scene(tmp_path, candidates=(HERE, paid)) as scene:
        scene.cloud = Paid(scene.cloud.context)
        scene.start()
        await scene.until_running()
        (slice_,) = await scene.store.slices(scene.job)
        assert slice_.identity.project == "lab"
    async with Scene(tmp_path / "alone", candidates=(HERE,)) as scene:
        scene.cloud = Paid(scene.cloud.context)
        scene.start()
        await scene.over()
        ending = (await scene.record()).job.ending
        assert ending is not None
        assert ending.reason == "no project: set tpu.project"


@pytest.mark.parametrize("booked", [False, True])
async def test_a_slice_of_others_by_the_same_name_is_neither_taken_over_nor_deleted(
    tmp_path: Path, booked: bool
) -> None:
    async with Scene(tmp_path) as scene:
        if booked:
            # A controller that died before the cloud heard of its request.
            scene.cloud.refusals.extend([TransientCloudError("503")] * 2)
            scene.start()
            await scene.until(lambda: creates(scene.cloud))
            await scene.crash()
            scene.cloud.refusals.clear()
        bobs = SliceIdentity("job-1-g1", "here", "home-2", "bob", "000001", 1)
        await scene.cloud.create(bobs, HERE)
        scene.start()
        await scene.over()
        ending = (await scene.record()).job.ending
        assert ending is not None
        assert "not ours" in ending.reason
        assert scene.cloud.slices["job-1-g1"].identity == bobs
        # There is nothing of this job's that anybody has to wait for.
        assert (await scene.record()).withdrawing == ()


@pytest.mark.parametrize("home", ["", "home-2"])
async def test_a_slice_without_its_labels_is_not_taken_for_gone_but_one_of_others_in_its_place_is(
    tmp_path: Path, home: str
) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        await scene.until_running()
        whose = SliceIdentity("job-1-g1", "here", home, "bob", "000009", 1)
        scene.cloud.slices["job-1-g1"].identity = whose
        await scene.store.set_desired(scene.job, Desired.CANCELLED, Note("job.x", "cancel"))
        await scene.pass_time(120)
        gone = [slice_.gone_at is not None for slice_ in await scene.store.slices(scene.job)]
        assert gone == [bool(home)]
        assert list(scene.cloud.slices) == ["job-1-g1"]


@pytest.mark.parametrize("late", [False, True])
async def test_a_place_that_was_full_is_tried_last_by_every_job_of_the_home_for_ten_minutes(
    tmp_path: Path, late: bool
) -> None:
    async with Scene(tmp_path, candidates=BOTH, **loop()) as scene:
        if late:
            scene.cloud.late.append(LateRefusal(FULL))
        else:
            scene.cloud.refusals.append(FULL)
        scene.start()
        await scene.until_running()
        assert set(await scene.store.stockouts(map(Where.of, BOTH))) == {Where.of(HERE)}
        # A controller that knows nothing of it by itself.
        await scene.crash()
        scene.cloud.vanish("job-1-g1")
        scene.start()
        await scene.until(lambda: "job-1-g2" in scene.cloud.slices)
        assert scene.cloud.slices["job-1-g2"].request == THERE
        await scene.until_running()
        await scene.pass_time(600)
        scene.cloud.vanish("job-1-g2")
        await scene.until(lambda: "job-1-g3" in scene.cloud.slices)
        assert scene.cloud.slices["job-1-g3"].request == HERE


async def test_bad_news_is_forgotten_once_the_place_has_given_a_slice(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.cloud.refusals.append(FULL)
        scene.start()
        await scene.until_running()
        assert await scene.store.stockouts([Where.of(HERE)]) == {}


async def test_what_was_refused_at_once_is_off_the_books_though_nobody_can_ask_the_cloud(
    tmp_path: Path,
) -> None:
    """As without credentials: a job that never had a slice can be deleted."""
    async with Scene(tmp_path) as scene:
        scene.cloud.refusals.append(PermanentCloudError("no credentials"))
        scene.cloud.unknown = "no credentials"
        scene.start()
        await scene.over()
        await scene.store.set_desired(scene.job, Desired.DELETED, Note("job.x", "delete"))
        scene.bring_back()
        await scene.over()
        assert (await scene.record()).withdrawing == ()
        assert scene.cloud.calls == ["create job-1-g1"]


async def test_a_refusal_says_nothing_about_an_earlier_request_that_is_still_on_the_wire(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path, candidates=BOTH) as scene:
        scene.cloud.wire = 5.0
        scene.start()
        await scene.until(lambda: creates(scene.cloud))
        scene.cloud.refusals.append(FULL)
        await scene.until(lambda: len(creates(scene.cloud)) >= 2)
        scene.cloud.wire = 0.0
        await scene.until_running()
        (slice_,) = scene.cloud.slices.values()
        assert slice_.request == THERE
        assert [s.gone_at is None for s in await scene.store.slices(scene.job)] == [False, True]


async def test_whoever_waits_for_the_end_of_a_slice_reads_why_nobody_knows_of_it(
    tmp_path: Path,
) -> None:
    async with Scene(tmp_path) as scene:
        scene.start()
        await scene.until_running()
        await scene.crash()
        scene.cloud.unknown = "no credentials"
        await scene.store.set_desired(scene.job, Desired.DELETED, Note("job.x", "delete"))
        scene.bring_back()
        with pytest.raises(UnfinishedError, match=r"not confirmed absent yet \(no credentials\)"):
            await scene.over()
        _, reason = status_of_record(await scene.record(), Liveness.NONE)
        assert "withdrawing job-1-g1: not yet confirmed absent (no credentials)" in reason


async def test_options_of_a_request_are_read_from_the_file_and_not_from_the_store(
    tmp_path: Path,
) -> None:
    """They may hold secrets, as metadata does."""
    whole = attrs.evolve(HERE, options={"metadata": {"key": "hunter2"}, "project": "lab"})
    async with Scene(tmp_path, candidates=(whole,)) as scene:
        scene.cloud.wire = 5.0
        scene.start()
        await scene.until(lambda: creates(scene.cloud))
        await scene.crash()
        (stored,) = await scene.store.slices(scene.job)
        assert stored.request.options == {"project": "lab"}
        scene.cloud.wire = 0.0
        scene.start()
        await scene.until_running()
        (slice_,) = scene.cloud.slices.values()
        assert slice_.request == whole
        kept = [path.read_bytes() for path in scene.home.state.glob("jobman.db*")]
        assert kept
        assert not any(b"hunter2" in content for content in kept)


async def test_what_the_file_asks_for_no_more_is_not_asked_for_again(tmp_path: Path) -> None:
    async with Scene(tmp_path, candidates=(HERE,)) as scene:
        scene.cloud.wire = 5.0
        scene.start()
        await scene.until(lambda: creates(scene.cloud))
        await scene.crash()
        scene.spec = attrs.evolve(scene.spec, candidates=(THERE,))
        scene.cloud.wire = 0.0
        scene.start()
        # Before the request gets there: what exists by then would be taken as it is.
        await scene.at_once(lambda: _withdrawn(scene))
        await scene.until_running()
        (slice_,) = scene.cloud.slices.values()
        assert slice_.request == THERE


async def _withdrawn(scene: Scene) -> bool:
    return "slice.withdrawn" in await scene.kinds()
