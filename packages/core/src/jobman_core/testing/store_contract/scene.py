"""What the tests of stores have in common: a store with workers and a queue, in few words."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs

from jobman_core.interfaces.store import JobDraft, Note, Store
from jobman_core.models.job import Desired
from jobman_core.models.lease import Controller, Lease
from jobman_core.models.notice import NotifyRule
from jobman_core.models.outcome import Cause, HostExit, Outcome, OutcomeKind
from jobman_core.models.queue import Claim, Queue
from jobman_core.models.slice import HostInfo, Offer, Slice, SliceIdentity, SliceRequest
from jobman_core.models.task import QueueDefinition, Task, TaskSpec

QUEUE = "/home/lab/tasks.yaml"
ACCELERATOR = "v4-16"
ZONE = "us-central2-b"
#: What a slice of that type and place offers.
OFFER = Offer(ACCELERATOR, ZONE, 2)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

SUCCEEDED = Outcome(OutcomeKind.SUCCEEDED, Cause.EXITED, (HostExit(0, 0), HostExit(1, 0)))
FAILED = Outcome(OutcomeKind.FAILED, Cause.EXITED, (HostExit(1, 3, "boom"), HostExit(0, None)))
PREEMPTED = Outcome(OutcomeKind.INTERRUPTED, Cause.PREEMPTED)


def entry(name: str, **changes: Any) -> TaskSpec:  # noqa: ANN401 - any field
    """Make an entry of a tasks file."""
    return TaskSpec(name, **({"run": "true", "accelerator": ACCELERATOR} | changes))


def draft(**changes: Any) -> JobDraft:  # noqa: ANN401 - any field
    """Say what is to be known of a job before it has a number."""
    plain = JobDraft(
        user="ada",
        base_name="worker",
        accelerator=ACCELERATOR,
        zone=ZONE,
        cloud="local",
        session="process",
        queue=None,
        worker_num=None,
    )
    return attrs.evolve(plain, **changes)


def controller(name: str) -> Controller:
    """Make a process that drives jobs."""
    return Controller(name, "machine", "boot", 4711, 99, 1000.0)


def slice_of(job: str, generation: int, **changes: Any) -> Slice:  # noqa: ANN401 - any field
    """Make one generation of a job's slice."""
    name = f"tpu-{job}-g{generation}"
    plain = Slice(
        job=job,
        generation=generation,
        request=SliceRequest("local", ACCELERATOR, ZONE, options={"project": "lab"}),
        identity=SliceIdentity(name, ZONE, "home", "ada", job, generation),
        requested_at=NOON,
        hosts=(HostInfo(0, "10.0.0.1", "10.9.0.1"), HostInfo(1)),
    )
    return attrs.evolve(plain, **changes)


@attrs.define
class Scene:
    """A store, and what happens in it."""

    store: Store
    now: datetime = NOON
    _controllers: int = 0

    async def job(self, **changes: Any) -> str:  # noqa: ANN401 - any field
        """Publish a job; gives its id."""
        job = await self.store.draft_job(draft(**changes))
        await self.store.publish_job(job.id, spec_hash="hash")
        return job.id

    async def worker(self, **changes: Any) -> Lease:  # noqa: ANN401 - any field
        """Publish a job that has a controller; gives the lease."""
        return await self.lease(await self.job(**changes))

    async def lease(self, job: str, instead_of: Lease | None = None) -> Lease:
        """Take a job's lease for a new controller."""
        self._controllers += 1
        name = f"controller-{job}-{self._controllers}"
        await self.store.register(controller(name))
        return await self.store.take_lease(job, name, instead_of=instead_of)

    async def define(
        self, *entries: TaskSpec, path: str = QUEUE, notify: NotifyRule | None = None
    ) -> Queue:
        """Put entries in force."""
        await self.store.open_queue(path)
        content = f"hash of {[e.id for e in entries]}"
        return await self.store.define(path, QueueDefinition(entries, content, notify))

    async def claim(self, lease: Lease, offer: Offer = OFFER, *, path: str = QUEUE) -> Claim | None:
        """Let a worker take a task, a minute later than what was before."""
        self.now += timedelta(minutes=1)
        return await self.store.claim(lease, path, offer, generation=1, now=self.now)

    async def must_claim(self, lease: Lease, offer: Offer = OFFER, *, path: str = QUEUE) -> Claim:
        """Let a worker take a task that is there."""
        claim = await self.claim(lease, offer, path=path)
        assert claim is not None, "there is a task to take"
        return claim

    async def end(self, lease: Lease, claim: Claim, outcome: Outcome) -> None:
        """Let a worker be done with a task, a minute later than what was before."""
        self.now += timedelta(minutes=1)
        await self.store.end_attempt(lease, claim.attempt.token, outcome, now=self.now)

    async def run(self, lease: Lease, *outcomes: Outcome, path: str = QUEUE) -> Task:
        """Let a worker run what it gets, once for each outcome; gives the last task as it is."""
        for outcome in outcomes:
            claim = await self.must_claim(lease, path=path)
            await self.end(lease, claim, outcome)
        return await self.store.task(path, claim.task.id)

    async def statuses(self, path: str = QUEUE) -> dict[str, str]:
        """Give the statuses of all tasks."""
        return {task.id: task.status.value for task in await self.store.tasks(path)}

    async def cancel(self, job: str) -> None:
        """Call a job cancelled."""
        await self.store.set_desired(job, Desired.CANCELLED, Note("job.desired", "cancelled"))

    async def kinds(self, after: int = 0) -> Sequence[str]:
        """Give the kinds of all events since one, in their order."""
        return [event.kind for event in await self.store.events(after=after)]

    async def last_event(self) -> int:
        """Give the number of the newest event."""
        events = await self.store.events(limit=1_000_000)
        return events[-1].id if events else 0
