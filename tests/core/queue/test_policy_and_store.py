"""The store does what the policy says, whatever happens in whatever order; who is late is refused.

A state machine plays a queue twice: in the store, through a connection for each worker, and in a
model of a few lines. What became of each task the model counts by itself from what happened: it is
neither read off the store nor asked of the policy. Only which task is next, which failure blocks it
and what its status is called are asked of the policy, about the model's own counts.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.errors import HeldError, InvalidInputError, NotFoundError, StaleLeaseError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Ending, EndingKind, Step
from jobman_core.models.lease import Lease
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind, interrupted
from jobman_core.models.queue import Claim, Demand
from jobman_core.models.slice import Offer
from jobman_core.models.task import Counters, TaskSpec, TaskStatus, Workers
from jobman_core.queue import policy
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import (
    FAILED,
    QUEUE,
    SUCCEEDED,
    Scene,
    controller,
    entry,
    slice_of,
)

_T = TypeVar("_T")

#: The last two are one type by two names.
TYPES = ("v4-16", "v5e-8", "v5litepod-8")
ZONES = ("here", "there")
#: What most tasks and slices are, so that something happens.
MOST = Offer(TYPES[0], ZONES[0], 2)
WORKERS = 3
NAMES = tuple("abcdefgh")
NOTE = Note("test.note", "a note")
#: A slice of each kind with all the hosts that a task may ask for.
EVERY_OFFER = [Offer(accelerator, zone, 2) for accelerator in TYPES[:2] for zone in ZONES]
#: How many runs there are before all is worked off.
SOME_RUNS = 6
#: How an outcome stands in a history.
WORDS = {
    OutcomeKind.SUCCEEDED: "completed",
    OutcomeKind.FAILED: "failed",
    OutcomeKind.INTERRUPTED: "interrupted",
}

workers = st.integers(0, WORKERS - 1)
names = st.sampled_from(NAMES)
offers = st.one_of(
    st.just(MOST),
    st.builds(Offer, st.sampled_from(TYPES), st.sampled_from(ZONES), st.integers(1, 2)),
)
outcomes = st.sampled_from(
    [
        SUCCEEDED,
        FAILED,
        FAILED,
        *map(interrupted, (Cause.PREEMPTED, Cause.REQUEUED, Cause.RESET, Cause.STALE)),
    ]
)
causes = st.sampled_from([Cause.REQUEUED, Cause.STOPPED, Cause.RESET])
some_steps = st.lists(st.tuples(workers, outcomes), min_size=2, max_size=8)
settings_of_a_task: Mapping[str, st.SearchStrategy[Any]] = {
    "accelerator": st.sampled_from([MOST.accelerator] * 6 + [*TYPES]),
    "zone": st.sampled_from([None] * 6 + [*ZONES]),
    "max_jobs": st.sampled_from([1, 1, 2]),
    "max_retries": st.sampled_from([0, 1, 1, 2]),
    "workers": st.sampled_from([Workers((0,)), Workers("all"), Workers((1,))]),
}


def _some_of(chosen: Sequence[str]) -> st.SearchStrategy[tuple[str, ...]]:
    few = st.lists(st.sampled_from(chosen), max_size=2, unique=True) if chosen else st.just([])
    return st.one_of(st.just(()), few.map(tuple))


@st.composite
def files(draw: st.DrawFn) -> list[TaskSpec]:
    """Make a file whose tasks depend on such as the shuffled order puts before them."""
    chosen = draw(st.permutations(NAMES))[: draw(st.integers(3, len(NAMES)))]
    entries = [
        entry(
            name,
            depends_on=draw(_some_of(chosen[:n])),
            **{key: draw(values) for key, values in settings_of_a_task.items()},
        )
        for n, name in enumerate(chosen)
    ]
    return draw(st.permutations(entries))


@attrs.define
class Run:
    """One attempt of a task, as it went."""

    claim: Claim
    worker: int
    end_cause: str | None = None
    outcome: Outcome | None = None

    @property
    def token(self) -> str:
        return self.claim.attempt.token


@attrs.define
class Known:
    """What the model knows of a task; those that were removed keep it."""

    spec: TaskSpec
    done: bool = False
    #: Failures since the last success or reset.
    failures: int = 0
    priority: bool = False
    #: Its place in the file; None: it is not there now.
    position: int | None = None
    runs: list[Run] = attrs.field(factory=list)
    #: The one that it has, and those that it must not have again; empty: not asked for yet.
    run_id: str = ""
    old_run_ids: set[str] = attrs.field(factory=set)

    @property
    def live(self) -> list[Run]:
        return [run for run in self.runs if run.outcome is None]

    @property
    def failed(self) -> bool:
        """It failed as often as it may: 0 and 1 both mean once."""
        return not self.done and self.failures >= max(1, self.spec.max_retries)

    @property
    def counters(self) -> Counters:
        """What has to be on record."""
        return Counters(
            done=self.done,
            failed=self.failed,
            fail_count=self.failures,
            run_count=len(self.runs),
            running=len(self.live),
            priority=self.priority,
        )

    @property
    def shown(self) -> bool:
        return self.position is not None or bool(self.live)

    def start_afresh(self) -> None:
        """It was reset: whatever runs of it next is another run to its program."""
        self.done, self.failures = False, 0
        self.old_run_ids |= {self.run_id} - {""}
        self.run_id = ""


class StoreFollowsPolicy(RuleBasedStateMachine):
    """Several workers, the controllers that replace one another, and a person who interferes."""

    @initialize(entries=files())
    def begin(self, entries: list[TaskSpec]) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.stores = [self.connect() for _ in range(WORKERS + 1)]
        self.person = Scene(self.stores[WORKERS])
        self.leases = [self.do(self.person.worker(queue=QUEUE)) for _ in range(WORKERS)]
        #: The controllers that were replaced: what they had, and whether they were retired.
        self.replaced: list[tuple[int, Lease, bool]] = []
        #: What each worker runs.
        self.running: dict[int, tuple[Known, Run]] = {}
        self.avoid: dict[int, str | None] = {}
        self.known: dict[str, Known] = {}
        #: What has to be told since the last look: kind, worker and task.
        self.untold: Counter[tuple[str, int | None, str | None]] = Counter()
        self.do(self.person.store.open_queue(QUEUE))
        self.seen_event = self.do(self.person.last_event())
        self.changes = 0
        self.define(entries)

    def connect(self) -> SqliteStore:
        """Open the home as one more process would."""
        store = SqliteStore(Context(Path(self.folder.name), "", FakeClock()))
        self.do(store.open())
        return store

    def do(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self.runner.run(work)

    def refused(self, work: Coroutine[Any, Any, object], error: type[Exception]) -> None:
        with pytest.raises(error):
            self.do(work)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            for store in getattr(self, "stores", ()):
                self.do(store.aclose())
            self.runner.close()
            self.folder.cleanup()

    # -- workers ---------------------------------------------------------------------------

    @rule(worker=workers, offer=offers)
    def claim(self, worker: int, offer: Offer) -> None:
        self.take(worker, offer)

    def _work(self, steps: list[tuple[int, Outcome]]) -> None:
        """Take the usual steps: end what runs, or take what there is; begin anew if it is dry."""
        for worker, outcome in steps:
            if worker in self.running:
                self.end(worker, outcome)
            elif not any(self.take(worker, offer) for offer in EVERY_OFFER) and not self.running:
                self.reset(set(self.present()))

    # Every rule is as likely as any other, and what people do to a queue is done to one at work.
    work = rule(steps=some_steps)(_work)
    work_on = rule(steps=some_steps)(_work)
    work_more = rule(steps=some_steps)(_work)
    work_still = rule(steps=some_steps)(_work)

    def take(self, worker: int, offer: Offer) -> Run | None:
        lease, store = self.leases[worker], self.stores[worker]
        take = store.claim(lease, QUEUE, offer, generation=1, now=self.person.now)
        if worker in self.running:
            self.refused(take, HeldError)
            return None
        expected = policy.pick(self.candidates(), offer, self.avoid.get(worker))
        claim = self.do(take)
        assert (claim and claim.task.id) == (expected and expected.spec.id)
        if claim is None:
            return None
        known = self.known[claim.task.id]
        self.may_start(known, offer)
        assert claim.attempt.number == len(known.runs) + 1
        assert claim.attempt.run_id == claim.task.run_id
        run = Run(claim, worker)
        known.runs.append(run)
        known.priority = False
        self.avoid[worker] = None
        assert self.do(store.record(lease.job)).job.avoid_task is None, "it was asked for once"
        self.running[worker] = known, run
        self.told("task.claimed", worker, known)
        return run

    def may_start(self, known: Known, offer: Offer) -> None:
        """Judge a claim by what it must never be, without the help of the policy."""
        spec, dependencies = known.spec, [self.known[d] for d in known.spec.depends_on]
        assert known.position is not None
        assert not known.done
        assert len(known.live) < spec.max_jobs
        assert all(d.done for d in dependencies)
        assert known.failures < max(1, spec.max_retries)
        same_type = {spec.accelerator, offer.accelerator} <= {"v5e-8", "v5litepod-8"}
        assert same_type or spec.accelerator == offer.accelerator
        assert spec.zone in (None, offer.zone)
        assert spec.workers.missing(offer.hosts) == ()

    @rule(worker=workers, hosts=st.sets(st.integers(0, 1), min_size=1))
    def start(self, worker: int, hosts: set[int]) -> None:
        if worker not in self.running:
            return
        known, run = self.running[worker]
        attempt, first = run.claim.attempt, run.claim.attempt.started_at is None
        attempt = attrs.evolve(attempt, hosts=tuple(hosts), started_at=self.person.now)
        self.do(self.stores[worker].save_attempt(self.leases[worker], attempt))
        run.claim = attrs.evolve(run.claim, attempt=attempt)
        if first:
            self.told("attempt.started", worker, known)

    @rule(worker=workers, outcome=outcomes)
    def end(self, worker: int, outcome: Outcome) -> None:
        if worker not in self.running:
            return
        known, run = self.running.pop(worker)
        self.told(f"task.{outcome.kind.value}", worker, known)
        before = self.blocked()
        self.do(self.end_by(worker, self.leases[worker], run, outcome))
        run.outcome = outcome
        wiped = Cause.RESET in (run.end_cause, outcome.cause)
        if wiped:
            known.start_afresh()
        elif outcome.kind is OutcomeKind.SUCCEEDED:
            known.done, known.failures = True, 0
        elif outcome.kind is OutcomeKind.FAILED:
            given_up = known.failed
            known.failures += 1
            if known.failed and not given_up:
                self.told("task.given_up", worker, known)
        self.tell_blocked(before)
        again = self.end_by(worker, self.leases[worker], run, SUCCEEDED)
        self.refused(again, StaleLeaseError)

    def end_by(
        self, worker: int, lease: Lease, run: Run, outcome: Outcome
    ) -> Coroutine[Any, Any, None]:
        store = self.stores[worker]
        return store.end_attempt(lease, run.token, outcome, now=self.person.now)

    @rule(worker=workers, other=workers)
    def another_worker_cannot_end_it(self, worker: int, other: int) -> None:
        if worker in self.running and other != worker:
            _, run = self.running[worker]
            self.refused(self.end_by(other, self.leases[other], run, SUCCEEDED), StaleLeaseError)

    @precondition(lambda self: len(self.runs()) >= SOME_RUNS)
    @rule()
    def all_is_worked_off(self) -> None:
        """No task is lost: who goes on until there is nothing left finds every one."""
        for worker in range(WORKERS):
            self.end(worker, SUCCEEDED)
        while any(self.works_off_one(offer) for offer in EVERY_OFFER):
            pass
        for name, known in self.present().items():
            failed = known.failed or self.root(name) is not None
            assert known.done or failed, name

    def works_off_one(self, offer: Offer) -> bool:
        if self.take(0, offer) is None:
            return False
        self.end(0, SUCCEEDED)
        return True

    # -- controllers -----------------------------------------------------------------------

    @rule(worker=workers, how=st.sampled_from(["taken over", "retired", "given back"]))
    def the_next_controller_takes_the_lease(self, worker: int, how: str) -> None:
        old, store = self.leases[worker], self.stores[worker]
        job = old.job
        name = f"{job}-{old.epoch + 1}"
        self.do(store.register(controller(name)))
        self.refused(store.take_lease(job, name, instead_of=None), HeldError)
        if how == "retired":
            self.do(store.retire(old.controller))
        elif how == "given back":
            self.do(store.drop_lease(old))
        seen = old if how == "taken over" else None
        new = self.leases[worker] = self.do(store.take_lease(job, name, instead_of=seen))
        assert new.epoch > old.epoch
        self.replaced.append((worker, old, how == "retired"))
        record = self.do(store.record(job))
        mine = [self.running[worker][1].token] if worker in self.running else []
        assert [attempt.token for attempt in record.attempts] == mine, "it can go on with these"
        self.is_refused(*self.replaced[-1], MOST)

    @precondition(lambda self: self.replaced)
    @rule(data=st.data(), offer=offers)
    def a_replaced_controller_wakes(self, data: st.DataObject, offer: Offer) -> None:
        self.is_refused(*data.draw(st.sampled_from(self.replaced)), offer)

    def is_refused(self, worker: int, old: Lease, retired: bool, offer: Offer) -> None:
        """Whatever a controller tries that was replaced, it is told that it is not in charge."""
        store, now = self.stores[worker], self.person.now
        tries: list[Coroutine[Any, Any, object]] = [
            store.check_lease(old),
            store.claim(old, QUEUE, offer, generation=1, now=now),
            store.open_attempt(old, generation=1, now=now),
            store.open_slice(old, slice_of(old.job, 1), NOTE),
            store.set_step(old, Step.EXECUTE, "late"),
            store.set_ending(old, Ending(EndingKind.DONE, "late")),
        ]
        if worker in self.running:
            _, run = self.running[worker]
            tries += [
                store.save_attempt(old, run.claim.attempt),
                self.end_by(worker, old, run, SUCCEEDED),
            ]
        if retired:
            tries.append(store.beat(old.controller, 2000.0))
            tries.append(store.take_lease(old.job, old.controller, instead_of=self.leases[worker]))
        for attempt in tries:
            self.refused(attempt, StaleLeaseError)
        self.do(store.drop_lease(old))  # of no effect
        self.do(store.check_lease(self.leases[worker]))

    @rule(worker=workers)
    def a_process_starts_anew(self, worker: int) -> None:
        self.do(self.stores[worker].aclose())
        self.stores[worker] = self.connect()

    # -- a person --------------------------------------------------------------------------

    @rule(task=st.sampled_from([None, *NAMES]))
    def leave_to_others(self, task: str | None) -> None:
        """Everybody leaves a task to others, once, and takes it only where nothing else fits."""
        for worker, lease in enumerate(self.leases):
            self.do(self.person.store.set_avoid(lease.job, task))
            self.avoid[worker] = task

    @rule(causes=st.lists(causes, min_size=1, max_size=3))
    def ask_for_the_end(self, causes: list[Cause]) -> None:
        """Of all that runs; the first who asks is told of, but a reset is never forgotten."""
        for _, run in self.running.values():
            for cause in causes:
                self.do(self.person.store.ask_end(run.token, cause))
            asked = [run.end_cause] if run.end_cause else causes
            run.end_cause = Cause.RESET if Cause.RESET in [*asked, *causes] else asked[0]

    @rule(wanted=st.sets(names, min_size=1))
    def reset(self, wanted: set[str]) -> None:
        tasks = sorted(name for name in wanted if name in self.known and self.known[name].shown)
        before = self.blocked()
        self.do(self.person.store.reset(QUEUE, tasks, NOTE))
        for name in tasks:
            self.known[name].start_afresh()
            self.told(NOTE.kind, None, self.known[name])
        self.tell_blocked(before)

    @rule(data=st.data(), worker=workers)
    def prioritize(self, data: st.DataObject, worker: int) -> None:
        """Put a task first, mostly one that can start, with somebody at hand to take it."""
        ready = [c.spec.id for c in self.candidates() if policy.eligible(c, MOST)]
        name = data.draw(st.sampled_from([*reversed(ready), *NAMES]))
        work = self.person.store.prioritize(QUEUE, name, NOTE)
        if (known := self.shown(name, work)) is not None:
            known.priority = True
        if worker not in self.running:
            self.take(worker, MOST)

    @rule(name=names)
    def mark_done(self, name: str) -> None:
        before = self.blocked()
        work = self.person.store.mark_done(QUEUE, name, NOTE)
        if (known := self.shown(name, work)) is not None:
            known.done = True
            self.tell_blocked(before)

    @precondition(lambda self: self.running)
    @rule()
    def what_was_called_done_starts_afresh(self) -> None:
        """A reset of what still runs undoes that it was called done, and others wait again."""
        for worker, (known, _) in list(self.running.items()):
            self.mark_done(known.spec.id)
            self.ask_for_the_end([Cause.RESET])
            self.end(worker, SUCCEEDED)

    def shown(self, name: str, work: Coroutine[Any, Any, None]) -> Known | None:
        """Do something to a task; None: it is not there, which must be said."""
        known = self.known.get(name)
        if known is None or not known.shown:
            self.refused(work, NotFoundError)
            return None
        self.do(work)
        self.told(NOTE.kind, None, known)
        return known

    # -- the tasks file --------------------------------------------------------------------

    @precondition(lambda self: len(self.runs()) >= SOME_RUNS)
    @rule(entries=files())
    def rewrite(self, entries: list[TaskSpec]) -> None:
        self.define(entries)

    def define(self, entries: Sequence[TaskSpec]) -> None:
        before, old = self.blocked(), self.entries()
        self.do(self.person.define(*entries))
        for known in self.known.values():
            known.position = None
        for position, spec in enumerate(entries):
            known = self.known.setdefault(spec.id, Known(spec))
            known.spec, known.position = spec, position
        if {e.id: e for e in old} != {e.id: e for e in entries}:
            self.untold["queue.defined", None, None] += 1
        self.tell_blocked(before)

    @rule(data=st.data())
    def reorder(self, data: st.DataObject) -> None:
        self.define(data.draw(st.permutations(self.entries())))

    @rule(name=names)
    def take_out(self, name: str) -> None:
        self.define(
            [
                attrs.evolve(e, depends_on=tuple(d for d in e.depends_on if d != name))
                for e in self.entries()
                if e.id != name
            ]
        )

    @rule(name=names)
    def put_back(self, name: str) -> None:
        if name in self.known and name not in self.present():
            self.define([*self.entries(), attrs.evolve(self.known[name].spec, depends_on=())])

    @rule(name=names, data=st.data(), key=st.sampled_from(sorted(settings_of_a_task)))
    def change(self, name: str, data: st.DataObject, key: str) -> None:
        value = data.draw(settings_of_a_task[key])
        self.define(
            [attrs.evolve(e, **{key: value}) if e.id == name else e for e in self.entries()]
        )

    @rule(name=names, on=names)
    def depend(self, name: str, on: str) -> None:
        """Add a dependency; one that closes a circle is refused, and changes nothing."""
        present = self.present()
        if name not in present or on not in present or on in present[name].spec.depends_on:
            return
        new = [
            attrs.evolve(e, depends_on=(*e.depends_on, on)) if e.id == name else e
            for e in self.entries()
        ]
        if name in self.below(on):
            self.refused(self.person.define(*new), InvalidInputError)
        else:
            self.define(new)

    # -- what has to hold ------------------------------------------------------------------

    @invariant()
    def every_task_is_what_the_policy_says(self) -> None:
        if not hasattr(self, "known"):
            return
        tasks = self.do(self.person.store.tasks(QUEUE))
        present = self.present()
        in_order = sorted(present, key=lambda name: present[name].position or 0)
        assert [task.id for task in tasks if not task.removed] == in_order
        removed = {name for name, known in self.known.items() if known.shown} - present.keys()
        assert {task.id for task in tasks if task.removed} == removed
        for task in tasks:
            known = self.known[task.id]
            root = self.root(task.id)
            standing = policy.Standing(waits_for=self.waits_for(task.id), root=root)
            status, _ = policy.status(known.spec, known.counters, standing)
            assert (task.spec, task.counters) == (known.spec, known.counters)
            assert task.status == status, task.id
            if status is TaskStatus.BLOCKED:
                assert f"{root} failed for good" in task.reason
            known.run_id = known.run_id or task.run_id
            assert task.run_id == known.run_id
            assert task.run_id not in known.old_run_ids
            assert self.do(self.stores[0].task(QUEUE, task.id)) == task

    @invariant()
    def counts_are_exact_and_nothing_that_happened_is_forgotten(self) -> None:
        if not hasattr(self, "known"):
            return
        store = self.person.store
        by_token = {a.token: a for a in self.do(store.attempts(queue=QUEUE))}
        history = self.do(store.history(QUEUE))
        tasks = {task.id: task for task in self.do(store.tasks(QUEUE))}
        assert len(by_token) == len(self.runs())
        for name, known in self.known.items():
            told = [by_token[run.token] for run in known.runs]
            assert [a.number for a in told] == list(range(1, len(told) + 1))
            assert [(a.outcome, a.end_cause) for a in told] == [
                (run.outcome, run.end_cause) for run in known.runs
            ]
            assert [past.status for past in history.get(name, ())] == [
                _word(run.outcome) for run in known.runs if run.outcome is not None
            ]
            if known.shown:
                assert [r.token for r in tasks[name].running] == [run.token for run in known.live]

    @invariant()
    def demand_is_what_could_start_and_what_is_open(self) -> None:
        if not hasattr(self, "known"):
            return
        ready: Counter[tuple[str, str | None]] = Counter()
        open_: Counter[tuple[str, str | None]] = Counter()
        for name, known in self.present().items():
            if known.done or known.failed:
                continue
            kind = policy.kind_of(known.spec.accelerator), known.spec.zone
            open_[kind] += 1
            ready[kind] += not self.waits_for(name) and len(known.live) < known.spec.max_jobs
        expected = {Demand(*kind, ready[kind], count) for kind, count in open_.items()}
        assert set(self.do(self.person.store.demand(QUEUE))) == expected

    @invariant()
    def every_change_is_told_once(self) -> None:
        if not hasattr(self, "known"):
            return
        events = self.do(self.person.store.events(after=self.seen_event))
        ids = [event.id for event in events]
        assert ids == sorted(set(ids))
        assert all(number > self.seen_event for number in ids)
        jobs = {lease.job: worker for worker, lease in enumerate(self.leases)}
        told = Counter((e.kind, None if e.job is None else jobs[e.job], e.task) for e in events)
        assert told == self.untold
        changes = self.do(self.person.store.queue(QUEUE)).changes
        assert changes >= self.changes
        self.untold.clear()
        self.seen_event = max(ids, default=self.seen_event)
        self.changes = changes

    # -- the model -------------------------------------------------------------------------

    def present(self) -> dict[str, Known]:
        return {name: known for name, known in self.known.items() if known.position is not None}

    def runs(self) -> list[Run]:
        return [run for known in self.known.values() for run in known.runs]

    def entries(self) -> list[TaskSpec]:
        """Give the file as it stands."""
        present = sorted(self.present().values(), key=lambda known: known.position or 0)
        return [known.spec for known in present]

    def waits_for(self, name: str) -> tuple[str, ...]:
        return tuple(d for d in self.depends_on(name) if not self.known[d].done)

    def depends_on(self, name: str) -> tuple[str, ...]:
        """Give what a task depends on; one that was taken out depends on nothing."""
        known = self.known[name]
        return known.spec.depends_on if known.position is not None else ()

    def below(self, name: str) -> set[str]:
        """Give a task and all that it depends on."""
        return {name}.union(*(self.below(d) for d in self.depends_on(name)))

    def root(self, name: str) -> str | None:
        """Find what blocks a task the slow way: by going down to the bottom."""
        return policy.root(
            policy.Dependency(d, self.known[d].done, self.known[d].failed, self.root(d))
            for d in self.depends_on(name)
        )

    def blocked(self) -> set[str]:
        """Give the tasks that cannot be done because another failed for good."""
        return {
            name
            for name, known in self.present().items()
            if not known.done and self.root(name) is not None
        }

    def tell_blocked(self, before: set[str]) -> None:
        """Say what has to be told of tasks that are blocked now, or no more."""
        now = self.blocked()
        for name in now - before:
            self.told("task.blocked", None, self.known[name])
        for name in before - now:
            # That it was taken out, or called done, is told already.
            if name in self.present() and not self.known[name].counters.done:
                self.told("task.unblocked", None, self.known[name])

    def told(self, kind: str, worker: int | None, known: Known) -> None:
        self.untold[kind, worker, known.spec.id] += 1

    def candidates(self) -> list[policy.Candidate]:
        return [
            policy.Candidate(
                known.spec, known.counters, known.position or 0, len(self.waits_for(name))
            )
            for name, known in self.present().items()
        ]


def _word(outcome: Outcome) -> str:
    return "stale_cleanup" if outcome.cause == Cause.STALE else WORDS[outcome.kind]


class StoreFollowsPolicyForLong(StoreFollowsPolicy):
    """The same, for as long as there is time for where all tests run."""


# What went wrong is made as small as it can be, which takes its time.
TestStoreFollowsPolicy = pytest.mark.timeout(300)(StoreFollowsPolicy.TestCase)
TestStoreFollowsPolicy.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestStoreFollowsPolicyForLong = pytest.mark.e2e(
    pytest.mark.timeout(300)(StoreFollowsPolicyForLong.TestCase)
)
TestStoreFollowsPolicyForLong.settings = settings(
    TestStoreFollowsPolicy.settings, max_examples=100, stateful_step_count=50
)
