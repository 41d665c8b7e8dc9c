"""Slices on Cloud TPU that are kept alive, and what the account holds meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.models.reap import KeptSlice
from jobman_emulator.control import ORDERS
from jobman_emulator.server import Emulator

ZONE = "us-central2-b"
NODE = KeptSlice("spare", "v4-16", ZONE, mode="tpu-vm")
QUEUED = KeptSlice("spare", "v4-16", ZONE)


class Wall(SystemClock):
    """The machine's clock, with a wall clock that a test sets forward."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


@pytest.fixture
def clock() -> Wall:
    return Wall()


@pytest.fixture
async def app(tmp_path: Path, emulator: Emulator, clock: Wall) -> AsyncIterator[App]:
    """Give a home whose account is the emulator's."""
    (tmp_path / "jobs/.jobman").mkdir(parents=True)
    async with App(Home(tmp_path), user="ada", clock=clock) as app:
        yield app


async def keep_until(app: App, kept: KeptSlice, line: str) -> list[str]:
    """Look again and again, until people are told something; give all that they were told."""
    told: list[str] = []
    async with asyncio.timeout(30):
        while not any(line in each for each in told):
            told += await app.keep([kept])
            await asyncio.sleep(0.02)
    return told


def things(emulator: Emulator) -> set[str]:
    return {name.rpartition("/")[2] for name in emulator.control.resources()}


@pytest.mark.parametrize("kept", [NODE, QUEUED], ids=["node", "queued"])
@pytest.mark.parametrize("order", ORDERS)
async def test_one_that_is_preempted_is_there_again(
    app: App, emulator: Emulator, kept: KeptSlice, order: str
) -> None:
    await keep_until(app, kept, "is ready")
    (held,) = [one for one in (await app.quota()).holdings if one.held]
    assert (held.family, held.pricing, held.ready, held.dead) == ("v4", "spot", 8, 0)
    await emulator.control.preempt("spare", order=order)
    told = await keep_until(app, kept, "is ready")
    assert len(told) == 3
    assert "it is deleted, and asked for again" in told[0]
    assert told[1:] == [
        f"asks for kept slice spare: v4-16 in {ZONE}, spot, {kept.mode}",
        "kept slice spare is ready",
    ]
    assert things(emulator) == {"spare"}
    (held,) = [one for one in (await app.quota()).holdings if one.held]
    assert (held.ready, held.dead) == (8, 0)


async def test_what_is_dead_holds_its_quota_until_it_is_deleted(
    app: App, emulator: Emulator
) -> None:
    await keep_until(app, QUEUED, "is ready")
    await emulator.control.preempt("spare")
    (held,) = [one for one in (await app.quota()).holdings if one.held]
    assert (held.ready, held.waiting, held.dead) == (0, 0, 8)


async def test_without_capacity_it_waits_and_leaves_no_husk(
    app: App, emulator: Emulator, clock: Wall
) -> None:
    await emulator.control.capacity(ZONE, "v4-16", 0)
    await keep_until(app, NODE, "it is asked for again")
    assert not things(emulator)
    assert await app.keep([NODE]) == []
    await emulator.control.capacity(ZONE, "v4-16", None)
    clock.ahead += timedelta(minutes=10)
    await keep_until(app, NODE, "is ready")
