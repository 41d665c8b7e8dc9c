"""Tasks as people and workers see them: rows, with the status that the policy gives them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from sqlite3 import Row

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.rows import counters_of, job_id, spec_of
from jobman_core.errors import NotFoundError
from jobman_core.models.attempt import Attempt
from jobman_core.models.queue import Demand
from jobman_core.models.task import Counters, Running, Task
from jobman_core.queue import policy


def find_queue(tx: Tx, path: str) -> Row:
    """Find a queue.

    Raises:
        NotFoundError: no such queue in this home.
    """
    row = tx.one(sql.QUEUE, path)
    if row is None:
        raise NotFoundError(f"no queue {path!r} in this home: `jobman queue {path}` opens it")
    return row


def find(tx: Tx, queue: Row, task: str) -> Row:
    """Find a task that is in the file, or runs still.

    Raises:
        NotFoundError: no such task.
    """
    row = tx.one(sql.TASK, queue["id"], task)
    if row is None or (row["removed"] and not row["running"]):
        raise NotFoundError(
            f"no task {task!r} in {queue['path']}: `jobman queue --show-all {queue['path']}` "
            "shows all"
        )
    return row


def of_queue(tx: Tx, path: str) -> Sequence[Task]:
    """Give all tasks, with a fixed number of statements."""
    queue = find_queue(tx, path)
    rows = tx.all(sql.TASKS, queue["id"])
    running: dict[int, list[Running]] = defaultdict(list)
    for row in tx.all(sql.RUNNING_IN_QUEUE, queue["id"]):
        running[row["task"]].append(_running(row))
    by_name = {row["task"]: row for row in rows}
    tasks = []
    for row in rows:
        # Only those that are held up need their dependencies looked at.
        unmet: Iterable[str] = ()
        if row["unmet"]:
            unmet = [d for d in spec_of(row["spec"]).depends_on if not by_name[d]["done"]]
        root = by_name.get(row["root"])
        failure = root["failure"] if root else ""
        runs = running.get(row["id"], ())
        standing = _standing(row, unmet, failure, runs)
        tasks.append(_task(path, row, counters_of(row), standing, runs))
    return tasks


def one(tx: Tx, path: str, task: str) -> Task:
    """Give one task."""
    queue = find_queue(tx, path)
    return view(tx, queue, find(tx, queue, task))


def view(tx: Tx, queue: Row, row: Row) -> Task:
    """Give a task as it stands now."""
    unmet = [d["task"] for d in tx.all(sql.UNMET, row["id"])] if row["unmet"] else ()
    root = tx.one(sql.TASK, queue["id"], row["root"]) if row["root"] else None
    running = _running_of(tx, row) if row["running"] else ()
    standing = _standing(row, unmet, root["failure"] if root else "", running)
    return _task(queue["path"], row, counters_of(row), standing, running)


def just_claimed(tx: Tx, row: Row, counters: Counters, attempt: Attempt) -> Task:
    """Give a task as a claim left it: nothing that it depends on holds it up."""
    running: Sequence[Running] = (Running(attempt.job, attempt.claimed_at, attempt.token),)
    if counters.running > 1:
        running = _running_of(tx, row)
    return _task(str(attempt.queue), row, counters, _standing(row, (), "", running), running)


def demand(tx: Tx, path: str) -> Sequence[Demand]:
    """Give what a queue has, by accelerator and zone."""
    rows = tx.all(sql.DEMAND, find_queue(tx, path)["id"])
    return [
        Demand(row["accelerator"], row["zone"] or None, row["ready"], row["open"]) for row in rows
    ]


def _standing(
    row: Row, unmet: Iterable[str], root_failure: str, running: Iterable[Running]
) -> policy.Standing:
    return policy.Standing(
        waits_for=tuple(unmet),
        root=row["root"],
        root_failure=root_failure,
        failure=row["failure"],
        jobs=tuple(r.job for r in running),
    )


def _task(
    path: str,
    row: Row,
    counters: Counters,
    standing: policy.Standing,
    running: Iterable[Running],
) -> Task:
    spec = spec_of(row["spec"])
    status, reason = policy.status(spec, counters, standing)
    return Task(
        queue=path,
        spec=spec,
        counters=counters,
        status=status,
        reason=reason,
        running=tuple(running),
        removed=bool(row["removed"]),
        run_id=row["run_id"],
    )


def _running_of(tx: Tx, row: Row) -> Sequence[Running]:
    return [_running(attempt) for attempt in tx.all(sql.RUNNING_TASK, row["id"])]


def _running(row: Row) -> Running:
    started = datetime.fromisoformat(row["started_at"] or row["claimed_at"])
    return Running(job_id(row["job"]), started, row["token"])
