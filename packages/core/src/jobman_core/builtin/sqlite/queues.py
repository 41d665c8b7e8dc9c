"""Queues, and what people do to their tasks."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite import tasks
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.fresh import Fresh
from jobman_core.builtin.sqlite.rows import counters_of, queue_of
from jobman_core.builtin.sqlite.standing import put_counters, recompute
from jobman_core.home import file_name
from jobman_core.interfaces.store import Note
from jobman_core.models.queue import Queue
from jobman_core.queue import policy


def open_(tx: Tx, path: str, at: str) -> Queue:
    """Give a queue, new if need be."""
    if tx.one(sql.QUEUE, path) is None:
        tx.insert(sql.INSERT_QUEUE, path, _folder(tx, path))
        tell(tx, at, Note("queue.opened", f"queue {path} opened"), queue=path)
    return get(tx, path)


def find(tx: Tx, path: str) -> Queue | None:
    """Give a queue, if there is one."""
    row = tx.one(sql.QUEUE, path)
    return None if row is None else queue_of(row)


def get(tx: Tx, path: str) -> Queue:
    """Give a queue."""
    return queue_of(tasks.find_queue(tx, path))


def all_(tx: Tx) -> Sequence[Queue]:
    """Give all queues."""
    return [queue_of(row) for row in tx.all(sql.QUEUES)]


def set_problem(tx: Tx, path: str, problem: str, at: str) -> None:
    """Say what is wrong with a file as it stands."""
    row = tasks.find_queue(tx, path)
    if row["problem"] == problem:
        return
    tx.run(sql.SET_PROBLEM, problem, row["id"])
    if problem:
        tell(tx, at, Note("queue.problem", problem), queue=path)
    else:
        tell(tx, at, Note("queue.mended", f"{path} is well again"), queue=path)


def reset(tx: Tx, path: str, names: Iterable[str], note: Note, fresh: Fresh) -> None:
    """Forget what tasks came to."""
    queue = tasks.find_queue(tx, path)
    rows = [tasks.find(tx, queue, name) for name in dict.fromkeys(names)]
    for row in rows:
        now = policy.reset(counters_of(row))
        values = int(now.done), int(now.failed), now.fail_count, fresh.new_id()
        tx.run(sql.RESET_TASK, *values, row["id"])
        tell(tx, fresh.at, note, queue=path, task=row["task"])
    if rows:
        recompute(tx, queue, fresh.at)


def prioritize(tx: Tx, path: str, task: str, note: Note, at: str) -> None:
    """Let a task be picked before all others."""
    queue = tasks.find_queue(tx, path)
    row = tasks.find(tx, queue, task)
    tell(tx, at, note, queue=path, task=task)
    put_counters(tx, queue, row, policy.prioritized(counters_of(row)), at)


def mark_done(tx: Tx, path: str, task: str, note: Note, at: str) -> None:
    """Call a task done."""
    queue = tasks.find_queue(tx, path)
    row = tasks.find(tx, queue, task)
    tell(tx, at, note, queue=path, task=task)
    put_counters(tx, queue, row, policy.marked_done(counters_of(row)), at)


def _folder(tx: Tx, path: str) -> str:
    """Give a queue's own folder below ``jobs/tasks``; the first queue needs none."""
    taken = {row["folder"] for row in tx.all(sql.FOLDERS)}
    if "" not in taken:
        return ""
    base = f"@{file_name(Path(path).stem)}"
    names = (base if count == 1 else f"{base}-{count}" for count in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
