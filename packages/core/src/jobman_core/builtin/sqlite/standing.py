"""Keeps what the policy says about tasks in their columns, and lets it flow to the dependants."""

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from sqlite3 import Row

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.rows import counters_of, counters_values
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.store import Note
from jobman_core.models.task import Counters
from jobman_core.queue import policy


def put_counters(
    tx: Tx,
    queue: Row,
    row: Row,
    counters: Counters,
    at: str,
    *,
    failure: str | None = None,
    run_id: str | None = None,
) -> None:
    """Write a task's new counters, and what follows from them for its dependants."""
    tx.run(
        sql.SET_COUNTERS,
        id=row["id"],
        **counters_values(counters),
        ready=_ready(row, counters, row["unmet"]),
        rank=policy.rank(row["position"], priority=counters.priority),
        failure=row["failure"] if failure is None else failure,
        run_id=row["run_id"] if run_id is None else run_id,
    )
    tx.run(sql.CHANGED, queue["id"])
    if (row["done"], row["failed"]) == (counters.done, counters.failed):
        return
    if row["done"] != counters.done:
        _count_unmet(tx, row["id"], 1 if row["done"] else -1)
    old = counters_of(row)
    if old.done and not counters.done and row["root"] is not None:
        _tell_blocked(tx, queue, row, row["root"], at)
    if _blocks(row, old, row["root"]) != _blocks(row, counters, row["root"]):
        _spread_root(tx, queue, row["id"], at)


def recompute(tx: Tx, queue: Row, at: str) -> None:
    """Go through a whole queue after its definitions or many tasks changed.

    Raises:
        InvalidInputError: tasks depend on one another in a circle.
    """
    rows = {row["id"]: row for row in tx.all(sql.ALL_TASKS, queue["id"])}
    needs: dict[int, list[int]] = {}
    for pair in tx.all(sql.ALL_DEPENDENCIES, queue["id"]):
        needs.setdefault(pair["task"], []).append(pair["dependency"])
    states: dict[int, policy.Dependency] = {}
    changed = []
    for number, depth in _in_order(rows, needs):
        row = rows[number]
        dependencies = [states[d] for d in needs.get(number, ())]
        counters = policy.settle(counters_of(row), row["max_retries"])
        unmet = sum(not d.done for d in dependencies)
        root = policy.root(dependencies)
        states[number] = policy.Dependency(row["task"], counters.done, counters.failed, root)
        values = (
            depth,
            int(counters.failed),
            unmet,
            root,
            _ready(row, counters, unmet),
            policy.rank(row["position"], priority=counters.priority),
        )
        if values != tuple(
            row[key] for key in ("depth", "failed", "unmet", "root", "ready", "rank")
        ):
            changed.append((*values, number))
        _tell_root(tx, queue, row, root, at)
    tx.many(sql.SET_STANDING, changed)
    tx.run(sql.CHANGED, queue["id"])


def _ready(row: Row, counters: Counters, unmet: int) -> int:
    return int(
        policy.startable(
            counters, max_jobs=row["max_jobs"], unmet=unmet, removed=bool(row["removed"])
        )
    )


def _blocks(row: Row, counters: Counters, root: str | None) -> str | None:
    return policy.blocks(policy.Dependency(row["task"], counters.done, counters.failed, root))


def _count_unmet(tx: Tx, number: int, step: int) -> None:
    """Tell the dependants that one more, or one less, of their dependencies is not done."""
    for row in tx.all(sql.DEPENDANTS, number):
        unmet = row["unmet"] + step
        tx.run(sql.SET_UNMET, unmet, _ready(row, counters_of(row), unmet), row["id"])


def _spread_root(tx: Tx, queue: Row, number: int, at: str) -> None:
    """Let dependants know by what they are blocked now, each after all that it depends on."""
    line: list[tuple[int, int]] = []
    waiting: dict[int, Row] = {}

    def put_off(rows: Iterable[Row]) -> None:
        for row in rows:
            if row["id"] not in waiting:
                waiting[row["id"]] = row
                heappush(line, (row["depth"], row["id"]))

    put_off(tx.all(sql.DEPENDANTS, number))
    while line:
        row = waiting.pop(heappop(line)[1])
        root = policy.root(
            policy.Dependency(d["task"], bool(d["done"]), bool(d["failed"]), d["root"])
            for d in tx.all(sql.DEPENDENCIES, row["id"])
        )
        if root == row["root"]:
            continue
        tx.run(sql.SET_ROOT, root, row["id"])
        _tell_root(tx, queue, row, root, at)
        counters = counters_of(row)
        if _blocks(row, counters, row["root"]) != _blocks(row, counters, root):
            put_off(tx.all(sql.DEPENDANTS, row["id"]))


def _tell_root(tx: Tx, queue: Row, row: Row, root: str | None, at: str) -> None:
    """Write the event of a task that is blocked now, or no more."""
    if row["removed"] or row["done"] or (root is None) == (row["root"] is None):
        return
    if root is not None:
        _tell_blocked(tx, queue, row, root, at)
        return
    note = Note("task.unblocked", f"task {row['task']} is not blocked any more")
    tell(tx, at, note, queue=queue["path"], task=row["task"])


def _tell_blocked(tx: Tx, queue: Row, row: Row, root: str, at: str) -> None:
    if not row["removed"]:
        text = f"task {row['task']} is blocked: {root}, which it depends on, failed for good"
        tell(tx, at, Note("task.blocked", text), queue=queue["path"], task=row["task"])


def _in_order(
    rows: Mapping[int, Row], needs: Mapping[int, Sequence[int]]
) -> Iterable[tuple[int, int]]:
    """Give every task after all that it depends on, with the length of the longest way down."""
    depths = dict.fromkeys(rows, 0)
    missing = {number: len(needs.get(number, ())) for number in rows}
    dependants: dict[int, list[int]] = {}
    for number, dependencies in needs.items():
        for dependency in dependencies:
            dependants.setdefault(dependency, []).append(number)
    free = [number for number, count in missing.items() if not count]
    for number in free:
        yield number, depths[number]
        for dependant in dependants.get(number, ()):
            depths[dependant] = max(depths[dependant], depths[number] + 1)
            missing[dependant] -= 1
            if not missing[dependant]:
                free.append(dependant)
    if len(free) < len(rows):
        circle = sorted(rows[number]["task"] for number, count in missing.items() if count)
        raise InvalidInputError(
            f"tasks depend on one another in a circle, among {', '.join(circle[:10])}: take one "
            "depends_on out"
        )
