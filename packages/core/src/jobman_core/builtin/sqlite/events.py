"""The outbox: events in the transaction of the change that they tell of."""

from collections.abc import Sequence

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.rows import event_of, job_number
from jobman_core.interfaces.store import Note
from jobman_core.models.event import Event


def tell(
    tx: Tx,
    at: str,
    note: Note,
    *,
    job: int | None = None,
    queue: str | None = None,
    task: str | None = None,
) -> None:
    """Write an event."""
    text = " ".join(note.text.split("\n"))
    tx.insert(sql.INSERT_EVENT, at, note.kind, text, job, queue, task)


def add(tx: Tx, at: str, note: Note, job: str | None) -> None:
    """Write an event that no other change carries."""
    tell(tx, at, note, job=None if job is None else job_number(job))


def after(tx: Tx, number: int, limit: int, job: str | None) -> Sequence[Event]:
    """Read on from an event."""
    if job is None:
        rows = tx.all(sql.EVENTS, number, limit)
    else:
        rows = tx.all(sql.EVENTS_OF_JOB, job_number(job), number, limit)
    return [event_of(row) for row in rows]


def newest(tx: Tx, job: str | None, limit: int) -> Sequence[Event]:
    """Give the newest of a job, or of all, oldest first."""
    if job is None:
        rows = tx.all(sql.NEWEST_EVENTS, limit)
    else:
        rows = tx.all(sql.NEWEST_OF_JOB, job_number(job), limit)
    return [event_of(row) for row in reversed(rows)]
