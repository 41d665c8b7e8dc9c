"""The gcp cloud against an emulator in the test's own loop, of which nothing is left afterwards."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.models.slice import SliceIdentity
from jobman_emulator.server import Emulator
from jobman_gcp import GcpCloud
from jobman_gcp.account import EMULATOR


class PreemptibleCloud(GcpCloud):
    """One whose slices a test can have preempted: Google's own cannot be asked for that."""

    emulator: Emulator

    async def preempt(self, identity: SliceIdentity) -> None:
        """Let the emulator do it."""
        await self.emulator.control.preempt(identity.name)


MakeCloud = Callable[..., GcpCloud]


@pytest.fixture
async def emulator(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Emulator]:
    """Give a quick emulator, which the environment points at."""
    async with Emulator(provisioning=0.1, deleting=0.05, suspending=0.05) as running:
        monkeypatch.setenv(EMULATOR, running.grpc)
        yield running


@pytest.fixture
async def make_cloud(emulator: Emulator, tmp_path: Path) -> AsyncIterator[MakeCloud]:
    """Give a cloud; each call is another controller's."""
    made: list[GcpCloud] = []

    def make(**settings: Any) -> GcpCloud:
        cloud = PreemptibleCloud(Context(tmp_path, "home-1", SystemClock(), settings))
        cloud.emulator = emulator
        made.append(cloud)
        return cloud

    yield make
    for cloud in made:
        await cloud.aclose()


@pytest.fixture
def cloud(make_cloud: MakeCloud) -> GcpCloud:
    """Give a cloud without slices."""
    return make_cloud()
