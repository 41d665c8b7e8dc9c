"""The fakes pass the contracts of what they stand for, and do as they are told."""

import asyncio
from pathlib import Path

import pytest

from jobman_core.errors import StockoutError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.host import Host
from jobman_core.models.attempt import AttemptRef, HostState
from jobman_core.models.slice import SliceIdentity, SlicePhase, SliceRequest, Unknown
from jobman_core.testing.cloud_contract import CloudContract
from jobman_core.testing.fakes import (
    FakeClock,
    FakeCloud,
    FakeFleet,
    FakeHost,
    FakeRunner,
    settle,
)
from jobman_core.testing.host_contract import HostContract
from jobman_core.testing.runner_contract import MakeRunner, RunnerContract, plan


class TestFakeHost(HostContract):
    @pytest.fixture
    def host(self, tmp_path: Path) -> Host:
        return FakeHost(0, tmp_path / "home")


class TestFakeRunner(RunnerContract):
    @pytest.fixture
    def make_runner(self) -> MakeRunner:
        fleet = FakeFleet()
        return lambda: FakeRunner(fleet)


class TestFakeCloud(CloudContract):
    @pytest.fixture
    def cloud(self, tmp_path: Path) -> Cloud:
        return fake_cloud(tmp_path, FakeClock())


def fake_cloud(home: Path, clock: FakeClock, provisioning: float = 0.0) -> FakeCloud:
    context = Context(home, "home-1", clock)
    return FakeCloud(context, capacity={"tight": 1}, provisioning=provisioning)


async def test_time_moves_on_only_when_told() -> None:
    clock = FakeClock()
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    began = clock.monotonic()
    async with asyncio.TaskGroup() as group:
        group.create_task(sleeper("slow", 3))
        group.create_task(sleeper("fast", 1))
        await settle()
        assert (woken, clock.sleepers) == ([], 2)
        await clock.advance(2.5)
        assert woken == [("fast", began + 1), ("fast", began + 2)]
        await clock.advance(10)
    assert woken[2:] == [("slow", began + 3), ("slow", began + 6)]
    assert clock.monotonic() == began + 12.5


async def test_automatic_time_waits_for_nobody() -> None:
    clock = FakeClock(auto=True)
    began = clock.now()
    await clock.sleep(3600)
    assert (clock.now() - began).total_seconds() == 3600
    assert clock.slept == [3600]


async def test_a_fleet_can_fall_silent_and_lose_everything() -> None:
    fleet = FakeFleet()
    runner, attempt = FakeRunner(fleet), AttemptRef("t", 1, (0, 1))
    await runner.launch(attempt, plan("sleep 1"))
    fleet.silence(1, "no route")
    assert (await runner.poll(attempt))[1].detail == "no route"
    assert not (await runner.end(attempt, grace=1))[1].confirmed
    fleet.speak(1)
    fleet.lose(1)
    assert (await runner.poll(attempt))[1].state is HostState.LOST


async def test_a_cloud_answers_as_told(tmp_path: Path) -> None:
    clock = FakeClock()
    cloud = fake_cloud(tmp_path, clock, provisioning=60)
    identity = SliceIdentity("s-g1", "z", "home-1", "ann", "000001", 1)
    request = SliceRequest("fake", "v4-8", "z")
    cloud.refusals.append(StockoutError("none left"))
    with pytest.raises(StockoutError):
        await cloud.create(identity, request)
    await cloud.create(identity, request)
    assert [each.observation.phase for each in await cloud.list_slices("z")] == [SlicePhase.PENDING]
    await clock.advance(60)
    cloud.unknown = "the cloud is away"
    assert await cloud.observe(identity) == Unknown("the cloud is away")
    assert cloud.calls == ["create s-g1", "create s-g1"]
