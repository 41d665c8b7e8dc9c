"""Queues: their tasks, what matters first."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobman_core.models.task import Task, TaskStatus
from jobman_core.models.view import QueueView, QueueWorkers
from jobman_slackbot import blocks, text
from jobman_slackbot.blocks import Block, Column, View
from jobman_slackbot.views import words
from jobman_slackbot.views.paging import Place, paged, summary

_COLUMNS: Final = (
    Column("TASK", 64),
    Column("STATUS", 16),
    Column("RUNS", 8, right=True),
    Column("FAILS", 12, right=True),
    Column("TYPE", 16),
    Column("ZONE", 24),
    Column("WHAT", 120, wrapped=True),
)
#: What runs and what is wrong is what people look for.
_ORDER: Final = {
    status: place
    for place, status in enumerate(
        (
            TaskStatus.RUNNING,
            TaskStatus.FAILED,
            TaskStatus.BLOCKED,
            TaskStatus.RETRY,
            TaskStatus.PENDING,
            TaskStatus.WAITING,
            TaskStatus.DONE,
        )
    )
}
_NAME: Final = 80
_PROBLEM: Final = 500
_KINDS: Final = 8


def queue(view: QueueView, name: str, place: Place) -> View:
    """Give a page of a queue.

    Args:
        view: the queue.
        name: what people call it.
        place: which page.
    """
    shown = sorted((t for t in view.tasks if not t.spec.hide), key=lambda t: _ORDER[t.status])
    statuses = (task.status for task in view.tasks)
    title = f"{text.code(name, _NAME)}: {summary(len(view.tasks), 'task', statuses)}"
    rows = (_row(task) for task in shown)
    return paged(title, _COLUMNS, rows, place, below=_below(view, len(view.tasks) - len(shown)))


def which(names: Sequence[str]) -> View:
    """Say which queues there are, for who has to name one."""
    if not names:
        return View("there is no queue here: a job with `job.queue` opens one")
    known = words.joined([text.code(name, _NAME) for name in names], 20)
    return View(f"there are {words.count(len(names), 'queue')}: name one of {known}")


def _row(task: Task) -> tuple[str, ...]:
    counters, spec = task.counters, task.spec
    jobs = ", ".join(running.job for running in task.running[:8])
    marks = ["next" if counters.priority else "", task.reason or jobs]
    return (
        task.id,
        words.status(task.status),
        str(counters.run_count),
        f"{counters.fail_count}/{max(1, spec.max_retries)}",
        spec.accelerator,
        spec.zone or "any",
        "; ".join(mark for mark in marks if mark),
    )


def _below(view: QueueView, hidden: int) -> list[Block]:
    told = []
    if view.problem:
        problem = text.mrkdwn(view.problem, _PROBLEM)
        told.append(blocks.context(f":warning: {problem}: this is its last good version"))
    lines = [
        f"{text.mrkdwn(accelerator, 24)} workers: {_workers(workers)}"
        for accelerator, workers in list(view.workers.items())[:_KINDS]
    ]
    if not view.workers:
        lines = ["it has no workers"]
    if hidden:
        lines.append(f"{words.count(hidden, 'task')} hidden")
    return [*told, blocks.context("\n".join(lines))]


def _workers(workers: QueueWorkers) -> str:
    groups = {
        "working": workers.working,
        "idle": workers.idle,
        "waiting for a slice": workers.waiting,
        "stopped": workers.stopped,
    }
    told = [f"{len(ids)} {name} ({words.joined(ids, 4)})" for name, ids in groups.items() if ids]
    return ", ".join(told) or "none"


def name_of(path: Path, others: Sequence[Path]) -> str:
    """Give what people call a queue: the shortest end of its path that no other queue has."""
    parts = path.parts
    for number in range(1, len(parts)):
        end = parts[-number:]
        if sum(other.parts[-number:] == end for other in others) <= 1:
            return "/".join(end)
    return str(path)
