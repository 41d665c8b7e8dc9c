"""The gcp cloud keeps the contract of clouds, in both ways of asking for a slice."""

from typing import ClassVar

import attrs
import pytest

from jobman_core.interfaces.cloud import Cloud
from jobman_core.models.slice import Present, SlicePhase, SliceRequest
from jobman_core.testing.cloud_contract import CloudContract, until_absent, until_phase
from jobman_emulator.server import Emulator
from jobman_gcp import GcpCloud

ROOMY, TIGHT, ACCELERATOR = "us-central1-a", "europe-west4-b", "v5p-16"


class GcpContract(CloudContract):
    """What both ways have in common."""

    zone = ROOMY
    tight = TIGHT
    accelerator = ACCELERATOR
    mode = "tpu-vm"
    flags: ClassVar[list[str]] = []

    @pytest.fixture
    async def cloud(self, cloud: GcpCloud, emulator: Emulator) -> Cloud:
        await emulator.control.capacity(TIGHT, ACCELERATOR, 1)
        return cloud

    def request(self, *, zone: str = "", accelerator: str = "") -> SliceRequest:
        asked = super().request(zone=zone, accelerator=accelerator)
        return attrs.evolve(
            asked,
            mode=self.mode,
            runtime="v2-alpha-tpuv5",
            pricing="spot",
            options={"flags": self.flags},
        )


class TestNodes(GcpContract):
    """Nodes that are asked for directly."""


class TestQueuedResources(GcpContract):
    """Nodes that a queued resource brings."""

    mode = "queued-resources"
    #: Without it they would wait for capacity, instead of coming to nothing.
    flags: ClassVar[list[str]] = ["--valid-until-duration=2s"]

    async def test_one_waits_for_capacity_and_says_so(self, cloud: Cloud) -> None:
        request = attrs.evolve(self.request(zone=self.tight), options={})
        first = self.identity(zone=self.tight)
        await cloud.create(first, request)
        await until_phase(cloud, first, SlicePhase.READY)
        second = self.identity(zone=self.tight, job="000002")
        await cloud.create(second, request)
        seen = await until_phase(cloud, second, SlicePhase.PENDING)
        while seen.state != "WAITING_FOR_RESOURCES":
            seen = await until_phase(cloud, second, SlicePhase.PENDING)
        assert "waits for capacity" in seen.detail
        await cloud.delete(first)
        await until_phase(cloud, second, SlicePhase.READY)

    async def test_a_preempted_slice_stays_listed_until_it_is_deleted(self, cloud: Cloud) -> None:
        await cloud.create(self.identity(), self.request())
        await until_phase(cloud, self.identity(), SlicePhase.READY)
        await cloud.preempt(self.identity())
        seen = await until_phase(cloud, self.identity(), SlicePhase.LOST)
        assert seen.state == "SUSPENDED"
        (listed,) = await cloud.list_slices(self.zone)
        assert isinstance(listed.observation, Present)
        assert listed.observation.state == "SUSPENDED"
        await cloud.delete(self.identity())
        await until_absent(cloud, self.identity())
        assert await cloud.list_slices(self.zone) == []
