"""A home in the midst of a day's work, made by the store alone: the same each time."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import attrs

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.config.tasks import read_tasks
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobDraft, Note
from jobman_core.models.job import Desired, Ending, EndingKind, Step
from jobman_core.models.lease import Controller, Lease
from jobman_core.models.outcome import Cause, HostExit, Outcome, OutcomeKind
from jobman_core.models.slice import HostInfo, Offer, Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.process import ProcessIdentity, machine_id
from jobman_core.testing.fakes import FakeClock

#: When people look.
NOW: Final = datetime(2026, 3, 10, 15, 42, 7, tzinfo=UTC)
TASKS: Final = "tasks.yaml"

_TYPE: Final = "v4-16"
_ZONE: Final = "us-central2-b"
_GOOD: Final = Outcome(OutcomeKind.SUCCEEDED, Cause.EXITED, (HostExit(0, 0), HostExit(1, 0)))
_BAD: Final = Outcome(
    OutcomeKind.FAILED, Cause.EXITED, (HostExit(1, 1, "loss is NaN"),), "exit 1 on host 1"
)
#: The tasks file.
_SWEEP: Final = """\
accelerators:
  v4-16:
    tasks:
      - {id: tokenize, run: python tokenize.py}
      - {id: sweep-lr-1e-4, run: python train.py, depends_on: tokenize}
      - {id: sweep-lr-3e-4, run: python train.py, depends_on: tokenize}
      - {id: sweep-lr-1e-3, run: python train.py, depends_on: tokenize}
      - {id: sweep-lr-3e-3, run: python train.py, depends_on: tokenize}
      - {id: long-context, run: python train.py, depends_on: tokenize}
      - {id: evaluate, run: python eval.py, depends_on: sweep-lr-3e-3}
      - {id: report, run: python report.py, depends_on: long-context}
"""


@attrs.define
class _Job:
    """One job, what holds it, and the generation of its slice."""

    lease: Lease
    name: str
    user: str
    request: SliceRequest
    slices: list[Slice] = attrs.field(factory=list)


class Scene:
    """A lab's home on a busy afternoon."""

    def __init__(self, home: Path) -> None:
        """Make the home."""
        self.home = Home(home)
        self.home.state.mkdir(parents=True)
        self.tasks = str(home / TASKS)
        Path(self.tasks).write_text(_SWEEP, "utf-8")
        self.clock = FakeClock(start=NOW)
        self._store = SqliteStore(Context(home, "", self.clock))
        self._me = "controller"

    async def play(self) -> None:
        """Let it happen; afterwards it is NOW."""
        await self._store.open()
        try:
            await self._day()
        finally:
            await self._store.aclose()

    async def _day(self) -> None:
        me = ProcessIdentity.of(os.getpid())
        await self._store.register(
            Controller(self._me, machine_id(), me.boot_id, me.pid, me.start, self.clock.monotonic())
        )
        await self._others()
        await self._sweep()
        self._at(0)

    def _at(self, minutes: float) -> datetime:
        """Let it be so many minutes before NOW."""
        moment = NOW - timedelta(minutes=minutes)
        self.clock.shift_wall((moment - self.clock.now()).total_seconds())
        return moment

    # -- what happens ----------------------------------------------------------------------

    async def _sweep(self) -> None:
        """Let two workers share a sweep, one of which has lost its slice twice."""
        store = self._store
        self._at(400)
        await store.open_queue(self.tasks)
        await store.define(self.tasks, read_tasks(Path(self.tasks)))
        first = await self._create(395, "sweep", "ada", number="1", queue=True)
        second = await self._create(394, "sweep", "ada", number="2", queue=True)
        await self._ready(first, 390, 388)
        await self._ready(second, 389, 380)
        await self._run(first, 385, 371, _GOOD)
        await self._run(first, 370, 262, _GOOD)
        await self._run(second, 369, 251, _GOOD)
        await self._run(second, 250, 214, _BAD)
        await self._run(second, 213, 178, _BAD)
        await self._run(second, 177, 140, _BAD)
        last = await self._begin(first, 261)
        long = await self._begin(second, 139)
        await self._end(first, last, 96, self._lost(first))
        await self._lose(first, 96)
        await self._ready(first, 94, 71)
        await self._begin(first, 70)
        await self._end(second, long, 4, self._lost(second))
        await self._lose(second, 4)
        await self._ask(second, 3)
        await store.set_step(
            second.lease,
            Step.ACQUIRE,
            f"no capacity for {_TYPE} in {_ZONE}",
            until=NOW + timedelta(seconds=40),
        )

    async def _others(self) -> None:
        store = self._store
        done = await self._create(1500, "baseline", "bob", kind="v4-8")
        await self._ready(done, 1499, 1490)
        await self._command(done, 1488, 620, Ending(EndingKind.DONE, ""), _GOOD)
        vision = await self._create(300, "vit-large", "bob", kind="v5litepod-16", zone="us-west4-a")
        await self._ready(vision, 299, 270)
        await self._command(vision, 268)
        held = await self._create(200, "notebook", "cleo", kind="v6e-8", zone="us-east1-d")
        await self._ready(held, 199, 190)
        await store.set_step(held.lease, Step.IDLE, "")
        bad = await self._create(90, "moe-8x", "cleo", kind="v5p-16", zone="us-east5-a")
        await self._ready(bad, 89, 60)
        ending = Ending(EndingKind.FAILED, "exit 1 on host 1: loss is NaN")
        await self._command(bad, 58, 31, ending, _BAD)

    # -- the parts of a job's story --------------------------------------------------------

    async def _create(
        self,
        minutes: float,
        name: str,
        user: str,
        *,
        kind: str = _TYPE,
        zone: str = _ZONE,
        number: str | None = None,
        queue: bool = False,
    ) -> _Job:
        self._at(minutes)
        store = self._store
        job = await store.draft_job(
            JobDraft(
                user=user,
                base_name=name,
                accelerator=kind,
                zone=zone,
                cloud="gcp",
                session="shared",
                queue=self.tasks if queue else None,
                worker_num=number,
            )
        )
        await store.publish_job(job.id, spec_hash="hash")
        text = f"job {job.id} ({job.name}) created by {user}: {kind} in {zone}"
        await store.add_event(Note("job.created", text), job=job.id)
        await store.set_desired(job.id, Desired.RUNNING, Note("job.started", f"{user} starts it"))
        lease = await store.take_lease(job.id, self._me, instead_of=None)
        return _Job(lease, job.name, user, SliceRequest("gcp", kind, zone, pricing="spot"))

    async def _ask(self, job: _Job, minutes: float) -> None:
        generation = len(job.slices) + 1
        name = f"{job.name.replace('_', '-')}-g{generation}"
        where = job.request.zone
        slice_ = Slice(
            job.lease.job,
            generation,
            job.request,
            SliceIdentity(name, where, "home", job.user, job.lease.job, generation),
            self._at(minutes),
        )
        job.slices.append(slice_)
        asks = f"asks for {job.request.accelerator} in {where}, spot, as {name}"
        await self._store.open_slice(job.lease, slice_, Note("slice.requested", asks))

    async def _ready(self, job: _Job, asked: float, ready: float) -> None:
        await self._ask(job, asked)
        first = int(job.lease.job) * 16
        hosts = (HostInfo(i, f"10.128.0.{first + i}") for i in range(job.request.hosts))
        name = job.slices[-1].identity.name
        job.slices[-1] = attrs.evolve(
            job.slices[-1],
            state="READY",
            phase=SlicePhase.READY,
            ready_at=self._at(ready),
            hosts=tuple(hosts),
        )
        note = Note("slice.ready", f"slice {name} is ready")
        await self._store.save_slice(job.lease, job.slices[-1], note)

    async def _lose(self, job: _Job, minutes: float) -> None:
        at = self._at(minutes)
        name = job.slices[-1].identity.name
        lost = attrs.evolve(
            job.slices[-1], state="PREEMPTED", phase=SlicePhase.LOST, lost_at=at, withdrawn=True
        )
        note = Note("slice.preempted", f"slice {name} is lost: PREEMPTED")
        await self._store.save_slice(job.lease, lost, note)
        gone = attrs.evolve(lost, state="ABSENT", gone_at=at + timedelta(seconds=20))
        self._at(minutes - 1 / 3)
        note = Note("slice.gone", f"slice {name} is gone")
        await self._store.save_slice(job.lease, gone, note)

    def _lost(self, job: _Job) -> Outcome:
        why = f"slice {job.slices[-1].identity.name} is PREEMPTED"
        return Outcome(OutcomeKind.INTERRUPTED, Cause.PREEMPTED, (), why)

    async def _run(self, job: _Job, begun: float, ended: float, outcome: Outcome) -> None:
        """Let a worker run what it gets."""
        await self._end(job, await self._begin(job, begun), ended, outcome)

    async def _begin(self, job: _Job, begun: float) -> str:
        """Let a worker take what it gets; give the attempt's token."""
        offer = Offer(job.request.accelerator, job.request.zone, job.request.hosts)
        claim = await self._store.claim(
            job.lease, self.tasks, offer, generation=len(job.slices), now=self._at(begun)
        )
        assert claim is not None  # noqa: S101 - the scene has one for it
        attempt = attrs.evolve(claim.attempt, started_at=self._at(begun), hosts=(0, 1))
        await self._store.save_attempt(job.lease, attempt)
        await self._store.set_step(job.lease, Step.EXECUTE, "")
        return attempt.token

    async def _end(self, job: _Job, token: str, ended: float, outcome: Outcome) -> None:
        await self._store.end_attempt(job.lease, token, outcome, now=self._at(ended))

    async def _command(
        self,
        job: _Job,
        begun: float,
        ended: float | None = None,
        ending: Ending | None = None,
        outcome: Outcome = _GOOD,
    ) -> None:
        """Let a job run its command."""
        attempt = await self._store.open_attempt(
            job.lease, generation=len(job.slices), now=self._at(begun)
        )
        attempt = attrs.evolve(attempt, started_at=self._at(begun), hosts=(0,))
        await self._store.save_attempt(job.lease, attempt)
        await self._store.set_step(job.lease, Step.EXECUTE, "")
        if ended is not None:
            now = self._at(ended)
            await self._store.end_attempt(
                job.lease, attempt.token, outcome, now=now, ending=ending, give_back=True
            )
            gone = attrs.evolve(job.slices[-1], state="ABSENT", gone_at=now, withdrawn=True)
            await self._store.save_slice(job.lease, gone)
