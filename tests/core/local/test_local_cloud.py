"""The local cloud: provisioning, capacity, settings, and calls that were interrupted."""

# ruff: noqa: ASYNC240 - a test waits for its own machine only

import asyncio
import json
from pathlib import Path

import attrs
import pytest
from tests.core.local.conftest import LocalSlice, MakeCloud, Marker

from jobman_core.builtin.local import LocalCloud, slices
from jobman_core.command import Command
from jobman_core.errors import (
    HeldError,
    HostUnreachableError,
    InvalidInputError,
    PermanentCloudError,
    StockoutError,
)
from jobman_core.models.slice import (
    Absent,
    Observation,
    Present,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
    Unknown,
)
from jobman_core.testing.fakes import FakeClock

REQUEST = SliceRequest("local", "v4-8", "here")


def identity(job: str = "000001", zone: str = "here", name: str = "") -> SliceIdentity:
    return SliceIdentity(name or f"s{job}-g1", zone, "home-1", "ann", job, 1)


def phase(seen: Observation) -> SlicePhase:
    assert isinstance(seen, Present)
    return seen.phase


async def test_a_slice_is_ready_after_the_provisioning_delay(make_cloud: MakeCloud) -> None:
    clock = FakeClock()
    cloud = make_cloud(clock, provisioning=120)
    await cloud.create(identity(), REQUEST)
    seen = await cloud.observe(identity())
    assert isinstance(seen, Present)
    assert (seen.phase, seen.state, seen.hosts) == (SlicePhase.PENDING, "CREATING", ())
    await clock.advance(119)
    assert phase(await cloud.observe(identity())) is SlicePhase.PENDING
    await clock.advance(1)
    assert phase(await cloud.observe(identity())) is SlicePhase.READY
    assert phase(await make_cloud(clock).observe(identity())) is SlicePhase.READY


async def test_a_clock_that_was_set_back_keeps_nobody_waiting(make_cloud: MakeCloud) -> None:
    await make_cloud(FakeClock(), provisioning=60).create(identity(), REQUEST)
    earlier = FakeClock()
    await earlier.advance(-3600)
    assert phase(await make_cloud(earlier).observe(identity())) is SlicePhase.READY


async def test_a_stockout_names_the_zone_and_who_has_it(make_cloud: MakeCloud) -> None:
    cloud = make_cloud(capacity={"here": 1})
    await cloud.create(identity(), REQUEST)
    with pytest.raises(StockoutError, match=r"zone 'here' \(held by s000001-g1\): wait"):
        await cloud.create(identity("000002"), REQUEST)


async def test_a_zone_may_have_no_room_at_all(make_cloud: MakeCloud) -> None:
    with pytest.raises(StockoutError, match="capacity is 0"):
        await make_cloud(capacity={"here": 0}).create(identity(), REQUEST)


async def test_of_many_who_ask_at_once_as_many_get_one_as_there_is_room(
    make_cloud: MakeCloud,
) -> None:
    asked = (
        make_cloud(capacity={"here": 3}).create(identity(f"{n:06}"), REQUEST) for n in range(12)
    )
    results = await asyncio.gather(*asked, return_exceptions=True)
    assert results.count(None) == 3
    assert sum(isinstance(result, StockoutError) for result in results) == 9
    assert len(await make_cloud().list_slices("here")) == 3


async def test_a_zone_that_there_is_not_is_permanent(make_cloud: MakeCloud) -> None:
    cloud = make_cloud(zones=["a", "b"])
    assert [problem.key for problem in cloud.check(REQUEST)] == ["zone"]
    with pytest.raises(PermanentCloudError, match="use one of a, b"):
        await cloud.create(identity(), REQUEST)
    await cloud.create(identity(zone="a"), attrs.evolve(REQUEST, zone="a"))


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".new-1", "a b", "a\n", "x" * 200])
async def test_a_name_is_a_plain_word(make_cloud: MakeCloud, name: str, tmp_path: Path) -> None:
    odd = attrs.evolve(identity(), name=name)
    with pytest.raises(PermanentCloudError):
        await make_cloud().create(odd, REQUEST)
    with pytest.raises(PermanentCloudError):
        await make_cloud().delete(odd)
    assert [path.name for path in tmp_path.rglob("*")] == ["jobs", ".jobman"]


async def test_each_creation_has_a_boot_id_of_its_own(local: LocalSlice) -> None:
    first = Path(local.hosts[0].facts.boot_id_file).read_text()
    await local.cloud.delete(local.identity)
    await local.cloud.create(local.identity, REQUEST)
    assert Path(local.hosts[0].facts.boot_id_file).read_text() != first


async def test_what_cannot_be_read_is_unknown_and_not_absent(local: LocalSlice) -> None:
    facts = local.folder / "slice.json"
    text = facts.read_text()
    for damaged in ("", "{", "[]", '{"zone": 1}'):
        facts.write_text(damaged)
        seen = await local.cloud.observe(local.identity)
        assert isinstance(seen, Unknown)
        assert "train-g1" in seen.why
        assert await local.cloud.list_slices("here") == []
    facts.write_text(text)


async def test_an_interrupted_preemption_is_finished_by_the_next_look(
    local: LocalSlice, marker: Marker
) -> None:
    argv = ("bash", "-c", 'setsid bash -c \'exec -a "$0" sleep 86400\' "$0" &', marker.text)
    await local.hosts[0].run(Command(argv), limit=20)
    marker.until(1)
    write_state(local, slices.PREEMPTING)
    assert phase(await local.cloud.observe(local.identity)) is SlicePhase.LOST
    assert marker.living() == []


async def test_an_interrupted_delete_is_finished_by_the_next(
    local: LocalSlice, marker: Marker
) -> None:
    argv = ("bash", "-c", 'exec -a "$0" sleep 86400 &', marker.text)
    await local.hosts[0].run(Command(argv), limit=20)
    write_state(local, slices.DELETING)
    assert phase(await local.cloud.observe(local.identity)) is SlicePhase.DELETING
    await local.cloud.preempt(local.identity)
    assert phase(await local.cloud.observe(local.identity)) is SlicePhase.DELETING
    await local.cloud.delete(local.identity)
    assert await local.cloud.observe(local.identity) == Absent()
    assert marker.living() == []


async def test_a_folder_that_an_interrupted_delete_left_is_removed_by_the_next_call(
    local: LocalSlice,
) -> None:
    left = local.folder.parent / ".gone-12345678"
    (left / "hosts" / "0").mkdir(parents=True)
    await local.cloud.delete(attrs.evolve(local.identity, name="another-g1"))
    assert not left.exists()


async def test_folders_that_programs_closed_are_removed_too(local: LocalSlice) -> None:
    script = "mkdir -p a/b && touch a/b/c && chmod 0 a/b && chmod 0 a"
    assert (await local.hosts[0].run(Command(("sh", "-c", script)), limit=20)).ok
    await local.cloud.delete(local.identity)
    assert not local.folder.exists()


async def test_two_deletes_at_once_are_one(local: LocalSlice, make_cloud: MakeCloud) -> None:
    await asyncio.gather(
        *(make_cloud().delete(local.identity) for _ in range(4)),
        local.cloud.delete(local.identity),
    )
    assert await local.cloud.observe(local.identity) == Absent()


async def test_a_slice_of_others_is_not_preempted(local: LocalSlice) -> None:
    with pytest.raises(HeldError):
        await local.cloud.preempt(attrs.evolve(local.identity, job="000009"))
    with pytest.raises(InvalidInputError):
        await local.cloud.preempt(attrs.evolve(local.identity, name="nobody-g1"))


def test_its_zone_has_a_default() -> None:
    assert LocalCloud.default_zone == "local"


def write_state(local: LocalSlice, state: str) -> None:
    """Leave a slice as a process that is killed in the middle leaves it."""
    path = local.folder / "slice.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": state}))


async def test_a_host_whose_folder_is_away_is_silent_whatever_is_asked(local: LocalSlice) -> None:
    host = local.hosts[0]
    host.home.rename(local.folder / "away")
    with pytest.raises(HostUnreachableError):
        await host.run(Command(("true",)), limit=10)
    with pytest.raises(HostUnreachableError):
        await host.put(b"content", ".jobman/file")
    (local.folder / "away").rename(host.home)
    await host.put(b"content", ".jobman/file")


async def test_in_a_home_that_was_moved_away_a_slice_is_unknown_and_not_absent(
    make_cloud: MakeCloud, tmp_path: Path
) -> None:
    cloud = make_cloud()
    await cloud.create(identity(), REQUEST)
    (tmp_path / "jobs").rename(tmp_path / "away")
    assert isinstance(await cloud.observe(identity()), Unknown)
    (tmp_path / "away").rename(tmp_path / "jobs")
    assert isinstance(await cloud.observe(identity()), Present)
    await cloud.delete(identity())


async def entered(local: LocalSlice, *argv: str) -> asyncio.subprocess.Process:
    entry = await local.hosts[0].enter(argv)
    return await asyncio.create_subprocess_exec(
        *entry.argv, env=entry.env, stdout=asyncio.subprocess.PIPE
    )


async def test_whoever_enters_a_host_is_in_its_home_with_its_environment(
    local: LocalSlice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBMAN_CANARY", "leaked")
    process = await entered(local, "sh", "-c", 'echo "$HOME|$(pwd)|$1|$JOBMAN_CANARY"', "sh", "a b")
    out, _ = await process.communicate()
    home = local.hosts[0].home
    assert (process.returncode, out.decode()) == (0, f"{home}|{home}|a b|\n")


async def test_what_was_entered_ends_as_the_command_did(local: LocalSlice) -> None:
    assert await (await entered(local, "sh", "-c", "exit 255")).wait() == 255


async def test_a_slice_that_is_taken_away_takes_along_whoever_entered_it(
    local: LocalSlice, marker: Marker
) -> None:
    process = await entered(local, "bash", "-c", 'exec -a "$0" sleep 86400', marker.text)
    marker.until(1)
    await local.cloud.preempt(local.identity)
    assert await process.wait() == -9
    with pytest.raises(HostUnreachableError):
        await local.hosts[0].enter()
