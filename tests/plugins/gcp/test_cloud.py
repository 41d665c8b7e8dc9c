"""What becomes of slices on Cloud TPU, as the gcp cloud tells of it; an emulator plays the API."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.plugins.gcp.conftest import MakeCloud

from jobman_core.errors import (
    HeldError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.interfaces.backend import Context
from jobman_core.models.slice import (
    Absent,
    Observation,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
    Unknown,
)
from jobman_core.testing.cloud_contract import until_absent, until_phase
from jobman_core.testing.fakes import FakeClock
from jobman_emulator.machines import Machine, NoMachines
from jobman_emulator.server import Emulator
from jobman_gcp import GcpCloud
from jobman_gcp.account import Account
from jobman_gcp.client import Client

ZONE, OTHER_ZONE = "us-central2-b", "us-central1-a"
MODES = ["tpu-vm", "queued-resources"]
#: What a mode asks for, as names have it.
KINDS = {"tpu-vm": "nodes", "queued-resources": "queuedResources"}
NO_QUOTA = "Quota limit 'TPUV4' has been exceeded. Limit: 0 in region us-central2."


def identity(generation: int = 1, job: str = "000001", **more: Any) -> SliceIdentity:
    name = f"train-{job}-g{generation}"
    return SliceIdentity(name, ZONE, "home-1", "ann.lee", job, generation, **more)


def request(mode: str = "tpu-vm", **more: Any) -> SliceRequest:
    return SliceRequest(
        **{
            "cloud": "gcp",
            "accelerator": "v4-16",
            "zone": ZONE,
            "pricing": "spot",
            "mode": mode,
            "runtime": "tpu-ubuntu2204-base",
            **more,
        }
    )


def full(kind: str, name: str = "", project: str = "emulated") -> str:
    return f"projects/{project}/locations/{ZONE}/{kind}/{name or identity().name}"


async def until_told(cloud: GcpCloud, of: SliceIdentity) -> Absent:
    """Look until a slice is absent, and why is known."""
    async with asyncio.timeout(10):
        while True:
            seen = await cloud.observe(of)
            if isinstance(seen, Absent) and seen.refusal is not None:
                return seen
            await asyncio.sleep(0.01)


async def ready(cloud: GcpCloud, mode: str) -> Present:
    await cloud.create(identity(), request(mode))
    return await until_phase(cloud, identity(), SlicePhase.READY)


async def ask_and_go(cloud: GcpCloud, emulator: Emulator, mode: str = "tpu-vm") -> None:
    """Ask for a slice, and learn nothing of what comes of it while asking."""
    await emulator.control.fail_next("GetOperation", code=14, message="out of order")
    await cloud.create(identity(), request(mode))


# -- asking --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_labels_of_whose_it_is_are_on_the_node_in_either_way(
    cloud: GcpCloud, emulator: Emulator, mode: str
) -> None:
    seen = await ready(cloud, mode)
    assert dict(seen.labels) == identity().labels
    node = emulator.state.nodes[full("nodes")]
    assert dict(node.labels) == {
        "jobman-home": "home-1",
        "jobman-owner": "ann_2elee",
        "jobman-job": "000001",
        "jobman-generation": "1",
    }
    assert node.scheduling_config.spot


@pytest.mark.parametrize("mode", MODES)
async def test_keys_tags_metadata_and_the_startup_script_reach_the_node(
    cloud: GcpCloud, emulator: Emulator, mode: str
) -> None:
    options = {
        "tags": ["a"],
        "metadata": {"k": "v"},
        "startup_script": "true",
        "flags": ["--network=lab", "--internal-ips", "--service-account=x@y", "--labels=team=z"],
    }
    await cloud.create(identity(), request(mode, options=options, public_keys=("ann:ssh-rsa A",)))
    seen = await until_phase(cloud, identity(), SlicePhase.READY)
    node = emulator.state.nodes[full("nodes")]
    assert dict(node.metadata) == {
        "k": "v",
        "startup-script": "true",
        "ssh-keys": "ann:ssh-rsa A",
    }
    assert list(node.tags) == ["a"]
    assert node.network_config.network.endswith("/lab")
    assert node.service_account.email == "x@y"
    assert node.labels["team"] == "z"
    assert [host.ip for host in seen.hosts] == [host.internal_ip for host in seen.hosts]


async def test_hosts_have_an_address_for_people_and_one_among_themselves(cloud: GcpCloud) -> None:
    seen = await ready(cloud, "tpu-vm")
    assert [host.index for host in seen.hosts] == [0, 1]
    for host in seen.hosts:
        assert host.ip is not None
        assert host.internal_ip is not None
        assert host.ip != host.internal_ip


async def test_a_slice_is_looked_for_in_the_project_that_pays_for_it(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    theirs = identity(project="vision")
    await cloud.create(theirs, request())
    await until_phase(cloud, theirs, SlicePhase.READY)
    assert list(emulator.state.nodes) == [full("nodes", project="vision")]
    assert await cloud.observe(identity()) == Absent()
    assert [each.name for each in await cloud.list_slices(ZONE, "vision")] == [theirs.name]
    assert await cloud.list_slices(ZONE) == []


async def test_the_project_of_a_job_beats_the_settings_and_those_beat_the_account(
    make_cloud: MakeCloud,
) -> None:
    cloud = make_cloud(project="lab")
    assert await cloud.project_of(request(options={"flags": ["--project=ours"]})) == "ours"
    assert await cloud.project_of(request(options={"project": "mine"})) == "mine"
    assert await cloud.project_of(request()) == "lab"
    assert await make_cloud().project_of(request()) == "emulated"


async def test_best_effort_is_asked_for_where_only_the_newer_version_knows_it(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    options = {"flags": ["--best-effort"]}
    await cloud.create(identity(), request("queued-resources", pricing="ondemand", options=options))
    await until_phase(cloud, identity(), SlicePhase.READY)
    assert "best_effort" in emulator.state.queued[full("queuedResources")]


# -- what comes to nothing -----------------------------------------------------------------


async def test_f23_a_stockout_that_comes_in_the_operation_is_a_stockout(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.capacity(ZONE, "v4-16", 0)
    with pytest.raises(StockoutError, match="There is no more capacity in the zone"):
        await cloud.create(identity(), request())
    assert not emulator.state.nodes


async def test_f23_a_stockout_that_comes_late_is_told_by_a_look(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.fail_next(
        "CreateNode", code=8, message="There is no more capacity", late=True
    )
    await ask_and_go(cloud, emulator)
    seen = await until_told(cloud, identity())
    assert isinstance(seen.refusal, StockoutError)
    assert ZONE in str(seen.refusal)


async def test_what_a_name_was_refused_for_is_not_told_of_the_next_request_for_it(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.fail_next("CreateNode", code=8, message="stockout", late=True)
    await ask_and_go(cloud, emulator)
    await until_told(cloud, identity())
    await emulator.control.fail_next("CreateNode", code=14, message="out of order")
    with pytest.raises(TransientCloudError):
        await cloud.create(identity(), request())
    assert await cloud.observe(identity()) == Absent()


async def test_f22_no_capacity_in_the_reservation_is_a_stockout(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.capacity(ZONE, "v4-16", 0, reserved=True)
    asked = request(pricing="ondemand", options={"flags": ["--reserved"]})
    with pytest.raises(StockoutError, match="Insufficient reserved capacity"):
        await cloud.create(identity(), asked)


@pytest.mark.parametrize("mode", MODES)
async def test_f26_no_quota_at_all_is_permanent_and_says_so(
    cloud: GcpCloud, emulator: Emulator, mode: str
) -> None:
    await emulator.control.quota(ZONE, "v4", 0)
    with pytest.raises(PermanentCloudError, match="Limit: 0"):
        await cloud.create(identity(), request(mode))
    assert await cloud.observe(identity()) == Absent()


async def test_f27_a_burst_of_requests_is_asked_for_again(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.rate_limit("CreateNode", 0)
    with pytest.raises(TransientCloudError, match="per minute"):
        await cloud.create(identity(), request())
    await emulator.control.rate_limit("CreateNode", None)
    await ready(cloud, "tpu-vm")


async def test_f28_a_name_that_is_too_long_is_refused_with_its_length(cloud: GcpCloud) -> None:
    long = attrs.evolve(identity(), name="a" * 64)
    with pytest.raises(PermanentCloudError, match="64 characters"):
        await cloud.create(long, request())


@pytest.mark.parametrize("mode", MODES)
async def test_f30_a_request_that_is_wrong_is_permanent_and_says_why(
    cloud: GcpCloud, mode: str
) -> None:
    with pytest.raises(PermanentCloudError, match="invalid RuntimeVersion"):
        await cloud.create(identity(), request(mode, runtime="no-such-runtime"))


async def test_a_zone_that_there_is_not_is_permanent(cloud: GcpCloud) -> None:
    nowhere = attrs.evolve(identity(), zone="moon-1-a")
    with pytest.raises(PermanentCloudError, match="Location moon-1-a is not found"):
        await cloud.create(nowhere, request(zone="moon-1-a"))


async def test_f32_a_queued_resource_that_fails_is_lost_says_why_and_is_deleted_by_hand(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.fail_next(
        "CreateQueuedResource", code=13, message="an internal error", late=True
    )
    await cloud.create(identity(), request("queued-resources"))
    seen = await until_phase(cloud, identity(), SlicePhase.LOST)
    assert seen.state == "FAILED"
    assert isinstance(seen.refusal, TransientCloudError)
    assert "an internal error" in str(seen.refusal)
    await cloud.delete(identity())
    await until_absent(cloud, identity())


async def test_a_queued_resource_whose_time_ran_out_is_a_stockout(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.capacity(ZONE, "v4-16", 0)
    past = {"flags": ["--valid-until-time=2020-01-01T00:00:00Z"]}
    await cloud.create(identity(), request("queued-resources", options=past))
    seen = await until_phase(cloud, identity(), SlicePhase.LOST)
    assert isinstance(seen.refusal, StockoutError)


async def test_f06_quota_that_dead_queued_resources_hold_comes_back_with_their_end(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.quota(ZONE, "queued-resources", 1)
    await ready(cloud, "queued-resources")
    await emulator.control.preempt(identity().name)
    with pytest.raises(StockoutError, match="dead queued resources hold quota"):
        await cloud.create(identity(2), request("queued-resources"))
    await cloud.delete(identity())
    await until_absent(cloud, identity())
    await cloud.create(identity(2), request("queued-resources"))


async def test_what_was_refused_and_is_there_all_the_same_is_not_forgotten(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "tpu-vm")
    await emulator.control.fail_next("CreateNode", code=8, message="There is no more capacity")
    with pytest.raises(TransientCloudError, match="is there all the same"):
        await cloud.create(identity(), request())


# -- asking again, and after a restart -----------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_f05_a_name_whose_last_bearer_is_being_deleted_is_asked_for_again(
    cloud: GcpCloud, mode: str
) -> None:
    await ready(cloud, mode)
    await cloud.delete(identity())
    with pytest.raises(TransientCloudError, match="cannot be asked for yet"):
        await cloud.create(identity(), request(mode))
    await until_absent(cloud, identity())
    await ready(cloud, mode)


@pytest.mark.parametrize("mode", MODES)
async def test_f05_a_name_that_others_give_back_is_asked_for_again(
    cloud: GcpCloud, emulator: Emulator, mode: str
) -> None:
    await ready(cloud, mode)
    others = attrs.evolve(identity(), home="home-2")
    with pytest.raises(HeldError):
        await cloud.create(others, request(mode))
    await emulator.control.set_state(full(KINDS[mode]), "DELETING")
    with pytest.raises(TransientCloudError, match="cannot be asked for yet"):
        await cloud.create(others, request(mode))


async def test_f38_whoever_comes_next_adopts_a_request_that_waits(
    make_cloud: MakeCloud, emulator: Emulator
) -> None:
    await emulator.control.capacity(ZONE, "v4-16", 0)
    await make_cloud().create(identity(), request("queued-resources"))
    next_one = make_cloud()
    await next_one.create(identity(), request("queued-resources"))
    seen = await until_phase(next_one, identity(), SlicePhase.PENDING)
    assert dict(seen.labels) == identity().labels
    assert len(emulator.state.queued) == 1
    await emulator.control.capacity(ZONE, "v4-16", 1)
    await until_phase(next_one, identity(), SlicePhase.READY)


@pytest.mark.parametrize("mode", MODES)
async def test_f43_a_slice_that_is_on_its_way_can_be_given_back(
    cloud: GcpCloud, emulator: Emulator, mode: str
) -> None:
    await ask_and_go(cloud, emulator, mode)
    async with asyncio.timeout(10):
        while not isinstance(await cloud.observe(identity()), Absent):
            await cloud.delete(identity())
            await asyncio.sleep(0.02)
    assert emulator.control.counts().empty


@pytest.mark.parametrize("mode", MODES)
async def test_slices_of_other_homes_are_left_alone(cloud: GcpCloud, mode: str) -> None:
    await ready(cloud, mode)
    others = attrs.evolve(identity(), home="home-2")
    with pytest.raises(HeldError, match=r"belongs to ann\.lee \(job 000001\)"):
        await cloud.delete(others)
    with pytest.raises(HeldError):
        await cloud.create(others, request(mode))


# -- losing --------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["suspending-first", "node-first"])
async def test_a_preemption_is_a_loss_only_once_it_is_proved_in_whichever_order_it_shows(
    cloud: GcpCloud, emulator: Emulator, order: str
) -> None:
    await ready(cloud, "queued-resources")
    going = asyncio.ensure_future(emulator.control.preempt(identity().name, order=order))
    seen: list[Observation] = []
    async with asyncio.timeout(10):
        while not going.done() or not seen or _phase(seen[-1]) is not SlicePhase.LOST:
            seen.append(await cloud.observe(identity()))
            await asyncio.sleep(0.002)
    await going
    phases = [_phase(each) for each in seen]
    assert SlicePhase.LOSING in phases
    assert phases[-1] is SlicePhase.LOST
    words = [each.state for each in seen if isinstance(each, Present)]
    assert words[-1] == "SUSPENDED"
    assert ("PREEMPTED" in words) == (order == "node-first")


def _phase(seen: Observation) -> SlicePhase | None:
    return seen.phase if isinstance(seen, Present) else None


async def test_f01_a_preempted_node_stays_listed_until_it_is_deleted(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "tpu-vm")
    await emulator.control.preempt(identity().name)
    assert (await until_phase(cloud, identity(), SlicePhase.LOST)).state == "PREEMPTED"
    await cloud.create(identity(2), request())
    await until_phase(cloud, identity(2), SlicePhase.READY)
    await cloud.delete(identity())
    await until_absent(cloud, identity())
    assert isinstance(await cloud.observe(identity(2)), Present)


@pytest.mark.parametrize(
    ("state", "phase"),
    [("STOPPED", SlicePhase.LOST), ("TERMINATED", SlicePhase.LOST), ("UNKNOWN", None)],
)
async def test_f02_a_node_that_leaves_ready_is_lost_or_unknown(
    cloud: GcpCloud, emulator: Emulator, state: str, phase: SlicePhase | None
) -> None:
    await ready(cloud, "tpu-vm")
    await emulator.control.set_state(identity().name, state)
    seen = await cloud.observe(identity())
    assert _phase(seen) is phase
    assert isinstance(seen, Present if phase else Unknown)


@pytest.mark.parametrize("mode", MODES)
async def test_f10_a_node_that_is_not_there_any_more_is_proof_of_its_end(
    cloud: GcpCloud, emulator: Emulator, mode: str
) -> None:
    await ready(cloud, mode)
    await emulator.control.set_state(full("nodes"), "GONE")
    seen = await cloud.observe(identity())
    if mode == "tpu-vm":
        assert seen == Absent()
    else:
        # What is left of it has to be deleted.
        assert _phase(seen) is SlicePhase.LOST
    await cloud.delete(identity())
    await until_absent(cloud, identity())


async def test_f24_a_node_that_vanishes_after_its_creation_is_absent(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.fault("vanish-after-create")
    await cloud.create(identity(), request())
    await until_absent(cloud, identity())


async def test_f11_a_node_whose_creation_never_ends_is_what_its_own_state_says(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.fault("stuck-create")
    await ask_and_go(cloud, emulator)
    await until_phase(cloud, identity(), SlicePhase.READY)
    await emulator.control.set_state(identity().name, "GONE")
    assert await cloud.observe(identity()) == Absent()
    assert await cloud.observe(identity()) == Absent()


async def test_what_is_still_being_created_and_not_there_yet_is_on_its_way(
    cloud: GcpCloud, make_cloud: MakeCloud, emulator: Emulator
) -> None:
    await emulator.control.fault("stuck-create")
    await ask_and_go(cloud, emulator)
    await emulator.control.set_state(identity().name, "GONE")
    seen = await make_cloud().observe(identity())
    assert isinstance(seen, Present)
    assert (seen.phase, seen.state) == (SlicePhase.PENDING, "CREATING")


# -- giving back ---------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_f07_what_is_gone_as_soon_as_it_is_deleted_is_absent(
    cloud: GcpCloud, emulator: Emulator, mode: str
) -> None:
    await ready(cloud, mode)
    await emulator.control.fault("instant-delete")
    await cloud.delete(identity())
    await cloud.delete(identity())
    await until_absent(cloud, identity())


async def test_f08_a_queued_resource_goes_with_its_node(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "queued-resources")
    await cloud.delete(identity())
    await until_absent(cloud, identity())
    assert emulator.control.counts().empty


async def test_a_queued_resource_that_is_being_suspended_is_left_to_it(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "queued-resources")
    await emulator.control.set_state(full("queuedResources"), "SUSPENDING")
    await cloud.delete(identity())
    assert emulator.state.queued[full("queuedResources")].state.state.name == "SUSPENDING"
    assert _phase(await cloud.observe(identity())) is SlicePhase.LOSING
    await emulator.control.set_state(full("queuedResources"), "SUSPENDED")
    await cloud.delete(identity())
    async with asyncio.timeout(10):
        while not isinstance(await cloud.observe(identity()), Absent):
            await cloud.delete(identity())
            await asyncio.sleep(0.02)
    assert emulator.control.counts().empty


async def test_a_node_that_stands_under_a_queued_resource_that_failed_is_deleted_too(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "queued-resources")
    await emulator.control.set_state(full("queuedResources"), "FAILED")
    async with asyncio.timeout(10):
        while not isinstance(seen := await cloud.observe(identity()), Absent):
            # Nothing proves that programs have ended on it, and nothing ends them but a delete.
            assert _phase(seen) in (SlicePhase.DELETING, SlicePhase.READY)
            await cloud.delete(identity())
            await asyncio.sleep(0.02)
    assert emulator.control.counts().empty


async def test_a_node_without_its_queued_resource_is_deleted_too(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "queued-resources")
    emulator.state.queued.pop(full("queuedResources"))
    assert _phase(await cloud.observe(identity())) is SlicePhase.READY
    await cloud.delete(identity())
    await until_absent(cloud, identity())


async def test_a_delete_that_is_refused_now_is_tried_again(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "tpu-vm")
    await emulator.control.fail_next("DeleteNode", code=9, message="not now")
    with pytest.raises(TransientCloudError, match="not now"):
        await cloud.delete(identity())
    await cloud.delete(identity())
    await until_absent(cloud, identity())


async def test_a_delete_that_the_account_may_not_is_permanent(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await ready(cloud, "tpu-vm")
    text = "Permission 'tpu.nodes.delete' denied"
    await emulator.control.fail_next("DeleteNode", code=7, message=text)
    with pytest.raises(PermanentCloudError, match=r"tpu\.nodes\.delete.*roles/tpu\.admin"):
        await cloud.delete(identity())


# -- looking -------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["GetNode", "GetQueuedResource", "ListOperations"])
@pytest.mark.parametrize("code", [13, 14, 8, 2])
async def test_a_look_that_fails_is_unknown_whichever_part_it_was(
    cloud: GcpCloud, emulator: Emulator, call: str, code: int
) -> None:
    await emulator.control.fail_next(call, code=code, message="out of order", times=2)
    seen = await cloud.observe(identity())
    assert isinstance(seen, Unknown)
    assert "out of order" in seen.why


@pytest.mark.parametrize("call", ["ListNodes", "ListQueuedResources"])
async def test_half_a_list_is_no_list(cloud: GcpCloud, emulator: Emulator, call: str) -> None:
    await ready(cloud, "queued-resources")
    await emulator.control.fail_next(call, code=14, message="out of order")
    with pytest.raises(TransientCloudError, match="out of order"):
        await cloud.list_slices(ZONE)


async def test_an_account_that_may_not_list_operations_can_work_all_the_same(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await emulator.control.fail_next("ListOperations", code=7, message="denied")
    assert await cloud.observe(identity()) == Absent()


async def test_a_list_shows_what_a_look_shows_for_each_slice_of_the_zone(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    await cloud.create(identity(job="000001"), request())
    await cloud.create(identity(job="000002"), request("queued-resources"))
    await cloud.create(identity(job="000003"), request("queued-resources"))
    for job in ("000001", "000002", "000003"):
        await until_phase(cloud, identity(job=job), SlicePhase.READY)
    await emulator.control.preempt(identity(job="000003").name)
    listed = {each.name: each.observation for each in await cloud.list_slices(ZONE)}
    assert len(listed) == 3
    for job in ("000001", "000002", "000003"):
        of = identity(job=job)
        assert listed[of.name].phase is _phase(await cloud.observe(of))
        assert dict(listed[of.name].labels) == of.labels
    assert await cloud.list_slices(OTHER_ZONE) == []


async def test_an_emulator_that_is_away_leaves_all_unknown_until_it_is_back(
    make_cloud: MakeCloud, emulator: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Emulator(provisioning=0.05) as first:
        port = int(first.grpc.rpartition(":")[2])
        monkeypatch.setenv("TPU_EMULATOR_HOST", first.grpc)
        cloud = make_cloud()
        await ready(cloud, "tpu-vm")
    assert isinstance(await cloud.observe(identity()), Unknown)
    with pytest.raises(TransientCloudError):
        await cloud.list_slices(ZONE)
    with pytest.raises(TransientCloudError):
        await cloud.create(identity(), request())
    with pytest.raises(TransientCloudError):
        await cloud.delete(identity())
    async with Emulator(grpc_port=port):
        await until_absent(cloud, identity())


async def test_health_and_maintenance_to_come_are_told_of_a_slice_that_is_ready(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    assert (await ready(cloud, "queued-resources")).detail == ""
    await emulator.control.maintenance(identity().name, pending=True)
    seen = await until_phase(cloud, identity(), SlicePhase.READY)
    assert re.fullmatch(r"unscheduled maintenance is pending from [\dT:-]+Z", seen.detail)
    await emulator.control.maintenance(identity().name)
    (listed,) = await cloud.list_slices(ZONE)
    assert listed.observation.phase is SlicePhase.READY
    assert listed.observation.detail.startswith("UNHEALTHY_MAINTENANCE: The TPU is under main")
    assert "maintenance is ongoing" in listed.observation.detail
    await emulator.control.maintenance(identity().name, over=True)
    assert (await until_phase(cloud, identity(), SlicePhase.READY)).detail == ""


class Keyed(NoMachines):
    """Hosts that tell their host keys."""

    async def boot(self, node: str, count: int, metadata: Mapping[str, str]) -> Sequence[Machine]:
        machines = await super().boot(node, count, metadata)
        keys = [(f"ssh-ed25519 KEY{i}", f"ssh-rsa RSA{i}") for i in range(count)]
        return [
            attrs.evolve(machine, host_keys=key)
            for machine, key in zip(machines, keys, strict=True)
        ]


def stored(seen: Present) -> Slice:
    return Slice("000001", 1, request(), identity(), datetime.now(UTC), hosts=seen.hosts)


async def test_f16_host_keys_are_those_that_the_hosts_told_the_api(
    make_cloud: MakeCloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Emulator(Keyed(), provisioning=0.05) as running:
        monkeypatch.setenv("TPU_EMULATOR_HOST", running.grpc)
        cloud = make_cloud()
        slice_ = stored(await ready(cloud, "tpu-vm"))
        assert await cloud.host_keys(slice_) == {
            0: ["ssh-ed25519 KEY0", "ssh-rsa RSA0"],
            1: ["ssh-ed25519 KEY1", "ssh-rsa RSA1"],
        }
        assert await cloud.host_keys(attrs.evolve(slice_, hosts=slice_.hosts[:1])) == {}


async def test_host_keys_that_are_not_offered_are_none_and_trouble_is_told(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    slice_ = stored(await ready(cloud, "tpu-vm"))
    assert await cloud.host_keys(slice_) == {}
    await emulator.control.fail_next("GetGuestAttributes", code=7, message="denied")
    assert await cloud.host_keys(slice_) == {}
    await emulator.control.fail_next("GetGuestAttributes", code=14, message="out of order")
    with pytest.raises(TransientCloudError, match="out of order"):
        await cloud.host_keys(slice_)


async def test_a_list_of_several_pages_is_read_to_its_end(
    cloud: GcpCloud, emulator: Emulator
) -> None:
    for job in range(3):
        await cloud.create(identity(job=f"{job:06d}"), request("queued-resources"))
        await until_phase(cloud, identity(job=f"{job:06d}"), SlicePhase.READY)
    client = Client(Account(emulator=emulator.grpc).channel(), page=2)
    assert len(await client.nodes("emulated", ZONE)) == 3
    assert len(await client.all_queued("emulated", ZONE)) == 3
    for job in range(3):
        name = identity(job=f"{job:06d}").name
        newest = await client.newest_operation("emulated", ZONE, name)
        assert newest is not None
        assert newest.target.endswith(name)
    await client.aclose()


# -- who asks ------------------------------------------------------------------------------


async def test_without_credentials_nothing_is_known_and_the_remedy_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TPU_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    cloud = GcpCloud(Context(tmp_path, "home-1", FakeClock(auto=True)))
    seen = await cloud.observe(identity())
    assert isinstance(seen, Unknown)
    assert "gcloud auth application-default login" in seen.why
    # Of what Google says only the cause: its remedy is a link.
    cause = f"no credentials for Google Cloud: File {tmp_path}/none.json was not found: run `gcloud"
    with pytest.raises(PermanentCloudError, match=re.escape(cause)):
        await cloud.create(identity(), request())


async def test_an_account_without_credentials_is_told_so_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TPU_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    # No machine of Google's answers there.
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    cloud = GcpCloud(Context(tmp_path, "home-1", FakeClock(auto=True)))
    with pytest.raises(PermanentCloudError, match="credentials were not found: run `gcloud"):
        await cloud.create(identity(), request())


@pytest.mark.parametrize("content", ["[]", "null", '"text"', "{}", "", None])
async def test_a_file_that_holds_no_credentials_is_told_as_if_there_were_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None
) -> None:
    monkeypatch.delenv("TPU_EMULATOR_HOST", raising=False)
    # A folder, where there is no content.
    path = tmp_path if content is None else tmp_path / "key.json"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    with pytest.raises(PermanentCloudError, match=r"no credentials for Google Cloud: .*: run `"):
        await Account.find()


async def test_what_is_wrong_with_a_key_file_is_told_in_words_and_nothing_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TPU_EMULATOR_HOST", raising=False)
    path = tmp_path / "key.json"
    key = {"type": "service_account", "private_key": "of nobody's business", "token_uri": "x"}
    path.write_text(json.dumps(key))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    with pytest.raises(PermanentCloudError) as caught:
        await Account.find()
    told = str(caught.value)
    assert f"credentials from {path}: Service account info was not in the expected format" in told
    assert "missing fields client_email: run `gcloud" in told
    assert "business" not in told


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:80",
        "127.0.0.1",
        "127.0.0.1:70000",
        "127.0.0.1:0",
        ":80",
        "a b:80",
        "x\n:1",
    ],
)
async def test_an_emulator_without_an_address_is_refused_with_the_variable_that_names_it(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("TPU_EMULATOR_HOST", address)
    with pytest.raises(
        PermanentCloudError, match=r"TPU_EMULATOR_HOST=.* is no address: write HOST"
    ):
        await Account.find()


@pytest.mark.parametrize("address", ["127.0.0.1:80", "localhost:65535", "[::1]:8080"])
async def test_an_emulator_with_an_address_is_asked(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("TPU_EMULATOR_HOST", address)
    assert (await Account.find()).emulator == address


async def test_a_dry_run_shows_the_request_as_the_api_would_get_it(make_cloud: MakeCloud) -> None:
    cloud = make_cloud(project="lab")
    lines = await cloud.describe_request(identity(), request("queued-resources"))
    assert any("/v2/projects/lab/locations/us-central2-b/queuedResources" in each for each in lines)
    shown = "\n".join(lines)
    assert '"acceleratorType": "v4-16"' in shown
    assert '"jobman-job": "000001"' in shown


async def test_a_dry_run_without_an_account_says_why_it_names_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("TPU_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    cloud = GcpCloud(Context(tmp_path, "home-1", FakeClock(auto=True)))
    lines = await cloud.describe_request(identity(), request())
    assert lines[1].startswith("PROJECT stands for one that is not known: no credentials")
    assert "projects/PROJECT/" in lines[2]
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "mine")
    assert "projects/mine/" in "".join(await cloud.describe_request(identity(), request()))
