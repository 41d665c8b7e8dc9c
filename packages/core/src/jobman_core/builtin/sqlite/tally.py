"""How queues stand, at a glance: counted by the database, so that it costs little to look."""

from collections import Counter
from collections.abc import Mapping, Sequence
from sqlite3 import Row

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite import tasks
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.rows import queue_of
from jobman_core.models.queue import Tally
from jobman_core.models.task import Counters, TaskStatus
from jobman_core.queue import policy


def all_(tx: Tx, known: Mapping[str, Tally], most: int) -> Sequence[Tally]:
    """Give how all queues stand; those that have not changed as they are known."""
    return [_tally(tx, row, known.get(row["path"]), most) for row in tx.all(sql.QUEUES)]


def _tally(tx: Tx, row: Row, known: Tally | None, most: int) -> Tally:
    queue = queue_of(row)
    if known is not None and known.queue == queue:
        return known
    foremost = tx.all(sql.FOREMOST, row["id"], most) if most else ()
    return Tally(queue, _counts(tx, row["id"]), tuple(tasks.view(tx, row, one) for one in foremost))


def _counts(tx: Tx, queue: int) -> Mapping[TaskStatus, int]:
    counts: Counter[TaskStatus] = Counter()
    for row in tx.all(sql.TALLY, queue):
        counters = Counters(
            done=bool(row["done"]),
            failed=bool(row["failed"]),
            fail_count=row["fail_count"],
            running=row["running"],
        )
        word = policy.status_word(counters, blocked=row["blocked"], waits=row["waits"])
        counts[word] += row["tasks"]
    return dict(counts)
