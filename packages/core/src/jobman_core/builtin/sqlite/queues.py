"""Queues: their definitions, and what people do to their tasks."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from sqlite3 import Row
from typing import Any

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite import tasks
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.fresh import Fresh
from jobman_core.builtin.sqlite.rows import counters_of, job_id, moment, queue_of, spec_text
from jobman_core.builtin.sqlite.standing import put_counters, recompute
from jobman_core.errors import InvalidInputError
from jobman_core.home import file_name
from jobman_core.interfaces.store import Note, PastRun
from jobman_core.models.outcome import Cause, OutcomeKind
from jobman_core.models.queue import Queue
from jobman_core.models.task import Counters, QueueDefinition, TaskSpec
from jobman_core.queue import policy

#: What v3's words for the end of a run are here, and back.
_PAST = {
    "completed": (OutcomeKind.SUCCEEDED, Cause.EXITED),
    "failed": (OutcomeKind.FAILED, Cause.EXITED),
    "interrupted": (OutcomeKind.INTERRUPTED, Cause.STOPPED),
    "stale_cleanup": (OutcomeKind.INTERRUPTED, Cause.STALE),
}
_WORDS = {
    OutcomeKind.SUCCEEDED: "completed",
    OutcomeKind.FAILED: "failed",
    OutcomeKind.INTERRUPTED: "interrupted",
}
_NAMES = 5


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


def define(tx: Tx, path: str, definition: QueueDefinition, fresh: Fresh) -> Queue:
    """Put a file's definitions in force."""
    queue = tasks.find_queue(tx, path)
    rows = {row["task"]: row for row in tx.all(sql.ALL_TASKS, queue["id"])}
    added: list[str] = []
    changed: list[str] = []
    rewired: list[TaskSpec] = []
    moved: list[tuple[int, int]] = []
    for position, spec in enumerate(definition.tasks):
        values = _entry(spec, position)
        row = rows.pop(spec.id, None)
        if row is None:
            tx.insert(
                sql.INSERT_TASK, queue=queue["id"], task=spec.id, run_id=fresh.new_id(), **values
            )
            added.append(spec.id)
        elif row["removed"] or row["spec"] != values["spec"]:
            tx.run(sql.UPDATE_ENTRY, id=row["id"], **values)
            (added if row["removed"] else changed).append(spec.id)
        else:
            if row["position"] != position:
                moved.append((position, row["id"]))
            continue
        rewired.append(spec)
    tx.many(sql.MOVE_TASK, moved)
    gone = [row for row in rows.values() if not row["removed"]]
    for row in gone:
        tx.run(sql.REMOVE_TASK, row["id"])
        tx.run(sql.DROP_DEPENDENCIES, row["id"])
    _wire(tx, queue, rewired)
    recompute(tx, queue, fresh.at)
    tx.run(sql.DEFINED, definition.content_hash, queue["id"])
    _tell_defined(
        tx, path, fresh.at, added=added, changed=changed, removed=[r["task"] for r in gone]
    )
    return get(tx, path)


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


def import_state(
    tx: Tx,
    path: str,
    counters: Mapping[str, Counters],
    history: Mapping[str, Sequence[PastRun]],
    fresh: Fresh,
) -> None:
    """Take over a v3 state file, unless the queue has a story of its own already."""
    queue = tasks.find_queue(tx, path)
    if queue["imported"] or tx.one(sql.HAS_ATTEMPTS, queue["id"]) is not None:
        return
    tx.run(sql.IMPORTED, queue["id"])
    for name in dict.fromkeys([*counters, *history]):
        row = tx.one(sql.TASK, queue["id"], name)
        if row is None:
            # Waits, like a task that was removed, for an entry of that name.
            values = _entry(TaskSpec(name, run="", accelerator=""), 0) | {"removed": 1}
            number = tx.insert(
                sql.INSERT_TASK, queue=queue["id"], task=name, run_id=fresh.new_id(), **values
            )
        else:
            number = row["id"]
        now = counters.get(name, Counters())
        tx.run(
            sql.IMPORT_COUNTERS,
            int(now.done),
            int(now.failed),
            now.fail_count,
            now.run_count,
            int(now.priority),
            number,
        )
        for count, run in enumerate(history.get(name, ()), 1):
            tx.insert(
                sql.INSERT_PAST, **_past(run, count, fresh.at), task=number, token=fresh.new_id()
            )
    recompute(tx, queue, fresh.at)
    text = f"took over the state that jobman v3 left of {len(counters)} tasks"
    tell(tx, fresh.at, Note("queue.imported", text), queue=path)


def history(tx: Tx, path: str) -> Mapping[str, Sequence[PastRun]]:
    """Give the runs of all tasks that ended, in v3's words."""
    found: dict[str, list[PastRun]] = {}
    for row in tx.all(sql.HISTORY, tasks.find_queue(tx, path)["id"]):
        word = "stale_cleanup" if row["cause"] == Cause.STALE else _WORDS[row["outcome"]]
        run = PastRun(
            row["past_job"] if row["job"] is None else job_id(row["job"]),
            datetime.fromisoformat(row["started_at"] or row["claimed_at"]),
            datetime.fromisoformat(row["ended_at"]),
            word,
        )
        found.setdefault(row["task"], []).append(run)
    return found


def _folder(tx: Tx, path: str) -> str:
    """Give a queue's own folder below ``jobs/tasks``; the first queue needs none."""
    taken = {row["folder"] for row in tx.all(sql.FOLDERS)}
    if "" not in taken:
        return ""
    base = f"@{file_name(Path(path).stem)}"
    names = (base if count == 1 else f"{base}-{count}" for count in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _entry(spec: TaskSpec, position: int) -> dict[str, Any]:
    """Write what the columns hold of an entry."""
    return {
        "spec": spec_text(spec),
        "position": position,
        "accelerator": policy.kind_of(spec.accelerator),
        "zone": spec.zone or "",
        "min_hosts": policy.hosts_needed(spec),
        "max_jobs": spec.max_jobs,
        "max_retries": spec.max_retries,
        "removed": 0,
    }


def _wire(tx: Tx, queue: Row, specs: Iterable[TaskSpec]) -> None:
    """Write the dependencies of new and changed entries, once all of them are there."""
    for spec in specs:
        number = tasks.find(tx, queue, spec.id)["id"]
        tx.run(sql.DROP_DEPENDENCIES, number)
        for count, name in enumerate(dict.fromkeys(spec.depends_on)):
            row = tx.one(sql.TASK, queue["id"], name)
            if row is None or row["removed"]:
                raise InvalidInputError(
                    f"task {spec.id} depends on {name!r}, which does not exist: add it, or take "
                    "the depends_on out"
                )
            tx.run(sql.INSERT_DEPENDENCY, number, count, row["id"])


def _past(run: PastRun, count: int, at: str) -> dict[str, Any]:
    kind, cause = _PAST[run.status]
    began = moment(run.started) or moment(run.ended) or at
    return {
        "past_job": run.job,
        "number": count,
        "run_id": "",
        "claimed_at": began,
        "started_at": moment(run.started),
        "ended_at": moment(run.ended) or began,
        "outcome": kind.value,
        "cause": cause.value,
    }


def _tell_defined(tx: Tx, path: str, at: str, **names: Sequence[str]) -> None:
    """Write one event for a new version of a file, if its tasks changed at all."""
    parts = [f"{len(ids)} {word} ({_few(ids)})" for word, ids in names.items() if ids]
    if parts:
        text = f"tasks of {path}: {', '.join(parts)}"
        tell(tx, at, Note("queue.defined", text), queue=path)


def _few(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
