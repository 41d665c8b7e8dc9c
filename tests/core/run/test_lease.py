"""Whose lease is whose: this machine's processes and its own clock tell, and nothing else."""

import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import Scene

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.errors import HeldError, StoreError
from jobman_core.home import Home
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.lease import Controller, Lease, Liveness
from jobman_core.models.settings import Settings
from jobman_core.models.task import QueueDefinition
from jobman_core.plugins import Plugins
from jobman_core.process import ProcessIdentity, machine_id
from jobman_core.run.context import ACTION_LIMIT
from jobman_core.run.lease import Tenure, Terms, liveness_of
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract import scene as books
from jobman_core.testing.store_contract.scene import slice_of

TERMS = Terms(lease=90.0, beat=15.0)
HOUR = 3600.0
#: It never beats by itself, as far as a test looks.
SILENT = Terms(lease=90.0, beat=10 * HOUR)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that may be taken for a controller, and killed for one that hangs."""
    with subprocess.Popen(["sleep", "600"]) as sleeping:
        try:
            yield sleeping
        finally:
            sleeping.kill()


def _held_by(process: subprocess.Popen[bytes], beat: float) -> tuple[Lease, Controller]:
    of = ProcessIdentity.of(process.pid)
    controller = Controller("other", machine_id(), of.boot_id, of.pid, of.start, beat)
    return Lease("000001", "other", 1), controller


# -- what is known of who has a lease ------------------------------------------------------


def test_a_lease_that_nobody_has_is_free() -> None:
    assert liveness_of(None, 1000.0, TERMS) is Liveness.NONE


@pytest.mark.parametrize(
    ("since_beat", "liveness"),
    [
        (0.0, Liveness.ALIVE),
        (89.9, Liveness.ALIVE),
        (90.0, Liveness.ALIVE),
        (90.1, Liveness.HUNG),
        (10 * HOUR, Liveness.HUNG),
    ],
)
def test_a_process_that_has_not_beaten_for_a_whole_lease_hangs(
    process: subprocess.Popen[bytes], since_beat: float, liveness: Liveness
) -> None:
    holder = _held_by(process, beat=1000.0)
    assert liveness_of(holder, 1000.0 + since_beat, TERMS) is liveness


def test_a_process_that_is_stopped_hangs_however_lately_it_beat(
    process: subprocess.Popen[bytes],
) -> None:
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    assert liveness_of(_held_by(process, beat=1000.0), 1000.0, TERMS) is Liveness.HUNG


def test_a_process_that_is_gone_is_dead_however_lately_it_beat(
    process: subprocess.Popen[bytes],
) -> None:
    holder = _held_by(process, beat=1000.0)
    process.kill()
    process.wait()
    assert liveness_of(holder, 1000.0, TERMS) is Liveness.DEAD


def test_another_process_with_its_id_is_not_it(process: subprocess.Popen[bytes]) -> None:
    lease, controller = _held_by(process, beat=1000.0)
    earlier = attrs.evolve(controller, pid_start=controller.pid_start - 1)
    assert liveness_of((lease, earlier), 1000.0, TERMS) is Liveness.DEAD


def test_what_an_earlier_boot_left_is_dead(process: subprocess.Popen[bytes]) -> None:
    lease, controller = _held_by(process, beat=1000.0)
    earlier = attrs.evolve(controller, boot_id="an earlier boot")
    assert liveness_of((lease, earlier), 1000.0, TERMS) is Liveness.DEAD


@pytest.mark.parametrize("boot_id", ["its own boot", ProcessIdentity.of(os.getpid()).boot_id])
@pytest.mark.parametrize("since_beat", [0.0, 10 * HOUR])
def test_of_another_machines_process_nothing_is_known_here(
    process: subprocess.Popen[bytes], boot_id: str, since_beat: float
) -> None:
    lease, controller = _held_by(process, beat=1000.0)
    process.kill()
    process.wait()
    there = attrs.evolve(controller, machine="another", boot_id=boot_id)
    assert liveness_of((lease, there), 1000.0 + since_beat, TERMS) is Liveness.ELSEWHERE


# -- wall clocks are never compared --------------------------------------------------------


class Patient(SqliteStore):
    """A store that notes for how long people would wait for their turn to write."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.asked: list[float | None] = []

    async def hindrance(self, *, patience: float | None = None) -> str:
        self.asked.append(patience)
        return ""


@attrs.frozen
class Books:
    """A store with one job, whose lease another process has from now on."""

    store: Patient
    clock: FakeClock
    job: str

    async def record(self) -> JobRecord:
        return await self.store.record(self.job)


@contextlib.asynccontextmanager
async def _books(root: Path, process: subprocess.Popen[bytes]) -> AsyncIterator[Books]:
    clock = FakeClock()
    Home(root).state.mkdir(parents=True)
    store = Patient(Context(root, "", clock))
    await store.open()
    job = await books.Scene(store).job()
    await store.register(_held_by(process, clock.monotonic())[1])
    await store.take_lease(job, "other", instead_of=None)
    try:
        yield Books(store, clock, job)
    finally:
        await store.aclose()


def _hub(root: Path, here: Books) -> Hub:
    def read(_: Path) -> QueueDefinition:
        raise AssertionError("no queue is read here")

    settings = Settings(lease=TERMS.lease, beat=TERMS.beat)
    return Hub(Home(root), "home-1", "ada", settings, here.store, here.clock, Plugins, read)


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_wall_clock_that_jumps_takes_no_lease_away(
    tmp_path: Path, process: subprocess.Popen[bytes], jump: float
) -> None:
    async with _books(tmp_path, process) as here:
        here.clock.shift_wall(jump)
        await here.clock.advance(TERMS.lease)
        record = await here.record()
        with pytest.raises(HeldError, match="has a live controller"):
            await Tenure(here.store, here.clock, TERMS).take(record)
        assert process.poll() is None
        assert _hub(tmp_path, here).liveness(record) is Liveness.ALIVE


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_wall_clock_that_jumps_keeps_no_lease_that_ran_out(
    tmp_path: Path, process: subprocess.Popen[bytes], jump: float
) -> None:
    async with _books(tmp_path, process) as here:
        here.clock.shift_wall(jump)
        await here.clock.advance(TERMS.lease + 1)
        record = await here.record()
        assert _hub(tmp_path, here).liveness(record) is Liveness.HUNG
        async with Tenure(here.store, here.clock, TERMS) as tenure:
            assert (await tenure.take(record)).epoch == 2
        assert process.wait(5) == -signal.SIGKILL


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_a_wall_clock_that_jumps_makes_nobody_wait_who_only_looks(
    tmp_path: Path, process: subprocess.Popen[bytes], jump: float
) -> None:
    async with _books(tmp_path, process) as here:
        hub = _hub(tmp_path, here)
        here.clock.shift_wall(jump)
        await hub.look_around([await here.record()])
        await here.clock.advance(2 * TERMS.beat + 1)
        await hub.look_around([await here.record()])
        assert [patience is None for patience in here.store.asked] == [True, False]


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
async def test_beats_are_told_by_the_clock_that_never_jumps(tmp_path: Path, jump: float) -> None:
    async with Scene(tmp_path) as scene, scene.acting() as ctx:

        async def since_beat() -> float:
            holder = (await ctx.record()).holder
            assert holder is not None
            assert liveness_of(holder, scene.clock.monotonic(), Terms()) is Liveness.ALIVE
            return scene.clock.monotonic() - holder[1].beat

        assert await since_beat() == 0
        scene.clock.shift_wall(jump)
        assert await since_beat() == 0
        await scene.pass_time(40)
        assert 0 <= await since_beat() <= Terms().beat


# -- an action is begun only under a lease that outlasts it --------------------------------


class Stuck(SqliteStore):
    """A store in which no beat can be written while a test wants it so."""

    stuck = False

    async def beat(self, controller: str, now: float) -> None:
        if self.stuck:
            raise StoreError("the disk is full")
        await super().beat(controller, now)


async def test_a_controller_that_cannot_beat_for_a_whole_lease_begins_nothing(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    scene.store = store = Stuck(Context(tmp_path, "", scene.clock))
    async with scene, scene.acting() as ctx:
        wanted = slice_of(scene.job, 1)
        store.stuck = True
        await scene.pass_time(Terms().lease)
        for action in (ctx.create, ctx.delete):
            with pytest.raises(StoreError, match="the disk is full"):
                await action(wanted)
        assert scene.cloud.calls == []
        store.stuck = False
        await ctx.create(wanted)
        assert scene.cloud.calls == [f"create {wanted.identity.name}"]


@pytest.mark.parametrize(
    ("left", "seconds", "renewed"),
    [(89.0, 60.0, False), (60.0, 60.0, False), (59.0, 60.0, True), (1.0, 60.0, True)],
)
async def test_an_action_that_is_longer_than_what_is_left_of_the_lease_renews_it_first(
    tmp_path: Path, left: float, seconds: float, renewed: bool
) -> None:
    async with Scene(tmp_path) as scene:
        job = await scene.store.record(scene.job)
        async with (
            Tenure(scene.store, scene.clock, SILENT) as tenure,
            tenure.lease(job) as lease,
        ):
            await scene.clock.advance(SILENT.lease - left)
            await tenure.guard(lease, seconds)
            holder = (await scene.record()).holder
            assert holder is not None
            runs_out = holder[1].beat + SILENT.lease
            assert runs_out >= scene.clock.monotonic() + seconds
            assert (holder[1].beat == scene.clock.monotonic()) is renewed
            # Once renewed it is not written again for as long as it holds.
            await tenure.guard(lease, seconds)
            again = (await scene.record()).holder
            assert again is not None
            assert again[1].beat == holder[1].beat


def test_an_action_on_a_cloud_fits_into_a_lease() -> None:
    assert ACTION_LIMIT + Terms().beat < Terms().lease
