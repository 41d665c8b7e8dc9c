"""A controller that dies, or hangs, at any step: whoever comes next goes on as if it had not."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from tests.core.run.scene import STEP, Scene, loop
from tests.support.mortal import Moment, Mortal

from jobman_core.command import Command, Exit
from jobman_core.errors import HeldError, TransientCloudError
from jobman_core.interfaces.host import Host, HostFacts, Runner
from jobman_core.interfaces.store import Note
from jobman_core.models.attempt import HostState, LaunchPlan
from jobman_core.models.job import CommandMode, Desired, OnEnd, QueueMode
from jobman_core.models.slice import Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.task import Repo, TaskSpec
from jobman_core.testing.fakes import FakeCloud, FakeFleet, FakeRunner

# Each story is told again for each of its moments: seconds, though nothing waits.
pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

#: Pairs of deaths that each story is told with.
PAIRS: Final = 12
#: From here on a controller has the job.
TAKEN: Final = Moment("after", "store.take_lease", 1)
COMMIT: Final = "c0ffee" * 6 + "beef"


class World(FakeCloud):
    """A cloud whose programs end after a while, and which sees each of them start."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.starts: Counter[tuple[str, int]] = Counter()
        self.overlaps: list[str] = []

    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        await super().create(identity, request)
        found = self.slices[identity.name]
        if not isinstance(found.fleet, Watched):
            found.fleet = Watched(self)

    def hosts(self, slice_: Slice) -> Sequence[Host]:
        return [CodeHost(index) for index in range(slice_.request.hosts)]

    def runner(self, slice_: Slice) -> Runner:
        found = self.slices.get(slice_.identity.name)
        return FakeRunner(found.fleet if found else FakeFleet())

    def running(self) -> list[tuple["Watched", str, int]]:
        """Give what runs: where, the attempt, the host."""
        return [
            (s.fleet, token, host)
            for s in self.slices.values()
            if isinstance(s.fleet, Watched)
            for (token, host), program in s.fleet.programs.items()
            if program.state is HostState.RUNNING
        ]

    def go_on(self) -> None:
        """Let programs end whose time has come, each as its script says."""
        now = self.context.clock.monotonic()
        for fleet, token, host in self.running():
            plan = fleet.programs[token, host].plan
            if plan is None:
                continue
            _, length, _, code = plan.script.split()
            if now - fleet.since[token, host] >= float(length):
                fleet.finish(token, host, int(code))


class Watched(FakeFleet):
    """Hosts on which no two programs of one task may run at once."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.since: dict[tuple[str, int], float] = {}
        self._world = world

    def start(self, token: str, host: int, plan: LaunchPlan) -> None:
        task = plan.command.env["JOBMAN_TASK_ID"]
        for fleet, other, where in self._world.running():
            running = fleet.programs[other, where].plan
            if where == host and running and running.command.env["JOBMAN_TASK_ID"] == task:
                self._world.overlaps.append(f"{task}: {token} beside {other}")
        self._world.starts[token, host] += 1
        self.since[token, host] = self._world.context.clock.monotonic()
        super().start(token, host, plan)


class CodeHost(Host):
    """A host that checks out whatever it is asked for."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.facts = HostFacts(own_machine=False)

    async def run(self, command: Command, *, limit: float) -> Exit:
        return Exit(0, f"jobman-commit {COMMIT}\n".encode())

    async def put(self, content: bytes, path: str, *, mode: int = 0o600) -> None:
        raise AssertionError("nothing is missing here")


class Shy(World):
    """A cloud that takes the first request on, and whose answer is lost."""

    asked = 0

    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        await super().create(identity, request)
        self.asked += 1
        if self.asked == 1:
            raise TransientCloudError("no answer")


def preempt(world: World) -> bool:
    """Take the slice away on which the first program runs."""
    for found in world.slices.values() if world.running() else ():
        found.forced = SlicePhase.LOST, "PREEMPTED"
        found.fleet.lose()
    return bool(world.starts)


@attrs.frozen
class Story:
    """What happens to a job from outside, and what is left of it."""

    work: CommandMode | QueueMode
    #: Of attempts, in the order of their claims.
    outcomes: list[tuple[str, str]]
    #: Looks at the world until it tells that the moment has come.
    meddle: Callable[[World], bool] = lambda _: True
    #: What the owner wants from then on.
    desired: Desired = Desired.RUNNING
    tasks: tuple[TaskSpec, ...] = ()
    #: The slice stays.
    keeps: bool = False
    #: Seconds.
    provisioning: float = 1.0
    world: type[World] = World


GOOD: Final = CommandMode("sleep 2\nexit 0")
LONG: Final = CommandMode("sleep 3600\nexit 0")
REPO: Final = Repo("https://example.org/code", "main")
TASKS: Final = (
    TaskSpec("code", "sleep 2\nexit 0", "v4-8", repo=REPO, workdir="code"),
    TaskSpec("bad", "sleep 2\nexit 3", "v4-8", max_retries=2),
    TaskSpec("after", "sleep 2\nexit 0", "v4-8", depends_on=("code",)),
    TaskSpec("never", "sleep 2\nexit 0", "v4-8", depends_on=("bad",)),
)
SUCCESS: Final = ("succeeded", "exited")
FAILURE: Final = ("failed", "exited")
STORIES: Final = {
    "a queue": Story(
        QueueMode("tasks.yaml", idle_timeout=3.0),
        [SUCCESS, FAILURE, FAILURE, SUCCESS],
        tasks=TASKS,
    ),
    "a command that always fails": Story(CommandMode("sleep 2\nexit 1"), [FAILURE, FAILURE]),
    "a preemption": Story(GOOD, [("interrupted", "preempted"), SUCCESS], preempt),
    "a stop": Story(
        LONG,
        [("interrupted", "stopped")],
        lambda world: bool(world.running()),
        Desired.STOPPED,
        keeps=True,
    ),
    "a delete": Story(
        LONG,
        [("interrupted", "cancelled")],
        lambda world: bool(world.running()),
        Desired.DELETED,
    ),
    "a cancel with the create in flight": Story(
        GOOD, [], lambda world: bool(world.slices), Desired.CANCELLED, provisioning=30.0
    ),
    "a create without an answer": Story(GOOD, [SUCCESS], world=Shy),
}


class Telling:
    """One story being told, by one controller after the other."""

    def __init__(self, story: Story, root: Path) -> None:
        self.story = story
        self.scene = Scene(root, work=story.work, **loop(max_restarts=1, on_end=OnEnd.DELETE))
        self.scene.tasks = story.tasks
        context = self.scene.cloud.context
        self.world = story.world(context, provisioning=story.provisioning)
        self.scene.cloud = self.world
        self._meddled = False

    async def until(self, over: Callable[[], bool], limit: float = 300.0) -> None:
        """Let the world go on until something is so."""
        for _ in range(round(limit / STEP)):
            if over():
                return
            self.world.go_on()
            if not self._meddled and self.story.meddle(self.world):
                self._meddled = True
                if self.story.desired is not Desired.RUNNING:
                    note = Note(f"job.{self.story.desired}", "as its owner wants")
                    await self.scene.store.set_desired(self.scene.job, self.story.desired, note)
            await self.scene.pass_time(STEP)
        raise AssertionError(f"in vain for {limit:g} s")

    async def seconds(self, count: float) -> None:
        """Let the world go on for so long."""
        later = self.scene.clock.monotonic() + count
        await self.until(lambda: self.scene.clock.monotonic() >= later)

    async def comes_to(
        self, mortal: Mortal, start: Callable[[Mortal], None], what: Callable[[], bool]
    ) -> bool:
        """Start a controller; tell whether it comes to something before its end."""
        start(mortal)
        driving = self.scene.driving
        assert driving is not None
        await self.until(lambda: what() or driving.done())
        return what()

    async def dies(self, mortal: Mortal, start: Callable[[Mortal], None]) -> bool:
        """Start a controller, and see it die; tell whether it did before its end."""
        died = await self.comes_to(mortal, start, lambda: mortal.dead)
        await self.scene.crash()
        await self.seconds(1)
        return died

    async def hangs(self, mortal: Mortal) -> bool:
        """See a controller hang, and wake beside its successor; tell whether it did hang."""
        scene, follower = self.scene, Mortal(lost=False)
        if not await self.comes_to(mortal, scene.start, lambda: mortal.hung):
            return False
        old = scene.driving
        assert old is not None
        await self.comes_to(follower, scene.bring_back, lambda: TAKEN in follower.moments)
        await self.seconds(2)
        mortal.wake()
        await self.until(old.done)
        assert isinstance(old.exception(), HeldError | None), old
        await self.over()
        assert mortal.late == []
        return True

    async def finish(self) -> None:
        """Let a controller that nothing happens to bring the story to its end."""
        self.scene.bring_back()
        await self.over()

    async def over(self) -> None:
        driving = self.scene.driving
        assert driving is not None
        await self.until(driving.done)
        await driving

    async def check(self) -> None:
        """See whether all adds up."""
        story, scene, world = self.story, self.scene, self.world
        assert await scene.outcomes() == story.outcomes
        attempts = await scene.attempts()
        for task in {a.task for a in attempts}:
            numbers = [a.number for a in attempts if a.task == task]
            assert numbers == list(range(1, len(numbers) + 1)), task
        assert not world.overlaps
        assert [key for key, count in world.starts.items() if count > 1] == []
        assert not world.running()
        assert len(world.slices) == story.keeps, list(world.slices)
        held = [s.identity.name for s in await scene.store.slices(scene.job) if s.held]
        assert held == list(world.slices)
        record = await scene.record()
        assert record.job.desired is story.desired
        assert (record.job.ending is not None) == (story.desired is Desired.RUNNING)


async def moments_of(story: Story, root: Path) -> list[Moment]:
    """Tell a story undisturbed, and give the moments that there were."""
    told, mortal = Telling(story, root), Mortal()
    async with told.scene:
        told.scene.start(mortal)
        await told.over()
        await told.check()
    return mortal.moments


@pytest.mark.parametrize("name", STORIES)
async def test_a_controller_that_dies_at_any_step_is_followed_by_one_that_goes_on(
    tmp_path: Path, name: str
) -> None:
    story, faults = STORIES[name], []
    moments, died = await moments_of(story, tmp_path / "undisturbed"), 0
    # After a change of the store nothing has happened yet that has not before the next one.
    moments = [m for m in moments if m.when == "before" or not m.call.startswith("store.")]
    for moment in moments:
        told, mortal = Telling(story, tmp_path / str(moment)), Mortal(dies=moment)
        async with told.scene as scene:
            try:
                died += await told.dies(mortal, scene.start)
                await told.finish()
                await told.check()
            except Exception as error:  # noqa: BLE001 - all moments are tried
                faults.append(f"killed {moment}: {error!r}")
    assert not faults, "\n".join(faults)
    # How often it looks in vain differs a little from time to time.
    assert died > 0.8 * len(moments)


@pytest.mark.parametrize("name", STORIES)
async def test_two_controllers_that_die_one_after_the_other_are_no_worse_than_one(
    tmp_path: Path, name: str
) -> None:
    story, faults = STORIES[name], []
    chance = random.Random(name)  # noqa: S311 - the same pairs each time
    moments = await moments_of(story, tmp_path / "undisturbed")
    for number in range(PAIRS):
        pair = [chance.choice(moments) for _ in range(2)]
        told = Telling(story, tmp_path / str(number))
        async with told.scene as scene:
            try:
                await told.dies(Mortal(dies=pair[0]), scene.start)
                await told.dies(Mortal(dies=pair[1]), scene.bring_back)
                await told.finish()
                await told.check()
            except Exception as error:  # noqa: BLE001 - all pairs are tried
                faults.append(f"killed {pair[0]}, then {pair[1]}: {error!r}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("name", STORIES)
async def test_a_controller_that_hangs_at_any_step_does_nothing_more_when_it_wakes(
    tmp_path: Path, name: str
) -> None:
    story, faults, hung = STORIES[name], [], 0
    # One that hangs before what it does is killed by whoever takes its place: see there.
    moments = [
        moment
        for moment in await moments_of(story, tmp_path / "undisturbed")
        if moment.when == "after"
    ]
    for moment in moments:
        told = Telling(story, tmp_path / str(moment))
        async with told.scene:
            try:
                hung += await told.hangs(Mortal(hangs=moment))
                await told.check()
            except Exception as error:  # noqa: BLE001 - all moments are tried
                faults.append(f"hung {moment}: {error!r}")
    assert not faults, "\n".join(faults)
    assert hung > 0.8 * len(moments)
