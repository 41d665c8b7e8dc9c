"""A reaper beside what lives: it takes nothing from a live job, and waits for its like."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest

from jobman_core import hookimpl
from jobman_core.app import App
from jobman_core.builtin import builtins
from jobman_core.errors import HeldError, StoreError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Listed
from jobman_core.models.reap import Fate
from jobman_core.models.slice import SliceIdentity, SlicePhase, SliceRequest
from jobman_core.plugins import Plugins
from jobman_core.queue.lock import try_lock
from jobman_core.testing.fakes import FakeClock, FakeCloud, FakeSlice

JOB = """\
job: {name: job, loop: true, session: process}
tpu: {cloud: fake, accelerator: v4-8, zone: here}
command: {cmd: "sleep"}
"""


class World:
    """A home with a cloud in memory, on which everything that is dead may be deleted at once."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        root.mkdir()
        self.home.settings.write_text("reap: {places: [{zone: here, cloud: fake}], grace: 0s}\n")
        self.slices: dict[str, FakeSlice] = {}
        #: The delete of this one waits to be let go.
        self.slow = ""
        self.arrived, self.let = asyncio.Event(), asyncio.Event()
        #: This one comes back to life as soon as it was listed.
        self.reviving = ""
        self.plugins = Plugins(builtins, disabled="tmux,gcp")
        plugin = SimpleNamespace(jobman_clouds=hookimpl(lambda: [self._class()]))
        self.plugins.add("fake", plugin, distribution="jobman-fake")

    def _class(self) -> type[FakeCloud]:
        world = self

        class Shared(FakeCloud):
            """All that are made of it have the same slices."""

            look_every: ClassVar[float] = 0.1

            def __init__(self, context: Context) -> None:
                super().__init__(context)
                self.slices = world.slices

            async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
                listed = await super().list_slices(zone, project)
                if world.reviving:
                    world.slices[world.reviving].forced = None
                return listed

            async def delete(self, identity: SliceIdentity) -> None:
                if identity.name == world.slow:
                    world.arrived.set()
                    await world.let.wait()
                await super().delete(identity)

        return Shared

    def app(self, clock: FakeClock | None = None) -> App:
        return App(self.home, make=True, user="ada", plugins=self.plugins, clock=clock)

    def lose(self, name: str) -> None:
        """Take a slice away as its cloud would."""
        self.slices[name].forced = (SlicePhase.LOST, "PREEMPTED")
        self.slices[name].fleet.lose()

    def runs(self, name: str) -> bool:
        """Tell whether a program runs on a slice."""
        return name in self.slices and bool(self.slices[name].fleet.programs)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "home")


@pytest.fixture
async def app(world: World) -> AsyncIterator[App]:
    async with world.app() as app:
        yield app


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while True:
            if condition():
                return
            await asyncio.sleep(0.02)


async def created(app: App) -> str:
    """Create a job that nothing drives."""
    config = app.home / "job.yaml"
    config.write_text(JOB)
    (made,) = await app.create(config, start=False)
    return made.job.id


async def test_a_job_that_is_preempted_again_and_again_loses_nothing_to_a_reaper_without_patience(
    world: World, app: App
) -> None:
    job = await created(app)
    driving = asyncio.create_task(app.run(job))
    over = asyncio.Event()

    async def reap() -> None:
        while not over.is_set():
            assert (await app.reap(all=True)).found == ()
            await asyncio.sleep(0.01)

    reaping = asyncio.create_task(reap())
    for generation in (1, 2):
        name = f"job-{job}-g{generation}"
        await until(partial(world.runs, name))
        world.lose(name)
    await until(partial(world.runs, f"job-{job}-g3"))
    over.set()
    await reaping
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    kinds = [event.kind for event in (await app.show(job)).events]
    assert kinds.count("slice.gone") == 2
    assert "slice.reaped" not in kinds


async def test_what_is_deleted_while_its_controller_comes_back_is_left_to_that(
    world: World, app: App
) -> None:
    job = await created(app)
    driving = asyncio.create_task(app.run(job))
    name = f"job-{job}-g1"
    await until(partial(world.runs, name))
    await app.stop(job)
    await asyncio.gather(driving, return_exceptions=True)
    world.lose(name)
    assert [each.fate for each in (await app.reap()).found] == [Fate.NOTED]
    # Wanted again, between a look and the next.
    driving = asyncio.create_task(app.run(job))
    await until(partial(world.runs, f"job-{job}-g2"))
    assert (await app.reap()).found == ()
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)


async def test_what_comes_back_to_life_once_it_was_listed_is_not_given_back(
    world: World, app: App
) -> None:
    job = await created(app)
    driving = asyncio.create_task(app.run(job))
    name = f"job-{job}-g1"
    await until(partial(world.runs, name))
    await app.stop(job)
    await asyncio.gather(driving, return_exceptions=True)
    world.lose(name)
    assert [each.fate for each in (await app.reap()).found] == [Fate.NOTED]
    world.reviving = name
    (left,) = (await app.reap()).found
    assert (left.fate, left.trouble) == (
        Fate.REFUSED,
        f"{name} is READY by now: it is left alone",
    )
    assert name in world.slices


async def test_a_reaper_that_another_keeps_waiting_for_long_gives_up_and_says_so(
    world: World, app: App
) -> None:
    await created(app)
    with try_lock(world.home.lock("reap")) as taken:
        assert taken
        async with world.app(FakeClock(auto=True)) as other:
            with pytest.raises(HeldError, match="another process has been reaping"):
                await other.reap()
    assert (await app.reap()).looked == ("here",)


async def test_a_home_that_cannot_be_written_is_no_place_to_reap_in(world: World, app: App) -> None:
    await created(app)
    world.home.lock("reap").mkdir()
    with pytest.raises(StoreError, match=r"reap.lock cannot be written \(Is a directory\): check"):
        await app.reap()


async def test_one_that_is_deleted_slowly_keeps_no_other_from_being_deleted(
    world: World, app: App
) -> None:
    await created(app)
    request = SliceRequest("fake", "v4-8", "here")
    for number in range(20):
        identity = SliceIdentity(f"n-{number}", "here", "another", "bob", "000007", 1)
        world.slices[identity.name] = FakeSlice(identity, request, 0.0)
        world.lose(identity.name)
    await app.reap(all=True)
    world.slow = "n-3"
    reaping = asyncio.create_task(app.reap(all=True))
    await world.arrived.wait()
    await until(lambda: list(world.slices) == ["n-3"])
    world.let.set()
    assert {each.fate for each in (await reaping).found} == {Fate.DELETED}
    assert not world.slices
