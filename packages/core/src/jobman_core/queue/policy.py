"""What becomes of a task, and which task is next: pure functions, the only place that decides it.

A store keeps what these say in indexed columns; it never judges by itself.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import attrs

from jobman_core.models.accelerator import Accelerator
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind
from jobman_core.models.slice import Offer
from jobman_core.models.task import Counters, TaskSpec, TaskStatus

#: Further from zero than any position in a file.
_FIRST: Final = 1 << 40
#: How many names a reason lists before it counts the rest.
_NAMES: Final = 3


@attrs.frozen
class Standing:
    """What a task's status depends on besides its entry and its counters."""

    #: Direct dependencies that are not done, in the order of the entry.
    waits_for: tuple[str, ...] = ()
    #: The task whose failure for good keeps this one from ever starting.
    root: str | None = None
    #: How the root failed, like ``exit 3 on host 2``.
    root_failure: str = ""
    #: How this one failed last.
    failure: str = ""
    #: The jobs that run it.
    jobs: tuple[str, ...] = ()


@attrs.frozen
class Dependency:
    """A dependency, as far as it matters to its dependants."""

    id: str
    done: bool
    failed: bool
    #: The root that blocks the dependency itself.
    root: str | None


@attrs.frozen
class Candidate:
    """A task as the choice of the next one sees it."""

    spec: TaskSpec
    counters: Counters
    #: Its place in the file.
    position: int
    #: How many of its direct dependencies are not done.
    unmet: int = 0


def attempts_allowed(max_retries: int) -> int:
    """Give how often a task may fail: 0 and 1 both mean once."""
    return max(1, max_retries)


@lru_cache(maxsize=256)
def kind_of(accelerator: str) -> str:
    """Give the one spelling by which tasks and offers are matched; unknown types stay as is."""
    try:
        return Accelerator.parse(accelerator).name
    except ValueError:
        return accelerator


def hosts_needed(spec: TaskSpec) -> int:
    """Give how many hosts a slice must have for every host of the entry to exist."""
    indices = spec.workers.indices
    return 1 if indices == "all" else max(indices, default=0) + 1


def settle(counters: Counters, max_retries: int) -> Counters:
    """Say whether the task has failed for good, by its failures and what its entry allows now."""
    failed = not counters.done and counters.fail_count >= attempts_allowed(max_retries)
    return counters if failed == counters.failed else attrs.evolve(counters, failed=failed)


def startable(counters: Counters, *, max_jobs: int, unmet: int, removed: bool = False) -> bool:
    """Tell whether one more attempt may start on a slice that fits."""
    return (
        not removed
        and not counters.done
        and not counters.failed
        and unmet == 0
        and counters.running < max(1, max_jobs)
    )


def fits(spec: TaskSpec, offer: Offer) -> bool:
    """Tell whether a slice is what the entry asks for; an entry without a zone takes any."""
    return (
        kind_of(spec.accelerator) == kind_of(offer.accelerator)
        and (not spec.zone or spec.zone == offer.zone)
        and hosts_needed(spec) <= offer.hosts
    )


def eligible(task: Candidate, offer: Offer) -> bool:
    """Tell whether a worker with this slice may take the task now."""
    ready = startable(task.counters, max_jobs=task.spec.max_jobs, unmet=task.unmet)
    return ready and fits(task.spec, offer)


def rank(position: int, *, priority: bool) -> int:
    """Give the place in the line, the smallest first: priority, then the file's order."""
    return position - _FIRST if priority else position


def pick(tasks: Iterable[Candidate], offer: Offer, avoid: str | None = None) -> Candidate | None:
    """Choose the next task for a slice; the avoided one only if nothing else fits."""
    fitting = sorted(
        (task for task in tasks if eligible(task, offer)),
        key=lambda task: rank(task.position, priority=task.counters.priority),
    )
    return next((task for task in fitting if task.spec.id != avoid), next(iter(fitting), None))


def claimed(counters: Counters) -> Counters:
    """Count an attempt that begins; the priority is used up by it."""
    return attrs.evolve(
        counters,
        running=counters.running + 1,
        run_count=counters.run_count + 1,
        priority=False,
    )


def reset(counters: Counters) -> Counters:
    """Forget what the task came to; run numbers go on, and so do attempts that run."""
    return attrs.evolve(counters, done=False, failed=False, fail_count=0)


def prioritized(counters: Counters) -> Counters:
    """Let the task be first in the line, until it is claimed."""
    return attrs.evolve(counters, priority=True)


def marked_done(counters: Counters) -> Counters:
    """Call the task done; how often it failed stays on record."""
    return attrs.evolve(counters, done=True, failed=False)


def after(
    counters: Counters, outcome: Outcome, max_retries: int, *, reset_asked: bool = False
) -> Counters:
    """Count an attempt that ended.

    The first success makes the task done, and a later failure does not undo that. Interruptions
    change no budget. An attempt that ended because of a reset, or whose end was asked for by one
    while it ended by itself, leaves a task that starts afresh.
    """
    now = attrs.evolve(counters, running=max(0, counters.running - 1))
    if reset_asked or outcome.cause == Cause.RESET:
        return reset(now)
    match outcome.kind:
        case OutcomeKind.SUCCEEDED:
            now = attrs.evolve(now, done=True, fail_count=0)
        case OutcomeKind.FAILED:
            now = attrs.evolve(now, fail_count=now.fail_count + 1)
        case OutcomeKind.INTERRUPTED:
            pass
    return settle(now, max_retries)


def blocks(dependency: Dependency) -> str | None:
    """Give the failed task that a dependency holds its dependants up for; None: there is none."""
    if dependency.done:
        return None
    return dependency.id if dependency.failed else dependency.root


def root(dependencies: Iterable[Dependency]) -> str | None:
    """Give the failed task that a task with these dependencies is blocked by."""
    return next((found for found in map(blocks, dependencies) if found is not None), None)


def status(spec: TaskSpec, counters: Counters, standing: Standing) -> tuple[TaskStatus, str]:
    """Give a task's status and the reason for it, one line for people."""
    word = status_word(counters, blocked=standing.root is not None, waits=bool(standing.waits_for))
    return word, _reason(word, spec, counters, standing)


def status_word(counters: Counters, *, blocked: bool, waits: bool) -> TaskStatus:
    """Give a task's status.

    Args:
        counters: what has become of it.
        blocked: a task that it depends on, near or far, failed for good.
        waits: a task that it depends on is not done.
    """
    if counters.done:
        return TaskStatus.DONE
    if counters.failed:
        return TaskStatus.FAILED
    if counters.running:
        return TaskStatus.RUNNING
    if blocked:
        return TaskStatus.BLOCKED
    if waits:
        return TaskStatus.WAITING
    return TaskStatus.RETRY if counters.fail_count else TaskStatus.PENDING


def _reason(word: TaskStatus, spec: TaskSpec, counters: Counters, standing: Standing) -> str:
    failed = f"failed {counters.fail_count} of {attempts_allowed(spec.max_retries)} attempts"
    match word:
        case TaskStatus.DONE:
            return ""
        case TaskStatus.FAILED:
            return failed + (f", the last with {standing.failure}" if standing.failure else "")
        case TaskStatus.RUNNING:
            return _running(standing.jobs)
        case TaskStatus.BLOCKED:
            return blocked_reason(standing)
        case TaskStatus.WAITING:
            return f"waits for {_names(standing.waits_for)}"
        case TaskStatus.RETRY:
            how = f" ({standing.failure})" if standing.failure else ""
            return f"{failed}{how}, will be tried again"
        case TaskStatus.PENDING:
            where = f" in {spec.zone}" if spec.zone else ""
            return f"waits for a free worker with {spec.accelerator}{where}"


def blocked_reason(standing: Standing) -> str:
    """Say which failure keeps a task from starting, and through which dependency."""
    how = f" ({standing.root_failure})" if standing.root_failure else ""
    if standing.root in standing.waits_for:
        return f"dependency {standing.root} failed for good{how}"
    return f"waits for {_names(standing.waits_for)}; {standing.root} failed for good{how}"


def _running(jobs: Sequence[str]) -> str:
    return f"on job{'s' if len(jobs) > 1 else ''} {', '.join(jobs)}" if jobs else ""


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
