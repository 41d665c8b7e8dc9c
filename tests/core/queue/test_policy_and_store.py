"""The store picks what the policy picks, whatever happened before."""

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.outcome import Cause, Outcome, interrupted
from jobman_core.models.slice import Offer
from jobman_core.models.task import Counters, TaskSpec, TaskStatus, Workers
from jobman_core.queue import policy
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import FAILED, QUEUE, SUCCEEDED, Scene, entry

if TYPE_CHECKING:
    from jobman_core.models.queue import Claim

_T = TypeVar("_T")

TYPES = ("v4-16", "v5e-8")
ZONES = ("here", "there")
WORKERS = 3
NAMES = tuple("abcdefg")
NOTE = Note("test.note", "a note")

offers = st.builds(Offer, st.sampled_from(TYPES), st.sampled_from(ZONES), st.integers(1, 2))
outcomes = st.sampled_from(
    [SUCCEEDED, FAILED, FAILED, interrupted(Cause.PREEMPTED), interrupted(Cause.RESET)]
)


@st.composite
def definitions(draw: st.DrawFn) -> list[TaskSpec]:
    """Make a file whose tasks depend on such as the shuffled order puts before them."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, len(NAMES)))]
    entries = [
        entry(
            name,
            accelerator=draw(st.sampled_from(TYPES)),
            zone=draw(st.sampled_from([None, None, *ZONES])),
            max_jobs=draw(st.sampled_from([1, 1, 2])),
            max_retries=draw(st.integers(0, 2)),
            workers=draw(st.sampled_from([Workers((0,)), Workers((1,)), Workers("all")])),
            depends_on=tuple(draw(st.sets(st.sampled_from(names[:n]), max_size=2)) if n else ()),
        )
        for n, name in enumerate(names)
    ]
    return draw(st.permutations(entries))


@attrs.define
class Known:
    """What the model knows of a task; those that were removed keep it."""

    spec: TaskSpec
    counters: Counters = attrs.field(factory=Counters)
    position: int | None = None


class StoreFollowsPolicy(RuleBasedStateMachine):
    """Plays a queue twice: in the store, and with nothing but the policy's functions."""

    #: What each worker runs.
    claims: "dict[int, Claim]"

    @initialize(entries=definitions())
    def begin(self, entries: list[TaskSpec]) -> None:
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore(Context(Path(self.folder.name), "", FakeClock()))
        self.scene = Scene(self.store)
        self.do(self.store.open())
        self.leases = [self.do(self.scene.worker(queue=QUEUE)) for _ in range(WORKERS)]
        self.claims = {}
        self.known: dict[str, Known] = {}
        self.define(entries)

    def do(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self.runner.run(work)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.do(self.store.aclose())
            self.runner.close()
            self.folder.cleanup()

    @rule(entries=definitions())
    def define(self, entries: list[TaskSpec]) -> None:
        self.do(self.scene.define(*entries))
        for known in self.known.values():
            known.position = None
        for position, spec in enumerate(entries):
            known = self.known.setdefault(spec.id, Known(spec))
            known.spec, known.position = spec, position
            known.counters = policy.settle(known.counters, spec.max_retries)

    @rule(worker=st.integers(0, WORKERS - 1), offer=offers, avoid=st.sampled_from([None, *NAMES]))
    def claim(self, worker: int, offer: Offer, avoid: str | None) -> None:
        if worker in self.claims:
            return
        lease = self.leases[worker]
        self.do(self.store.set_avoid(lease.job, avoid))
        expected = policy.pick(self.candidates(), offer, avoid)
        claim = self.do(self.scene.claim(lease, offer))
        assert (claim and claim.task.id) == (expected and expected.spec.id)
        if claim is not None:
            self.claims[worker] = claim
            known = self.known[claim.task.id]
            known.counters = policy.claimed(known.counters)
            assert claim.attempt.number == known.counters.run_count

    @rule(worker=st.integers(0, WORKERS - 1), outcome=outcomes, reset=st.booleans())
    def end(self, worker: int, outcome: Outcome, reset: bool) -> None:
        claim = self.claims.pop(worker, None)
        if claim is None:
            return
        if reset:
            self.do(self.store.ask_end(claim.attempt.token, Cause.RESET))
        self.do(self.scene.end(self.leases[worker], claim, outcome))
        known = self.known[claim.task.id]
        known.counters = policy.after(known.counters, outcome, known.spec, reset_asked=reset)

    @rule(names=st.sets(st.sampled_from(NAMES), min_size=1))
    def reset(self, names: set[str]) -> None:
        present = sorted(names & self.present().keys())
        self.do(self.store.reset(QUEUE, present, NOTE))
        for name in present:
            self.known[name].counters = policy.reset(self.known[name].counters)

    @rule(name=st.sampled_from(NAMES))
    def prioritize(self, name: str) -> None:
        if name in self.present():
            self.do(self.store.prioritize(QUEUE, name, NOTE))
            self.known[name].counters = policy.prioritized(self.known[name].counters)

    @rule(name=st.sampled_from(NAMES))
    def mark_done(self, name: str) -> None:
        if name in self.present():
            self.do(self.store.mark_done(QUEUE, name, NOTE))
            self.known[name].counters = policy.marked_done(self.known[name].counters)

    @invariant()
    def every_task_is_what_the_policy_says(self) -> None:
        if not hasattr(self, "store"):
            return
        present = self.present()
        tasks = {t.id: t for t in self.do(self.store.tasks(QUEUE)) if not t.removed}
        assert list(tasks) == sorted(present, key=lambda name: present[name].position or 0)
        for name, task in tasks.items():
            known = present[name]
            root = self.root(name)
            standing = policy.Standing(waits_for=self.waits_for(name), root=root)
            status, _ = policy.status(known.spec, known.counters, standing)
            assert (task.counters, task.status) == (known.counters, status), name
            if status is TaskStatus.BLOCKED:
                assert f"{root} failed for good" in task.reason
            assert self.do(self.store.task(QUEUE, name)) == task

    def present(self) -> dict[str, Known]:
        return {name: known for name, known in self.known.items() if known.position is not None}

    def waits_for(self, name: str) -> tuple[str, ...]:
        return tuple(d for d in self.known[name].spec.depends_on if not self.known[d].counters.done)

    def root(self, name: str) -> str | None:
        """Find what blocks a task the slow way: by going down to the bottom."""
        return policy.root(
            policy.Dependency(
                d, self.known[d].counters.done, self.known[d].counters.failed, self.root(d)
            )
            for d in self.known[name].spec.depends_on
        )

    def candidates(self) -> list[policy.Candidate]:
        return [
            policy.Candidate(
                known.spec, known.counters, known.position or 0, len(self.waits_for(name))
            )
            for name, known in self.present().items()
        ]


TestStoreFollowsPolicy = StoreFollowsPolicy.TestCase
TestStoreFollowsPolicy.settings = settings(
    max_examples=20,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
