"""What a tasks file says, put in force."""

from collections.abc import Sequence
from sqlite3 import Row
from typing import Any

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite import tasks
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.fresh import Fresh
from jobman_core.builtin.sqlite.rows import notify_text, queue_of, spec_text
from jobman_core.builtin.sqlite.standing import recompute
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.store import Note
from jobman_core.models.queue import Queue
from jobman_core.models.task import QueueDefinition, TaskSpec
from jobman_core.queue import policy

#: How many names an event lists.
_NAMES = 5


def define(tx: Tx, path: str, definition: QueueDefinition, fresh: Fresh) -> Queue:
    """Put a file's definitions in force."""
    queue = tasks.find_queue(tx, path)
    _check(definition)
    rows = {row["task"]: row for row in tx.all(sql.ALL_TASKS, queue["id"])}
    added: list[str] = []
    changed: list[str] = []
    rewired: list[TaskSpec] = []
    moved: list[tuple[int, int]] = []
    for position, spec in enumerate(definition.tasks):
        row = rows.pop(spec.id, None)
        if row is None:
            insert(tx, queue, spec, position, fresh)
            added.append(spec.id)
        elif row["removed"] or row["spec"] != spec_text(spec):
            tx.run(sql.UPDATE_ENTRY, id=row["id"], **_columns(spec, position))
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
    tx.run(sql.DEFINED, definition.content_hash, notify_text(definition.notify), queue["id"])
    _tell_defined(
        tx, path, fresh.at, added=added, changed=changed, removed=[r["task"] for r in gone]
    )
    return queue_of(tasks.find_queue(tx, path))


def insert(
    tx: Tx, queue: Row, spec: TaskSpec, position: int, fresh: Fresh, *, removed: bool = False
) -> int:
    """Add a task; gives its number."""
    columns = _columns(spec, position) | {"removed": int(removed)}
    return tx.insert(
        sql.INSERT_TASK, queue=queue["id"], task=spec.id, run_id=fresh.new_id(), **columns
    )


def _check(definition: QueueDefinition) -> None:
    """Refuse what a tasks file that was read with care cannot say."""
    names = {spec.id for spec in definition.tasks}
    if len(names) < len(definition.tasks):
        raise InvalidInputError("two tasks have the same id: rename one of them")
    for spec in definition.tasks:
        for name in spec.depends_on:
            if name not in names:
                raise InvalidInputError(
                    f"task {spec.id} depends on {name!r}, which does not exist: add it, or take "
                    "the depends_on out"
                )


def _columns(spec: TaskSpec, position: int) -> dict[str, Any]:
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


def _wire(tx: Tx, queue: Row, specs: Sequence[TaskSpec]) -> None:
    """Write the dependencies of new and changed entries, once all of them are there."""
    if not specs:
        return
    numbers = {row["task"]: row["id"] for row in tx.all(sql.TASK_NUMBERS, queue["id"])}
    tx.many(sql.DROP_DEPENDENCIES, [(numbers[spec.id],) for spec in specs])
    tx.many(
        sql.INSERT_DEPENDENCY,
        [
            (numbers[spec.id], count, numbers[name])
            for spec in specs
            for count, name in enumerate(dict.fromkeys(spec.depends_on))
        ],
    )


def _tell_defined(tx: Tx, path: str, at: str, **names: Sequence[str]) -> None:
    """Write one event for a new version of a file, if its tasks changed at all."""
    parts = [f"{len(ids)} {word} ({_few(ids)})" for word, ids in names.items() if ids]
    if parts:
        text = f"tasks of {path}: {', '.join(parts)}"
        tell(tx, at, Note("queue.defined", text), queue=path)


def _few(names: Sequence[str]) -> str:
    more = ", …" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more
