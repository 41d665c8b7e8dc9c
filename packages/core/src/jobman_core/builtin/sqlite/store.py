"""The store on SQLite: every method is one transaction on the store's own thread."""

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from jobman_core.builtin.sqlite import (
    attempts,
    binding,
    definitions,
    events,
    jobs,
    leases,
    memory,
    past,
    queues,
    slices,
    tally,
    tasks,
    used,
    zones,
)
from jobman_core.builtin.sqlite.database import Database
from jobman_core.builtin.sqlite.fresh import Fresh
from jobman_core.builtin.sqlite.mounts import is_network
from jobman_core.builtin.sqlite.rows import stamp
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context, Scope
from jobman_core.interfaces.store import JobDraft, JobRecord, News, Note, OldJob, PastRun, Store
from jobman_core.models.attempt import Attempt
from jobman_core.models.checkup import Checkup
from jobman_core.models.event import Event
from jobman_core.models.job import Desired, Ending, Job, Step
from jobman_core.models.lease import Controller, Lease
from jobman_core.models.outcome import Outcome
from jobman_core.models.place import Stockout, Where
from jobman_core.models.queue import Claim, Demand, Queue, Tally
from jobman_core.models.slice import Offer, Slice
from jobman_core.models.task import Counters, QueueDefinition, Task
from jobman_core.models.usage import Used
from jobman_core.models.zone import Zone, ZoneLook
from jobman_core.process import machine_id


class SqliteStore(Store):
    """Keeps a home's facts in ``jobs/.jobman/jobman.db``.

    What others are told to rely on (jobs, wishes, slices, claims, outcomes) is on the disk before
    a method returns; beats, steps and what is known of zones are not synced. A home is bound to
    one machine.
    """

    name: ClassVar[str] = "sqlite"

    def __init__(
        self,
        context: Context,
        *,
        busy: float = 60.0,
        machine: Callable[[], str] = machine_id,
        network: Callable[[Path], bool] = is_network,
    ) -> None:
        """Keep what it was given; nothing is touched yet.

        Args:
            context: the home, and a clock; its ``home_id`` is not looked at: it comes from here.
            busy: seconds to wait for others who write.
            machine: gives this machine's id.
            network: tells whether a folder is on a network file system.
        """
        super().__init__(context)
        self._binding = binding.Binding(Home(context.home), machine)
        #: What gave a task when last asked: it most likely has another, so nobody looks first.
        self._giving: set[tuple[str, Offer]] = set()
        self._network = network
        self._db = Database(Home(context.home).database, busy=busy, network=network)

    # -- the store itself ------------------------------------------------------------------

    async def open(self) -> None:
        """Open, make or migrate the database."""
        bond = self._binding
        await self._db.open(bond.name, bond.named, found=bond.mine())
        if not bond.mine():
            await self._db.write(bond.bind)

    async def aclose(self) -> None:
        """Close it."""
        await self._db.aclose()

    async def checkups(self, scope: Scope) -> Sequence[Checkup]:
        """Say how the database is, by reading alone; it need not be open."""
        # Start-up is paid by everybody, and this is rare.
        from jobman_core.builtin.sqlite.health import checkups

        del scope
        path, seconds = Home(self.context.home).database, self.context.clock.monotonic
        return await asyncio.to_thread(lambda: [*checkups(path, self._network, seconds)])

    async def home_id(self) -> str:
        """Give the home's UUID."""
        return await self._db.read(binding.home_id)

    async def hindrance(self, *, patience: float | None = None) -> str:
        """Say why nothing can be written now; empty where nothing is seen that keeps anyone."""
        return await self._db.hindrance(patience=patience)

    async def version(self) -> int:
        """Give a number that differs whenever anybody has changed anything."""
        return await self._db.version()

    # -- jobs ------------------------------------------------------------------------------

    async def draft_job(self, draft: JobDraft, old: OldJob | None = None) -> Job:
        """Take the next id and suffix for a job that nobody sees until it is published."""
        return await self._db.write(jobs.draft, draft, self._fresh(), old)

    async def publish_job(self, job: str, *, spec_hash: str, old: OldJob | None = None) -> Job:
        """Let a drafted job be seen."""
        return await self._db.write(jobs.publish, job, spec_hash, self._fresh(), old)

    async def discard_job(self, job: str) -> None:
        """Forget a draft; its number is not used again."""
        await self._db.write(jobs.discard, job)

    async def job_ids(self) -> Sequence[str]:
        """Give all ids, oldest first, those of deleted jobs too."""
        return await self._db.read(jobs.ids)

    async def record(self, job: str) -> JobRecord:
        """Give all facts about a job."""
        return await self._db.read(jobs.record, job)

    async def records(self, *, deleted: bool = False) -> Sequence[JobRecord]:
        """Give all facts about all jobs, oldest first; deleted ones only when asked for."""
        return await self._db.read(jobs.records, deleted)

    async def set_desired(self, job: str, desired: Desired, note: Note) -> Job:
        """Write down what is wanted of a job."""
        return await self._db.write(jobs.set_desired, job, desired, note, self._at())

    async def set_spec(self, job: str, draft: JobDraft, *, spec_hash: str) -> Job:
        """Take over what an edited ``config.yaml`` says."""
        return await self._db.write(jobs.set_spec, job, draft, spec_hash)

    async def set_avoid(self, job: str, task: str | None) -> None:
        """Say which task this worker should leave to others, once."""
        await self._db.write(jobs.set_avoid, job, task)

    async def set_step(
        self, lease: Lease, step: Step, reason: str, *, until: datetime | None = None
    ) -> None:
        """Write down where the controller is; not synced, and nothing if it is no change."""
        if not await self._db.read(jobs.at_step, lease, step, reason, until):
            await self._db.write_unsynced(
                jobs.set_step, lease, step, reason, until=until, at=self._at()
            )

    async def set_ending(self, lease: Lease, ending: Ending, *, give_back: bool = False) -> None:
        """Write down how the job ended."""
        await self._db.write(jobs.set_ending, lease, ending, self._at(), give_back=give_back)

    # -- controllers and leases ------------------------------------------------------------

    async def register(self, controller: Controller) -> None:
        """Write down a controller before it takes leases."""
        await self._db.write(leases.register, controller)

    async def beat(self, controller: str, now: float) -> None:
        """Say that a controller lives; not synced."""
        await self._db.write_unsynced(leases.beat, controller, now)

    async def retire(self, controller: str) -> None:
        """Forget a controller and the leases it has."""
        await self._db.write(leases.retire, controller)

    async def take_lease(self, job: str, controller: str, *, instead_of: Lease | None) -> Lease:
        """Take a job's lease, with the next epoch."""
        return await self._db.write(leases.take, job, controller, instead_of)

    async def news(self, controller: str) -> News:
        """Give what is wanted of all jobs whose leases a controller has, in one look."""
        return await self._db.read(leases.news, controller)

    async def check_lease(self, lease: Lease) -> None:
        """Raise StaleLeaseError unless the lease is the job's newest."""
        await self._db.read(leases.check, lease)

    async def drop_lease(self, lease: Lease) -> None:
        """Give a lease back; one that is not held any more is no error."""
        await self._db.write(leases.drop, lease)

    # -- slices ----------------------------------------------------------------------------

    async def open_slice(self, lease: Lease, slice_: Slice, note: Note) -> None:
        """Put a new generation on the books, before the cloud is asked for it."""
        await self._db.write(slices.open_, lease, slice_, note, self._at())

    async def save_slice(self, lease: Lease, slice_: Slice, note: Note | None = None) -> None:
        """Write down what is known of a generation now."""
        await self._db.write(slices.save, lease, slice_, note, self._at())

    async def slices(self, job: str) -> Sequence[Slice]:
        """Give all generations of a job, oldest first."""
        return await self._db.read(slices.of_job, job)

    # -- places and zones ------------------------------------------------------------------

    async def zones(self) -> Sequence[Zone]:
        """Give all zones in which this home has ever asked for a slice."""
        return await self._db.read(zones.known)

    async def set_stockout(self, where: Where, stockout: Stockout | None) -> None:
        """Write down that there was no capacity somewhere; None: there is some."""
        if stockout is not None or await self._db.read(zones.is_stockout, where):
            await self._db.write_unsynced(zones.set_stockout, where, stockout)

    async def stockouts(self, wheres: Iterable[Where]) -> Mapping[Where, Stockout]:
        """Give what is on the books of some of the places, however old it is."""
        return await self._db.read(zones.stockouts, list(wheres))

    async def zone_look(self, zone: Zone, known: ZoneLook | None = None) -> ZoneLook | None:
        """Give the newest look at a zone; None: there was none."""
        return await self._db.read(zones.look, zone, known)

    async def claim_look(
        self, zone: Zone, by: str, *, after: ZoneLook | None, now: float, lapse: float
    ) -> bool:
        """Tell whether one may look at a zone now, for all."""
        # Of all who find it too old at the same moment, only one has to write.
        if not await self._db.read(zones.is_due, zone, after, now, lapse):
            return False
        return await self._db.write_quietly(
            zones.claim, zone, by, after=after, now=now, lapse=lapse
        )

    async def save_look(self, zone: Zone, by: str, look: ZoneLook) -> ZoneLook:
        """Write down a look that was claimed, and give it with its number of changes."""
        return await self._db.write_quietly(zones.save, zone, by, look)

    # -- attempts --------------------------------------------------------------------------

    async def open_attempt(self, lease: Lease, *, generation: int, now: datetime) -> Attempt:
        """Put an attempt of the job's command on the books."""
        return await self._db.write(attempts.open_, lease, generation, _fresh(now))

    async def save_attempt(self, lease: Lease, attempt: Attempt) -> None:
        """Write down hosts, commit and start of a live attempt."""
        await self._db.write(attempts.save, lease, attempt, self._at())

    async def ask_end(self, token: str, cause: str) -> None:
        """Ask for the end of an attempt: whoever controls its job does it."""
        await self._db.write(attempts.ask_end, token, cause)

    async def end_attempt(
        self,
        lease: Lease,
        token: str,
        outcome: Outcome,
        *,
        now: datetime,
        ending: Ending | None = None,
        give_back: bool = False,
    ) -> None:
        """Record the outcome of an attempt, once, and release its task if it has one."""
        await self._db.write(
            attempts.end, lease, token, outcome, _fresh(now), ending=ending, give_back=give_back
        )

    async def attempts(
        self, *, job: str | None = None, queue: str | None = None, task: str | None = None
    ) -> Sequence[Attempt]:
        """Give the attempts of a job, of a task of a queue, or of all its tasks, oldest first."""
        return await self._db.read(attempts.of, job, queue, task)

    # -- queues ----------------------------------------------------------------------------

    async def open_queue(self, path: str) -> Queue:
        """Give a queue, new if need be."""
        found = await self._db.read(queues.find, path)
        if found is not None:
            return found
        return await self._db.write(queues.open_, path, self._at())

    async def queue(self, path: str) -> Queue:
        """Give a queue."""
        return await self._db.read(queues.get, path)

    async def queues(self) -> Sequence[Queue]:
        """Give all queues of the home."""
        return await self._db.read(queues.all_)

    async def define(self, path: str, definition: QueueDefinition) -> Queue:
        """Put a file's definitions in force; clears the problem."""
        return await self._db.write(definitions.define, path, definition, self._fresh())

    async def set_problem(self, path: str, problem: str) -> None:
        """Say what is wrong with the file as it stands; empty: nothing."""
        if (await self.queue(path)).problem != problem:
            await self._db.write(queues.set_problem, path, problem, self._at())

    async def claim(
        self, lease: Lease, queue: str, offer: Offer, *, generation: int, now: datetime
    ) -> Claim | None:
        """Take the best task that fits the offer; None: there is none now."""
        look = partial(attempts.something_to_claim, lease=lease, queue=queue, offer=offer)
        known = (queue, offer)
        claim = await self._db.write_if(
            None if known in self._giving else look,
            attempts.claim,
            lease,
            queue,
            offer,
            generation=generation,
            fresh=_fresh(now),
        )
        (self._giving.discard if claim is None else self._giving.add)(known)
        return claim

    async def tasks(self, queue: str) -> Sequence[Task]:
        """Give all tasks in the file's order, then removed ones that still run."""
        return await self._db.read(tasks.of_queue, queue)

    async def task(self, queue: str, task: str) -> Task:
        """Give one task."""
        return await self._db.read(tasks.one, queue, task)

    async def demand(self, queue: str) -> Sequence[Demand]:
        """Give what a queue has, by accelerator and zone."""
        return await self._db.read(tasks.demand, queue)

    async def tallies(self, known: Iterable[Tally] = (), *, tasks: int = 0) -> Sequence[Tally]:
        """Give how all queues stand, in one look."""
        return await self._db.read(tally.all_, {one.queue.path: one for one in known}, tasks)

    async def reset(self, queue: str, tasks: Iterable[str], note: Note) -> None:
        """Forget what tasks came to."""
        names = list(tasks)
        await self._db.write(queues.reset, queue, names, note, self._fresh())

    async def prioritize(self, queue: str, task: str, note: Note) -> None:
        """Let a task be picked before all others, once."""
        await self._db.write(queues.prioritize, queue, task, note, self._at())

    async def mark_done(self, queue: str, task: str, note: Note) -> None:
        """Call a task done; attempts that run go on to their end."""
        await self._db.write(queues.mark_done, queue, task, note, self._at())

    async def import_state(
        self,
        queue: str,
        counters: Mapping[str, Counters],
        history: Mapping[str, Sequence[PastRun]],
    ) -> None:
        """Take over what a v3 state file says, once, into a queue that has no attempts yet."""
        await self._db.write(past.import_state, queue, counters, history, self._fresh())

    async def history(self, queue: str) -> Mapping[str, Sequence[PastRun]]:
        """Give the ended runs of all tasks of a queue, those of removed ones too."""
        return await self._db.read(past.history, queue)

    # -- reports ---------------------------------------------------------------------------

    async def used(self, since: datetime, until: datetime) -> Used:
        """Give what is known of a span of time, for reports, in one look."""
        return await self._db.read(used.between, stamp(since), stamp(until))

    # -- memory ----------------------------------------------------------------------------

    async def remember(self, who: str, facts: Mapping[str, Any]) -> None:
        """Write down facts that somebody needs between runs, all or none."""
        await self._db.write(memory.remember, who, facts)

    async def recall(self, who: str, *, prefix: str = "") -> Mapping[str, Any]:
        """Give what somebody wrote down, in the order of the keys."""
        return await self._db.read(memory.recall, who, prefix)

    # -- events ----------------------------------------------------------------------------

    async def add_event(self, note: Note, *, job: str | None = None) -> None:
        """Write an event that no other change carries."""
        await self._db.write(events.add, self._at(), note, job)

    async def events(
        self, *, after: int = 0, limit: int = 1000, job: str | None = None
    ) -> Sequence[Event]:
        """Give events with higher ids than ``after``, oldest first."""
        return await self._db.read(events.after, after, limit, job)

    async def newest_events(self, job: str | None, limit: int) -> Sequence[Event]:
        """Give the newest events of a job, or of all, so many at most, oldest first."""
        return await self._db.read(events.newest, job, limit)

    def _at(self) -> str:
        return stamp(self.context.clock.now())

    def _fresh(self) -> Fresh:
        return _fresh(self.context.clock.now())


def _fresh(now: datetime) -> Fresh:
    return Fresh(now, lambda: os.urandom(16).hex())
