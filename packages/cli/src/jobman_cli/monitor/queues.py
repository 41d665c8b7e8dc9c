"""The queues of the live view, and the tasks of those that are opened."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

import attrs

from jobman_cli import output
from jobman_cli.monitor.fit import Column
from jobman_cli.monitor.parts import Part, Scope, elapsed, when_and_why
from jobman_cli.output import Cell
from jobman_core.models.task import Task, TaskStatus

if TYPE_CHECKING:
    from jobman_core.models.overview import Overview, QueueLook

_BAR: Final = 16
#: In the order in which they are told; DONE has a column of its own.
_STATUSES: Final = (
    TaskStatus.RUNNING,
    TaskStatus.FAILED,
    TaskStatus.BLOCKED,
    TaskStatus.RETRY,
    TaskStatus.PENDING,
    TaskStatus.WAITING,
)
_WORKERS: Final = ("working", "idle", "waiting", "stopped")


@attrs.frozen
class Entry:
    """A queue, or a task of one."""

    queue: "QueueLook"
    task: Task | None = None

    @property
    def path(self) -> str:
        """The queue's tasks file."""
        return self.queue.tally.queue.path


class Queues(Part[Entry]):
    """Every queue, how far it is, and what works on it."""

    name = "queues"
    weight = 2
    columns = (
        Column("QUEUE", most=32),
        Column("PROGRESS", most=_BAR),
        Column("DONE", drop=1),
        Column("FOR", drop=2),
        Column("TASKS AND WORKERS"),
    )

    def __init__(self, home: PurePath) -> None:
        """Name the home, below which paths are shown as they are seen from there."""
        self._home = home

    def items(self, look: "Overview", scope: Scope) -> Sequence[Entry]:
        """Give the queues on which the jobs that are meant work, and tasks of the opened ones."""
        meant = scope.has(look)
        found = []
        for queue in look.queues:
            workers = {job for kinds in queue.workers.values() for job in _all(kinds)}
            if meant is not None and not workers & set(meant):
                continue
            found.append(Entry(queue))
            if queue.tally.queue.path in scope.open:
                found += [Entry(queue, task) for task in queue.tally.tasks]
        return found

    def key(self, item: Entry) -> str:
        """Give the path, and the task's id."""
        return f"{item.path}\0{item.task.id if item.task else ''}"

    def cells(self, item: Entry, now: datetime) -> tuple[Cell, ...]:
        """Give what is to be known of a queue or a task."""
        if item.task is not None:
            return _task_cells(item.task, now)
        counts = item.queue.tally.counts
        total, done = sum(counts.values()), counts.get(TaskStatus.DONE, 0)
        return (
            Cell(self._name(item.path)),
            Cell(bar(done, total), "blue"),
            Cell(f"{done}/{total}"),
            Cell(""),
            Cell(_told(item.queue), "red" if item.queue.tally.queue.problem else ""),
        )

    def _name(self, path: str) -> str:
        found = PurePath(path)
        return str(found.relative_to(self._home)) if found.is_relative_to(self._home) else path


def _task_cells(task: Task, now: datetime) -> tuple[Cell, ...]:
    runs = task.counters.run_count
    return (
        Cell(f"  {task.id}"),
        output.status_cell(str(task.status)),
        Cell(f"run {runs}" if runs else ""),
        Cell(elapsed(min((one.started for one in task.running), default=None), now)),
        Cell(when_and_why(task.reason, task.next_try, now)),
    )


def _all(workers: object) -> Sequence[str]:
    return [job for kind in _WORKERS for job in getattr(workers, kind)]


def _told(queue: "QueueLook") -> str:
    """Say what its tasks and workers do, and what is wrong with its file."""
    counts = queue.tally.counts
    tasks = ", ".join(f"{counts[s]} {s}" for s in _STATUSES if counts.get(s))
    working = {
        kind: sum(len(getattr(workers, kind)) for workers in queue.workers.values())
        for kind in _WORKERS
    }
    workers = ", ".join(f"{number} {kind}" for kind, number in working.items() if number)
    told = [queue.tally.queue.problem, tasks, f"workers: {workers or 'none'}"]
    return "; ".join(text for text in told if text)


def bar(done: int, total: int, width: int = _BAR) -> str:
    """Draw how much of something is done; full only when all is."""
    filled = done * width // total if total else 0
    return "█" * filled + "░" * (width - filled)
