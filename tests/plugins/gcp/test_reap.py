"""What is dead on Cloud TPU is deleted after two looks at it, and nothing else is."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from google.cloud import tpu_v2

from jobman_core.app import App
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import SystemClock
from jobman_core.errors import NotYoursError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.event import Event
from jobman_core.models.job import Desired, Ending, EndingKind
from jobman_core.models.reap import KEPT, Fate, Reaped
from jobman_core.models.slice import SliceIdentity, SlicePhase, SliceRequest
from jobman_core.testing.store_contract.scene import Scene, slice_of
from jobman_emulator.server import Emulator
from jobman_gcp.account import Account
from jobman_gcp.client import Client
from jobman_gcp.requests import Ask

ZONE, ACCELERATOR, RUNTIME = "us-central2-b", "v4-16", "tpu-ubuntu2204-base"
ROOM = {"zone": ZONE, "accelerator": ACCELERATOR}
GRACE = 900.0


class Wall(SystemClock):
    """The machine's clock, with a wall clock that a test sets forward or back."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead

    def passes(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


@attrs.define
class Lab:
    """A home, and the zone that it looks at."""

    home: Home
    emulator: Emulator
    store: SqliteStore
    client: Client
    clock: Wall = attrs.field(factory=Wall)

    async def reap(self, **how: bool) -> Reaped:
        """Look at the zone once."""
        async with self.app() as app:
            return await app.reap(**how)

    def app(self) -> App:
        return App(self.home, user="ada", clock=self.clock)

    async def reap_twice(self, **how: bool) -> Reaped:
        """Look at the zone, and again when the grace is over."""
        await self.reap(**how)
        self.clock.passes(GRACE)
        return await self.reap(**how)

    def rule(self, text: str) -> None:
        """Write the lab's rules."""
        self.home.settings.write_text(f"reap: {{places: [{ZONE}], {text}}}\n")

    async def add(
        self,
        name: str,
        state: str = "READY",
        *,
        queued: bool = False,
        home: str | None = None,
        job: str | None = KEPT,
        generation: int = 1,
    ) -> str:
        """Let something be there, of this home's unless another is named, and of no job."""
        labels = {
            "jobman-home": home or await self.store.home_id(),
            "jobman-owner": "ada",
            "jobman-job": job,
            "jobman-generation": str(generation),
        }
        given = {key: value for key, value in labels.items() if value and home != "nobody"}
        node = {"accelerator_type": ACCELERATOR, "runtime_version": RUNTIME, "labels": given}
        parent = f"projects/emulated/locations/{ZONE}"
        spec = {"parent": parent, "node_id": name, "node": node}
        body = {"tpu": {"node_spec": [spec]}, "spot": {}} if queued else node
        await self.client.create(Ask("emulated", ZONE, name, queued=queued, body=body))
        await self.until(name, "ACTIVE" if queued else "READY")
        if state not in ("READY", "ACTIVE"):
            await self.emulator.control.set_state(name, state)
        return name

    async def until(self, name: str, state: str | None) -> None:
        """Wait until something is in a state; None: until it is not there."""
        async with asyncio.timeout(30):
            while True:
                if self.states().get(name) == state:
                    return
                await asyncio.sleep(0.02)

    def states(self) -> dict[str, str]:
        """Give the state of everything by its short name; of a queued resource with a node, its."""
        found: dict[str, str] = {}
        for full, state in self.emulator.control.resources().items():
            found.setdefault(full.rpartition("/")[2], state)
        return found

    async def events(self) -> Sequence[Event]:
        events = await self.store.events(limit=1_000_000)
        return [event for event in events if event.kind == "slice.reaped"]

    async def job(
        self, desired: Desired, *, ending: Ending | None = None, **changes: Any
    ) -> tuple[str, str]:
        """Put a job without a controller on the books, with a slice; gives both names."""
        scene = Scene(self.store)
        lease = await scene.worker(cloud="gcp")
        name = f"train-{lease.job}-g1"
        home = await self.store.home_id()
        slice_ = attrs.evolve(
            slice_of(lease.job, 1),
            request=SliceRequest("gcp", ACCELERATOR, ZONE),
            identity=SliceIdentity(name, ZONE, home, "ada", lease.job, 1, "emulated"),
            state="READY",
            phase=SlicePhase.READY,
        )
        await self.store.open_slice(lease, slice_, Note("slice.requested", "asks"))
        await self.store.set_desired(lease.job, desired, Note("job.desired", "so"))
        await self.store.save_slice(lease, attrs.evolve(slice_, **changes))
        if ending is not None:
            await self.store.set_ending(lease, ending)
        await self.store.drop_lease(lease)
        return lease.job, name


@pytest.fixture
async def lab(emulator: Emulator, tmp_path: Path) -> AsyncIterator[Lab]:
    home = Home(tmp_path / "lab")
    home.state.mkdir(parents=True)
    store = SqliteStore(Context(home.root, "", SystemClock()))
    await store.open()
    client = Client((await Account.find()).channel())
    lab = Lab(home, emulator, store, client)
    lab.rule("")
    yield lab
    await client.aclose()
    await store.aclose()


def fates(reaped: Reaped) -> dict[str, Fate]:
    assert not reaped.unseen
    return {each.name: each.fate for each in reaped.found}


# -- what is dead -------------------------------------------------------------------------

DEAD_NODES = {"PREEMPTED", "TERMINATED", "STOPPED"}
NODES = [state.name for state in tpu_v2.Node.State if state.name != "STATE_UNSPECIFIED"]
DEAD_QUEUED = {"SUSPENDED", "FAILED"}
QUEUED = [
    state.name
    for state in tpu_v2.QueuedResourceState.State
    if state.name not in ("STATE_UNSPECIFIED", "DELETING")
]


async def test_of_nodes_those_that_nothing_runs_on_any_more_are_deleted(lab: Lab) -> None:
    names = {state: await lab.add(id_of("n", state), state) for state in NODES}
    dead = {names[state] for state in DEAD_NODES}
    assert fates(await lab.reap()) == dict.fromkeys(dead, Fate.NOTED)
    lab.clock.passes(GRACE)
    assert fates(await lab.reap()) == dict.fromkeys(dead, Fate.DELETED)
    for name in dead:
        await lab.until(name, None)
    assert set(lab.states()) == set(names.values()) - dead


async def test_of_queued_resources_those_that_never_allocate_again_are_deleted(lab: Lab) -> None:
    names = {}
    for state in QUEUED:
        names[state] = await lab.add(id_of("q", state), queued=True)
        if state in DEAD_QUEUED:
            await lab.emulator.control.set_state(full(names[state]), "GONE")
        await lab.emulator.control.set_state(names[state], state)
    dead = {names[state] for state in DEAD_QUEUED}
    assert fates(await lab.reap_twice()) == dict.fromkeys(dead, Fate.DELETED)
    for name in dead:
        await lab.until(name, None)
    assert set(lab.states()) == set(names.values()) - dead


async def test_a_queued_resource_that_failed_is_left_while_its_node_stands(lab: Lab) -> None:
    name = await lab.add("q", queued=True)
    await lab.emulator.control.set_state(name, "FAILED")
    assert fates(await lab.reap_twice()) == {}
    await lab.emulator.control.set_state(full(name), "GONE")
    assert fates(await lab.reap_twice()) == {name: Fate.DELETED}


async def test_a_queued_resource_whose_node_is_gone_is_dead(lab: Lab) -> None:
    name = await lab.add("q", queued=True)
    await lab.emulator.control.set_state(full(name), "GONE")
    (found,) = (await lab.reap_twice()).found
    assert (found.fate, found.state) == (Fate.DELETED, "NODE_GONE")
    assert "its node is gone" in found.why
    await lab.until(name, None)


@pytest.mark.parametrize("order", ["suspending-first", "node-first"])
async def test_a_spot_slice_is_reaped_after_its_preemption_in_whichever_order(
    lab: Lab, order: str
) -> None:
    name = await lab.add("spot", queued=True)
    await lab.emulator.control.pace(suspending=0.5)
    preempting = asyncio.create_task(lab.emulator.control.preempt(name, order=order))
    while not preempting.done():
        # Whatever a look takes it for, its end is never asked for while that is refused.
        assert Fate.REFUSED not in fates(await lab.reap()).values()
        lab.clock.passes(GRACE)
        await asyncio.sleep(0.05)
    await preempting
    await lab.reap_twice()
    await lab.until(name, None)
    assert len(await lab.events()) == 1


def id_of(kind: str, state: str) -> str:
    return f"{kind}-{state.lower().replace('_', '-')}"


def full(name: str) -> str:
    return f"projects/emulated/locations/{ZONE}/nodes/{name}"


# -- two looks ----------------------------------------------------------------------------


async def test_the_first_look_only_notes_and_says_from_when_on_it_is_deleted(lab: Lab) -> None:
    await lab.add("n", "PREEMPTED")
    (first,) = (await lab.reap()).found
    assert (first.fate, first.ours, first.owner, first.job) == (Fate.NOTED, True, "ada", KEPT)
    assert first.due == first.since + timedelta(seconds=GRACE)
    lab.clock.passes(GRACE - 60)
    (second,) = (await lab.reap()).found
    assert (second.fate, second.since) == (Fate.NOTED, first.since)
    assert lab.states() == {"n": "PREEMPTED"}


async def test_what_comes_back_to_life_between_two_looks_is_left_alone(lab: Lab) -> None:
    name = await lab.add("n", "STOPPED")
    await lab.reap()
    await lab.emulator.control.set_state(name, "READY")
    lab.clock.passes(GRACE)
    assert fates(await lab.reap()) == {}
    await lab.emulator.control.set_state(name, "STOPPED")
    assert fates(await lab.reap()) == {name: Fate.NOTED}


async def test_what_has_the_name_of_something_dead_has_a_grace_of_its_own(lab: Lab) -> None:
    name = await lab.add("n", "PREEMPTED")
    await lab.reap()
    await lab.emulator.control.set_state(name, "GONE")
    await lab.until(name, None)
    await lab.add(name, "PREEMPTED")
    lab.clock.passes(GRACE)
    assert fates(await lab.reap()) == {name: Fate.NOTED}


async def test_a_clock_that_was_set_back_deletes_nothing_sooner(lab: Lab) -> None:
    name = await lab.add("n", "PREEMPTED")
    await lab.reap()
    lab.clock.passes(-7200)
    assert fates(await lab.reap()) == {name: Fate.NOTED}
    lab.clock.passes(GRACE - 60)
    assert fates(await lab.reap()) == {name: Fate.NOTED}
    lab.clock.passes(60)
    assert fates(await lab.reap()) == {name: Fate.DELETED}


@pytest.mark.parametrize("call", ["ListNodes", "ListQueuedResources"])
async def test_of_a_look_that_failed_nothing_follows(lab: Lab, call: str) -> None:
    name = await lab.add("n", "PREEMPTED")
    await lab.reap()
    lab.clock.passes(GRACE)
    await lab.emulator.control.fail_next(call, code=14, message="out of order")
    failed = await lab.reap()
    assert failed.found == ()
    ((zone, why),) = failed.unseen
    assert zone == f"{ZONE} of project emulated"
    assert "out of order" in why
    assert lab.states() == {name: "PREEMPTED"}
    # What was seen before it still counts.
    assert fates(await lab.reap()) == {name: Fate.DELETED}


async def test_a_zone_that_cannot_be_seen_keeps_no_other_from_being_reaped(lab: Lab) -> None:
    name = await lab.add("n", "PREEMPTED")
    lab.home.settings.write_text(
        f"reap: {{places: [{ZONE}, {{zone: here, cloud: nowhere}}, {{zone: z, cloud: local}}]}}\n"
    )
    await lab.reap()
    lab.clock.passes(GRACE)
    reaped = await lab.reap()
    assert [each.fate for each in reaped.found] == [Fate.DELETED]
    ((zone, why),) = reaped.unseen
    assert zone == "here"
    assert "nowhere" in why
    await lab.until(name, None)


# -- whose it is --------------------------------------------------------------------------


@pytest.mark.parametrize("home", ["another-home", "nobody"])
async def test_what_others_made_is_told_of_when_it_is_dead_and_left_alone(
    lab: Lab, home: str
) -> None:
    alive, dead = await lab.add("alive", home=home), await lab.add("dead", "STOPPED", home=home)
    (found,) = (await lab.reap_twice()).found
    assert (found.name, found.fate, found.ours) == (dead, Fate.REPORTED, False)
    assert set(lab.states()) == {alive, dead}
    assert await lab.events() == []


@pytest.mark.parametrize("home", ["another-home", "nobody"])
@pytest.mark.parametrize("by", ["flag", "rule"])
async def test_what_others_made_is_deleted_dead_where_all_is_asked_for(
    lab: Lab, home: str, by: str
) -> None:
    alive, dead = await lab.add("alive", home=home), await lab.add("dead", "STOPPED", home=home)
    await lab.add("queue", queued=True, home=home)
    await lab.emulator.control.preempt("queue")
    if by == "rule":
        lab.rule("all: true")
    found = fates(await lab.reap_twice(all=by == "flag"))
    assert found == {dead: Fate.DELETED, "queue": Fate.DELETED}
    await lab.until(dead, None)
    await lab.until("queue", None)
    assert set(lab.states()) == {alive}


async def test_where_there_are_admins_only_they_delete_what_others_made(lab: Lab) -> None:
    lab.home.settings.write_text("admins: [ann]\n")
    with pytest.raises(NotYoursError, match="ask one, or let the lab's"):
        await lab.reap(all=True)
    lab.home.settings.write_text("admins: [ada]\n")
    assert fates(await lab.reap(all=True)) == {}


async def test_what_is_to_be_kept_is_kept_and_what_is_to_be_ignored_not_told_of(lab: Lab) -> None:
    lab.rule('all: true, keep: ["demo-*"], ignore: [theirs]')
    for name, home in (("demo-1", None), ("demo-2", "other"), ("theirs", "other"), ("n", None)):
        await lab.add(name, "PREEMPTED", home=home)
    assert fates(await lab.reap_twice()) == {
        "demo-1": Fate.KEPT,
        "demo-2": Fate.KEPT,
        "n": Fate.DELETED,
    }
    await lab.until("n", None)
    assert set(lab.states()) == {"demo-1", "demo-2", "theirs"}


async def test_a_dry_run_deletes_nothing_and_says_what_it_would(lab: Lab) -> None:
    name = await lab.add("n", "PREEMPTED")
    assert fates(await lab.reap_twice(dry_run=True)) == {name: Fate.DUE}
    assert lab.states() == {name: "PREEMPTED"}
    assert await lab.events() == []
    # It has looked all the same.
    assert fates(await lab.reap()) == {name: Fate.DELETED}


# -- what the books say -------------------------------------------------------------------


@pytest.mark.parametrize("queued", [False, True])
async def test_a_slice_that_lives_and_is_of_no_job_of_the_books_is_an_orphan(
    lab: Lab, *, queued: bool
) -> None:
    name = await lab.add("train-000009-g2", job="000009", generation=2, queued=queued)
    (found,) = (await lab.reap_twice()).found
    assert (found.name, found.fate) == (name, Fate.DELETED)
    assert found.why == "its job 000009 is not on the books of this home"
    await lab.until(name, None)
    assert lab.emulator.control.counts().empty


async def test_after_the_database_was_lost_all_that_it_knew_of_is_an_orphan(lab: Lab) -> None:
    before = "0f2c2a4e-lost"
    running = await lab.add("train-000001-g1", job="000001", home=before)
    waiting = await lab.add("train-000002-g1", "WAITING_FOR_RESOURCES", home=before, queued=True)
    assert fates(await lab.reap_twice()) == {}
    lab.rule(f"lost_homes: [{before}]")
    assert fates(await lab.reap_twice()) == {running: Fate.DELETED, waiting: Fate.DELETED}
    await lab.until(running, None)
    await lab.until(waiting, None)
    assert lab.emulator.control.counts().empty


async def test_a_slice_that_came_after_it_was_given_up_is_an_orphan(lab: Lab) -> None:
    job, name = await lab.job(Desired.CANCELLED, gone_at=datetime.now().astimezone())
    await lab.add(name, job=job)
    (found,) = (await lab.reap_twice()).found
    assert (found.fate, found.why) == (Fate.DELETED, f"its job {job} has given it back")
    await lab.until(name, None)
    (event,) = await lab.events()
    assert event.job == job
    assert event.text == (
        f"deleted {name} (v4-16 in {ZONE} of project emulated, of ada, job {job}): "
        f"its job {job} has given it back"
    )


@pytest.mark.parametrize("state", ["READY", "PREEMPTED"])
async def test_what_a_job_that_is_to_run_holds_is_left_to_its_controller(
    lab: Lab, state: str
) -> None:
    job, name = await lab.job(Desired.RUNNING)
    await lab.add(name, state, job=job)
    assert fates(await lab.reap_twice()) == {}
    assert lab.states() == {name: state}


async def test_a_stopped_job_keeps_its_slice_and_gives_it_back_by_the_books_once_it_is_dead(
    lab: Lab,
) -> None:
    # The zone is known from the books alone.
    lab.home.settings.unlink()
    job, name = await lab.job(Desired.STOPPED)
    await lab.add(name, job=job)
    assert fates(await lab.reap_twice()) == {}
    await lab.emulator.control.preempt(name)
    assert fates(await lab.reap_twice()) == {name: Fate.DELETED}
    await lab.until(name, None)
    (slice_,) = await lab.store.slices(job)
    assert slice_.gone_at is not None
    assert slice_.lost_at is not None
    kinds = [event.kind for event in await lab.store.events(job=job)]
    assert kinds[-2:] == ["slice.gone", "slice.reaped"]


async def test_a_job_that_is_over_keeps_its_slice_until_it_is_dead(lab: Lab) -> None:
    ending = Ending(EndingKind.DONE, "its command is done")
    job, name = await lab.job(Desired.RUNNING, ending=ending)
    await lab.add(name, job=job, queued=True)
    assert fates(await lab.reap_twice()) == {}
    await lab.emulator.control.preempt(name)
    assert fates(await lab.reap_twice()) == {name: Fate.DELETED}
    await lab.until(name, None)
    record = await lab.store.record(job)
    assert record.job.ending == ending
    assert record.slice is not None
    assert not record.slice.held


async def test_what_a_deleted_job_could_not_give_back_is_given_back_for_it(lab: Lab) -> None:
    job, name = await lab.job(Desired.DELETED)
    await lab.add(name, job=job)
    (noted,) = (await lab.reap()).found
    assert noted.why == f"its job {job} gives it back, and nobody has seen to that yet"
    lab.clock.passes(GRACE)
    assert fates(await lab.reap()) == {name: Fate.DELETED}
    await lab.until(name, None)
    (slice_,) = await lab.store.slices(job)
    assert slice_.gone_at is not None


# -- deleting -----------------------------------------------------------------------------


async def test_a_delete_that_was_refused_is_told_with_its_reason_and_asked_for_again(
    lab: Lab,
) -> None:
    name = await lab.add("n", "PREEMPTED")
    await lab.emulator.control.fail_next("DeleteNode", code=7, message="denied")
    (refused,) = (await lab.reap_twice()).found
    assert refused.fate is Fate.REFUSED
    assert "denied" in refused.trouble
    assert await lab.events() == []
    assert fates(await lab.reap()) == {name: Fate.DELETED}
    assert len(await lab.events()) == 1


async def test_what_is_still_there_after_its_delete_is_asked_for_again_and_told_of_once(
    lab: Lab,
) -> None:
    name = await lab.add("n", "PREEMPTED")
    await lab.emulator.control.pace(deleting=60)
    assert fates(await lab.reap_twice()) == {name: Fate.DELETED}
    # On its way out.
    assert fates(await lab.reap()) == {}
    await lab.emulator.control.set_state(name, "PREEMPTED")
    assert fates(await lab.reap()) == {name: Fate.DELETED}
    assert len(await lab.events()) == 1


async def test_two_reapers_at_once_delete_once_and_tell_once(lab: Lab) -> None:
    for number in range(5):
        await lab.add(f"n-{number}", "PREEMPTED")
    await lab.reap()
    lab.clock.passes(GRACE)
    both = await asyncio.gather(lab.reap(), lab.reap())
    assert {Fate.DELETED} == {each.fate for reaped in both for each in reaped.found}
    assert len(await lab.events()) == 5
    for number in range(5):
        await lab.until(f"n-{number}", None)
    await lab.reap()
    assert await lab.store.recall("reap") == {}
