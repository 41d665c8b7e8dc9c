"""What is in a zone, whoever made it, is listed as it stands and discarded if it still is that."""

import asyncio
from collections.abc import Sequence
from typing import Any

import attrs
import pytest

from jobman_core.errors import HeldError, TransientCloudError
from jobman_core.interfaces.cloud import Listed
from jobman_core.models.slice import SliceIdentity, SlicePhase, SliceRequest
from jobman_emulator.server import Emulator
from jobman_gcp import GcpCloud
from jobman_gcp.account import Account
from jobman_gcp.client import Client
from jobman_gcp.requests import Ask

ZONE, ACCELERATOR = "us-central2-b", "v4-16"


def others(name: str, *specs: dict[str, Any], **queued: Any) -> Ask:
    """Ask for a queued resource as people do who do not use jobman."""
    node = {"accelerator_type": ACCELERATOR, "runtime_version": "tpu-ubuntu2204-base"}
    parent = f"projects/emulated/locations/{ZONE}"
    node_specs = [{"parent": parent, "node": node, **spec} for spec in specs]
    body = {"tpu": {"node_spec": node_specs}, **queued}
    return Ask("emulated", ZONE, name, queued=True, body=body)


async def as_others(ask: Ask) -> None:
    """Ask past the cloud."""
    client = Client((await Account.find()).channel())
    await client.create(ask)
    await client.aclose()


async def ours(cloud: GcpCloud) -> Listed:
    """Give a node of this home's, as it is listed."""
    identity = SliceIdentity("train-000001-g1", ZONE, "home-1", "ann", "000001", 1)
    await cloud.create(identity, SliceRequest("gcp", ACCELERATOR, ZONE, runtime="tpu-vm-base"))
    (listed,) = await listed_until(cloud, "READY")
    return listed


async def listed_until(cloud: GcpCloud, state: str) -> Sequence[Listed]:
    """Look until all that is listed is in a state."""
    async with asyncio.timeout(30):
        while True:
            listed = await cloud.list_slices(ZONE)
            if listed and {each.observation.state for each in listed} == {state}:
                return listed
            await asyncio.sleep(0.02)


async def until_empty(emulator: Emulator) -> None:
    async with asyncio.timeout(30):
        while True:
            if emulator.control.counts().empty:
                return
            await asyncio.sleep(0.02)


async def test_a_queued_resource_whose_node_is_called_otherwise_is_as_alive_as_that(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await as_others(others("theirs", {"node_id": "machine"}, spot={}))
    listed = await listed_until(cloud, "READY")
    assert [(each.name, each.pricing) for each in listed] == [("theirs", "spot")]
    await emulator.control.set_state("machine", "PREEMPTED")
    (dead,) = await listed_until(cloud, "PREEMPTED")
    await cloud.discard(dead)
    await until_empty(emulator)


async def test_a_queued_resource_of_many_nodes_is_lost_when_all_of_them_are(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    client = await cloud._connection.client()
    many = {"multislice_params": {"node_count": 2, "node_id_prefix": "part"}}
    await client.create(others("theirs", many))
    (alive,) = await listed_until(cloud, "READY")
    await emulator.control.set_state("part-0", "PREEMPTED")
    (half,) = await cloud.list_slices(ZONE)
    assert (half.name, half.observation.phase) == ("theirs", SlicePhase.READY)
    lost = attrs.evolve(alive.observation, phase=SlicePhase.LOST)
    with pytest.raises(HeldError, match="is READY: it is left alone"):
        await cloud.discard(attrs.evolve(alive, observation=lost))
    await emulator.control.set_state("part-1", "PREEMPTED")
    (dead,) = await listed_until(cloud, "PREEMPTED")
    assert (dead.uid, dead.accelerator) == (alive.uid, ACCELERATOR)
    await cloud.discard(dead)
    await until_empty(emulator)


async def test_what_is_in_a_state_that_says_nothing_is_not_discarded(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    listed = await ours(cloud)
    await emulator.control.set_state(listed.name, "UNKNOWN")
    assert await cloud.list_slices(ZONE) == []
    with pytest.raises(HeldError, match="says nothing"):
        await cloud.discard(listed)


@pytest.mark.parametrize("call", ["GetQueuedResource", "GetNode", "DeleteNode"])
async def test_a_discard_that_the_api_does_not_answer_says_so(
    cloud: GcpCloud, emulator: Emulator, call: str
) -> None:
    listed = await ours(cloud)
    await emulator.control.fail_next(call, code=14, message="out of order")
    with pytest.raises(TransientCloudError, match="cannot be deleted: out of order"):
        await cloud.discard(listed)
    assert len(await cloud.list_slices(ZONE)) == 1
