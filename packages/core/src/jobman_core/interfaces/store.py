"""The store: facts, in transactions. The only shared truth of a home."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import attrs

from jobman_core.interfaces.backend import Backend
from jobman_core.models.attempt import Attempt
from jobman_core.models.event import Event
from jobman_core.models.job import Desired, Ending, Job, Step
from jobman_core.models.lease import Controller, Lease
from jobman_core.models.notice import NotifyRule
from jobman_core.models.outcome import Outcome
from jobman_core.models.place import Stockout, Where
from jobman_core.models.queue import Claim, Demand, Queue, Tally
from jobman_core.models.slice import Offer, Slice
from jobman_core.models.task import Counters, QueueDefinition, Task
from jobman_core.models.usage import Used
from jobman_core.models.zone import Zone, ZoneLook


@attrs.frozen
class JobDraft:
    """What must be known of a job before it gets its number."""

    user: str
    base_name: str
    accelerator: str
    zone: str
    cloud: str
    session: str
    queue: str | None
    #: ``auto`` asks for the smallest free number for this base name; None makes the id the suffix.
    worker_num: str | None
    #: Who is told of it; None: as the home's settings say.
    notify: NotifyRule | None = None


@attrs.frozen
class OldRun:
    """One run of a command under jobman v3, of which only logs are left."""

    number: int
    #: When its logs were written last.
    ended: datetime


@attrs.frozen
class OldJob:
    """A job of jobman v3 that is taken over."""

    #: Six digits: the job has them here as well, unless they are taken. None: any will do.
    id: str | None
    #: Its name here: with the suffix that it had.
    name: str
    created: datetime
    #: What its owner should know of it while it has not been started here.
    reason: str
    #: Oldest first.
    runs: tuple[OldRun, ...] = ()


@attrs.frozen
class JobRecord:
    """All facts about one job, read in one transaction."""

    job: Job
    #: The newest generation.
    slice: Slice | None = None
    #: Withdrawn generations that are not yet confirmed absent.
    withdrawing: tuple[Slice, ...] = ()
    #: Attempts that have not ended.
    attempts: tuple[Attempt, ...] = ()
    holder: tuple[Lease, Controller] | None = None
    #: Of a queue worker: how many tasks of its queue are done, and how many there are.
    progress: tuple[int, int] | None = None


@attrs.frozen
class Wish:
    """What is wanted of one job now, for the controller that has its lease."""

    #: Of the lease.
    epoch: int
    desired: Desired
    #: Attempts whose end is asked for, by token, and why.
    ends: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class News:
    """What a controller has to know again after somebody changed something."""

    #: By job, for all whose leases it has.
    wishes: Mapping[str, Wish] = attrs.field(factory=dict)
    #: ``Queue.changes`` of all queues of the home, by path.
    queues: Mapping[str, int] = attrs.field(factory=dict)


@attrs.frozen
class Note:
    """An event to write in the transaction of the change that it tells of."""

    kind: str
    text: str


@attrs.frozen
class PastRun:
    """One entry of a task's history in a v3 state file."""

    job: str
    started: datetime | None
    ended: datetime | None
    #: ``completed``, ``failed``, ``interrupted`` or ``stale_cleanup``.
    status: str


class Store(Backend):
    """Keeps a home's facts. Every method is one transaction: all of it, or nothing.

    A method that takes a lease refuses one that is not the job's newest with
    :class:`~jobman_core.errors.StaleLeaseError`. Any method may raise
    :class:`~jobman_core.errors.StoreError` when the database cannot be used.
    """

    # -- the store itself ------------------------------------------------------------------

    @abstractmethod
    async def open(self) -> None:
        """Open, make or migrate the database.

        Raises:
            StoreError: damaged, unreadable, or of a newer jobman.
            HeldError: the home belongs to another machine.
        """

    @abstractmethod
    async def aclose(self) -> None:
        """Close it."""

    @abstractmethod
    async def home_id(self) -> str:
        """Give the home's UUID."""

    async def hindrance(self, *, patience: float | None = None) -> str:
        """Say why nothing can be written now, and what to do; empty: nothing is known of.

        Args:
            patience: seconds to wait for one's turn to write; None: others who write are no matter.
        """
        del patience
        return ""

    @abstractmethod
    async def version(self) -> int:
        """Give a number that differs whenever anybody has changed anything; cheap to ask.

        Looks at zones, which nobody waits for here, need not show in it.
        """

    # -- jobs ------------------------------------------------------------------------------

    @abstractmethod
    async def draft_job(self, draft: JobDraft, old: OldJob | None = None) -> Job:
        """Take the next id and suffix for a job that nobody sees until it is published.

        Args:
            draft: what is known of it.
            old: it was one of jobman v3: it keeps its name, and its id if that is free.

        Raises:
            HeldError: a job that is neither cancelled nor deleted has that worker number, or name.
        """

    @abstractmethod
    async def publish_job(self, job: str, *, spec_hash: str, old: OldJob | None = None) -> Job:
        """Let a drafted job be seen (``desired`` stopped), with what it did under jobman v3."""

    @abstractmethod
    async def discard_job(self, job: str) -> None:
        """Forget a draft; its number is not used again."""

    @abstractmethod
    async def job_ids(self) -> Sequence[str]:
        """Give all ids, oldest first, those of deleted jobs too."""

    @abstractmethod
    async def record(self, job: str) -> JobRecord:
        """Give all facts about a job.

        Raises:
            NotFoundError: no such job.
        """

    @abstractmethod
    async def records(self, *, deleted: bool = False) -> Sequence[JobRecord]:
        """Give all facts about all jobs, oldest first; deleted ones only when asked for."""

    @abstractmethod
    async def set_desired(self, job: str, desired: Desired, note: Note) -> Job:
        """Write down what is wanted of a job (synced).

        RUNNING also clears its ending and its restarts, but not those of a job that was to run and
        has no ending: whoever wants that again has only lost its controller. CANCELLED and DELETED
        withdraw its slice in the same transaction, so that no crash comes between the wish and its
        being remembered.
        """

    @abstractmethod
    async def set_spec(self, job: str, draft: JobDraft, *, spec_hash: str) -> Job:
        """Take over what an edited ``config.yaml`` says; id, name and user stay."""

    @abstractmethod
    async def set_avoid(self, job: str, task: str | None) -> None:
        """Say which task this worker should leave to others, once."""

    @abstractmethod
    async def set_step(
        self, lease: Lease, step: Step, reason: str, *, until: datetime | None = None
    ) -> None:
        """Write down where the controller is; not synced, and nothing if it is no change.

        Args:
            lease: who says so.
            step: where it is.
            reason: why that takes time, for people.
            until: when what it waits for is tried again, where it waits for a moment.
        """

    @abstractmethod
    async def set_ending(self, lease: Lease, ending: Ending, *, give_back: bool = False) -> None:
        """Write down how the job ended, and whether its slice is withdrawn with that (synced)."""

    # -- controllers and leases ------------------------------------------------------------

    @abstractmethod
    async def register(self, controller: Controller) -> None:
        """Write down a controller before it takes leases."""

    @abstractmethod
    async def beat(self, controller: str, now: float) -> None:
        """Say that a controller lives; not synced.

        Raises:
            StaleLeaseError: it was retired by others.
        """

    @abstractmethod
    async def retire(self, controller: str) -> None:
        """Forget a controller, the leases it has, and looks at zones that it began."""

    @abstractmethod
    async def take_lease(self, job: str, controller: str, *, instead_of: Lease | None) -> Lease:
        """Take a job's lease, with the next epoch.

        Args:
            job: whose.
            controller: a registered one.
            instead_of: the lease that was seen and judged lost; None: nobody was seen to have it.

        Raises:
            HeldError: someone else has it by now.
        """

    @abstractmethod
    async def news(self, controller: str) -> News:
        """Give what is wanted of all jobs whose leases a controller has, in one look."""

    @abstractmethod
    async def check_lease(self, lease: Lease) -> None:
        """Raise StaleLeaseError unless the lease is the job's newest."""

    @abstractmethod
    async def drop_lease(self, lease: Lease) -> None:
        """Give a lease back; one that is not held any more is no error."""

    # -- slices ----------------------------------------------------------------------------

    @abstractmethod
    async def open_slice(self, lease: Lease, slice_: Slice, note: Note) -> None:
        """Put a new generation on the books, before the cloud is asked for it (synced).

        Raises:
            HeldError: an older generation is neither withdrawn nor gone, or that number is taken.
        """

    @abstractmethod
    async def save_slice(self, lease: Lease, slice_: Slice, note: Note | None = None) -> None:
        """Write down what is known of a generation now; one that is withdrawn stays so.

        A loss (``lost_at`` set for the first time) counts as one recovery of the job when a
        newer generation is opened.
        """

    @abstractmethod
    async def slices(self, job: str) -> Sequence[Slice]:
        """Give all generations of a job, oldest first."""

    # -- places and zones ------------------------------------------------------------------

    @abstractmethod
    async def zones(self) -> Sequence[Zone]:
        """Give all zones in which this home has ever asked for a slice."""

    @abstractmethod
    async def set_stockout(self, where: Where, stockout: Stockout | None) -> None:
        """Write down that there was no capacity somewhere; None: there is some. Not synced."""

    @abstractmethod
    async def stockouts(self, wheres: Iterable[Where]) -> Mapping[Where, Stockout]:
        """Give what is on the books of some of the places, however old it is."""

    @abstractmethod
    async def zone_look(self, zone: Zone, known: ZoneLook | None = None) -> ZoneLook | None:
        """Give the newest look at a zone; None: there was none.

        Args:
            zone: which.
            known: an earlier one: what is listed is not read again where it has not changed.
        """

    @abstractmethod
    async def claim_look(
        self, zone: Zone, by: str, *, after: ZoneLook | None, now: float, lapse: float
    ) -> bool:
        """Tell whether one may look at a zone now, for all; not synced.

        Args:
            zone: which.
            by: the controller that wants to look.
            after: the newest look that they know of: whoever knows an older one comes too late.
            now: seconds of this machine's monotonic clock.
            lapse: seconds after which somebody who wanted to look and did not is forgotten.
        """

    @abstractmethod
    async def save_look(self, zone: Zone, by: str, look: ZoneLook) -> ZoneLook:
        """Write down a look that was claimed, and give it with its number of changes; not synced.

        One whose claim was forgotten meanwhile is given as it is, and not written.
        """

    # -- attempts --------------------------------------------------------------------------

    @abstractmethod
    async def open_attempt(self, lease: Lease, *, generation: int, now: datetime) -> Attempt:
        """Put an attempt of the job's command on the books (synced).

        Raises:
            HeldError: the job has a live attempt.
        """

    @abstractmethod
    async def save_attempt(self, lease: Lease, attempt: Attempt) -> None:
        """Write down hosts, commit and start of a live attempt."""

    @abstractmethod
    async def ask_end(self, token: str, cause: str) -> None:
        """Ask for the end of an attempt: whoever controls its job does it."""

    @abstractmethod
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
        """Record the outcome of an attempt, once, and release its task if it has one (synced).

        The task's counters become what ``policy.after`` says, dependants are unblocked or
        blocked, and the events are written, in the same transaction. A failure of a job's command
        counts as one restart; the ending is part of the transaction too, so that no crash comes
        between an outcome and what follows from it.

        Args:
            lease: who says so.
            token: the attempt.
            outcome: how it ended.
            now: when.
            ending: of the job, where that outcome is also its end.
            give_back: whether the job's slice is withdrawn with that.

        Raises:
            StaleLeaseError: also when the attempt has an outcome already.
        """

    @abstractmethod
    async def attempts(
        self, *, job: str | None = None, queue: str | None = None, task: str | None = None
    ) -> Sequence[Attempt]:
        """Give the attempts of a job, of a task of a queue, or of all its tasks, oldest first."""

    # -- queues ----------------------------------------------------------------------------

    @abstractmethod
    async def open_queue(self, path: str) -> Queue:
        """Give a queue, new if need be."""

    @abstractmethod
    async def queue(self, path: str) -> Queue:
        """Give a queue.

        Raises:
            NotFoundError: no such queue in this home.
        """

    @abstractmethod
    async def queues(self) -> Sequence[Queue]:
        """Give all queues of the home."""

    @abstractmethod
    async def define(self, path: str, definition: QueueDefinition) -> Queue:
        """Put a file's definitions in force; clears the problem.

        A task that is not in the file any more keeps its history; while it runs it is shown as
        removed. One that comes back has its history again.
        """

    @abstractmethod
    async def set_problem(self, path: str, problem: str) -> None:
        """Say what is wrong with the file as it stands; empty: nothing."""

    @abstractmethod
    async def claim(
        self, lease: Lease, queue: str, offer: Offer, *, generation: int, now: datetime
    ) -> Claim | None:
        """Take the best task that fits the offer (synced); None: there is none now.

        The job's ``avoid_task`` is taken only if nothing else fits; it is cleared either way.

        Raises:
            HeldError: the job has a live attempt.
        """

    @abstractmethod
    async def tasks(self, queue: str) -> Sequence[Task]:
        """Give all tasks in the file's order, then removed ones that still run."""

    @abstractmethod
    async def task(self, queue: str, task: str) -> Task:
        """Give one task.

        Raises:
            NotFoundError: no such task.
        """

    @abstractmethod
    async def demand(self, queue: str) -> Sequence[Demand]:
        """Give what a queue has, by accelerator and zone."""

    @abstractmethod
    async def tallies(self, known: Iterable[Tally] = (), *, tasks: int = 0) -> Sequence[Tally]:
        """Give how all queues stand, in one look that reads no more tasks than it gives.

        Args:
            known: earlier ones, with as many tasks: a queue that has not changed is not read again.
            tasks: how many tasks of each to give: first those that run, then those that failed
                for good, then those that could start, in the order in which they would.
        """

    @abstractmethod
    async def reset(self, queue: str, tasks: Iterable[str], note: Note) -> None:
        """Forget what tasks came to: not done, no failures, a new run id; run numbers go on.

        Attempts that run are not touched: ask for their end, with cause ``RESET``, instead.
        """

    @abstractmethod
    async def prioritize(self, queue: str, task: str, note: Note) -> None:
        """Let a task be picked before all others, once."""

    @abstractmethod
    async def mark_done(self, queue: str, task: str, note: Note) -> None:
        """Call a task done; attempts that run go on to their end."""

    @abstractmethod
    async def import_state(
        self,
        queue: str,
        counters: Mapping[str, Counters],
        history: Mapping[str, Sequence[PastRun]],
    ) -> None:
        """Take over what a v3 state file says, once, into a queue that has no attempts yet.

        A queue that has attempts, or has taken one over already, is left as it is. Tasks that are
        not defined yet have their history once they are.
        """

    @abstractmethod
    async def history(self, queue: str) -> Mapping[str, Sequence[PastRun]]:
        """Give the ended runs of all tasks of a queue, oldest first, those of removed ones too."""

    # -- reports ---------------------------------------------------------------------------

    @abstractmethod
    async def used(self, since: datetime, until: datetime) -> Used:
        """Give what is known of a span of time, for reports, in one look.

        Slices and attempts that a v3 state file told of are not part of it: nobody knows what
        they ran on.

        Args:
            since: the first moment.
            until: the first that is not part of it.
        """

    # -- memory ----------------------------------------------------------------------------

    @abstractmethod
    async def remember(self, who: str, facts: Mapping[str, Any]) -> None:
        """Write down facts that somebody needs between runs, all or none (synced).

        Args:
            who: whose they are: ``slack``, ``reap``.
            facts: JSON values by key; None forgets one.
        """

    @abstractmethod
    async def recall(self, who: str, *, prefix: str = "") -> Mapping[str, Any]:
        """Give what somebody wrote down, in the order of the keys.

        Args:
            who: whose facts.
            prefix: what their keys begin with.
        """

    # -- events ----------------------------------------------------------------------------

    @abstractmethod
    async def add_event(self, note: Note, *, job: str | None = None) -> None:
        """Write an event that no other change carries."""

    @abstractmethod
    async def events(
        self, *, after: int = 0, limit: int = 1000, job: str | None = None
    ) -> Sequence[Event]:
        """Give events with higher ids than ``after``, oldest first."""

    @abstractmethod
    async def newest_events(self, job: str | None, limit: int) -> Sequence[Event]:
        """Give the newest events of a job, or of all, so many at most, oldest first."""
