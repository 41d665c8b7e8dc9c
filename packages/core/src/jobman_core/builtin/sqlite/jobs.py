"""Jobs: from draft to deletion."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from sqlite3 import Row
from typing import TypeVar

from jobman_core.builtin.sqlite import leases
from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.fresh import Fresh
from jobman_core.builtin.sqlite.past import import_runs
from jobman_core.builtin.sqlite.rows import (
    attempt_of,
    holder_of,
    job_id,
    job_number,
    job_of,
    moment,
    notify_text,
    slice_of,
)
from jobman_core.errors import HeldError, NotFoundError
from jobman_core.interfaces.store import JobDraft, JobRecord, Note, OldJob
from jobman_core.models.job import Desired, Ending, Job, Step
from jobman_core.models.lease import Lease

#: A draft that has no name yet is out of the way of the unique names.
_NAMELESS = Desired.CANCELLED
_AUTO = "auto"
#: After which a draft was given up.
_LONGEST_DRAFT = timedelta(hours=1)
_T = TypeVar("_T")

_OVER = (Desired.CANCELLED, Desired.DELETED)


def find(tx: Tx, job: str) -> Row:
    """Find a job that was published.

    Raises:
        NotFoundError: no such job.
    """
    row = tx.one(sql.JOB, job_number(job))
    if row is None:
        raise NotFoundError(f"no job {job!r}: `jobman list --all` shows all")
    return row


def draft(tx: Tx, draft: JobDraft, fresh: Fresh, old: OldJob | None) -> Job:
    """Take the next id and suffix; a job of v3 keeps its own where it can."""
    # Whoever made an older one has crashed, and nobody should lose the name to it.
    tx.run(sql.DROP_DRAFTS, fresh.before(_LONGEST_DRAFT))
    word = draft.worker_num
    if word == _AUTO and old is None:
        word = _smallest_free(tx, draft.base_name)
    kept = None if old is None or old.id is None else job_number(old.id)
    number = tx.insert(
        sql.INSERT_JOB,
        id=kept if kept is None or tx.one(sql.ANY_JOB, kept) is None else None,
        user=draft.user,
        name="",
        base_name=draft.base_name,
        accelerator=draft.accelerator,
        zone=draft.zone,
        cloud=draft.cloud,
        session=draft.session,
        queue=draft.queue,
        worker_num=word,
        run_id=fresh.new_id(),
        created_at=fresh.at,
        desired=_NAMELESS.value,
        notify=notify_text(draft.notify),
    )
    name = f"{draft.base_name}_{job_id(number) if word is None else word}"
    if old is not None:
        name = old.name
    _refuse_taken(tx, name)
    tx.run(sql.NAME_JOB, name, number)
    return _any(tx, number)


def publish(tx: Tx, job: str, spec_hash: str, fresh: Fresh, old: OldJob | None) -> Job:
    """Let a draft be seen."""
    number = job_number(job)
    if not tx.run(sql.PUBLISH_JOB, spec_hash, number):
        raise NotFoundError(f"no draft of job {job!r}: create it again")
    if old is not None:
        last = max((run.number for run in old.runs), default=0)
        tx.run(sql.SET_PAST, moment(old.created), old.reason, last, number)
        import_runs(tx, number, old.runs, fresh)
    row = _any(tx, number)
    how = f"created by {row.user}" if old is None else f"of {row.user} taken over from jobman v3"
    text = f"job {row.id} ({row.name}) {how}: {row.accelerator} in {row.zone}"
    tell(tx, fresh.at, Note("job.created", text), job=number)
    return row


def discard(tx: Tx, job: str) -> None:
    """Forget a draft."""
    tx.run(sql.DISCARD_JOB, job_number(job))


def ids(tx: Tx) -> Sequence[str]:
    """Give the ids of all jobs."""
    return [job_id(row["id"]) for row in tx.all(sql.JOB_IDS)]


def record(tx: Tx, job: str) -> JobRecord:
    """Give all facts about one job."""
    row = find(tx, job)
    number = row["id"]
    newest = tx.one(sql.SLICE, number, row["generation"])
    holder = tx.one(sql.HOLDER, number)
    return JobRecord(
        job_of(row),
        None if newest is None else slice_of(newest),
        tuple(map(slice_of, tx.all(sql.WITHDRAWING, number))),
        tuple(map(attempt_of, tx.all(sql.LIVE_ATTEMPTS, number))),
        None if holder is None else holder_of(holder),
        _progress(tx.one(sql.QUEUE, row["queue"])) if row["queue"] else None,
    )


def records(tx: Tx, deleted: bool) -> Sequence[JobRecord]:
    """Give all facts about all jobs, with as many statements for two thousand as for two."""
    flag = int(deleted)
    newest = _by_job(tx.all(sql.NEWEST_SLICES, deleted=flag), slice_of)
    withdrawing = _by_job(tx.all(sql.ALL_WITHDRAWING), slice_of)
    live = _by_job(tx.all(sql.ALL_LIVE_ATTEMPTS), attempt_of)
    holders = _by_job(tx.all(sql.HOLDERS), holder_of)
    rows = tx.all(sql.JOBS, deleted=flag)
    progress: dict[str, tuple[int, int] | None] = {}
    if any(row["queue"] for row in rows):
        progress = {found["path"]: _progress(found) for found in tx.all(sql.QUEUES)}
    return [
        JobRecord(
            job_of(row),
            next(iter(newest.get(row["id"], ())), None),
            tuple(withdrawing.get(row["id"], ())),
            tuple(live.get(row["id"], ())),
            next(iter(holders.get(row["id"], ())), None),
            progress.get(row["queue"]),
        )
        for row in rows
    ]


def set_desired(tx: Tx, job: str, desired: Desired, note: Note, at: str) -> Job:
    """Write down what is wanted of a job."""
    row = find(tx, job)
    if Desired(row["desired"]) in _OVER and desired not in _OVER:
        # Its name was free to take while it was over.
        _refuse_taken(tx, row["name"])
    if desired is Desired.RUNNING:
        tx.run(sql.SET_RUNNING, id=row["id"], at=at)
    else:
        tx.run(sql.SET_DESIRED, id=row["id"], desired=desired.value, at=at)
    if desired in _OVER:
        tx.run(sql.WITHDRAW, row["id"])
    tell(tx, at, note, job=row["id"])
    return _any(tx, row["id"])


def set_spec(tx: Tx, job: str, draft: JobDraft, spec_hash: str) -> Job:
    """Take over what an edited file says."""
    number = find(tx, job)["id"]
    tx.run(
        sql.SET_SPEC,
        draft.accelerator,
        draft.zone,
        draft.cloud,
        draft.session,
        draft.queue,
        notify_text(draft.notify),
        spec_hash,
        number,
    )
    return _any(tx, number)


def set_avoid(tx: Tx, job: str, task: str | None) -> None:
    """Say which task a worker should leave to others."""
    tx.run(sql.SET_AVOID, task, find(tx, job)["id"])


def at_step(tx: Tx, lease: Lease, step: Step, reason: str, until: datetime | None) -> bool:
    """Tell whether the job is on record as being there already."""
    leases.check(tx, lease)
    row = find(tx, lease.job)
    there = row["step"], row["step_reason"], row["next_try"]
    return there == (step.value, reason, moment(until))


def set_step(
    tx: Tx, lease: Lease, step: Step, reason: str, *, until: datetime | None, at: str
) -> None:
    """Write down where a controller is."""
    number = leases.check(tx, lease)
    tx.run(sql.SET_STEP, id=number, step=step.value, reason=reason, until=moment(until), at=at)


def set_ending(tx: Tx, lease: Lease, ending: Ending, at: str, *, give_back: bool) -> None:
    """Write down how a job ended, and whether its slice is withdrawn with that."""
    number = leases.check(tx, lease)
    tx.run(sql.SET_ENDING, ending.kind.value, ending.reason, at, number)
    if give_back:
        tx.run(sql.WITHDRAW, number)
    why = f": {ending.reason}" if ending.reason else ""
    note = Note(f"job.{ending.kind.value.lower()}", f"job {lease.job} is {ending.kind.value}{why}")
    tell(tx, at, note, job=number)


def _by_job(rows: Iterable[Row], read: Callable[[Row], _T]) -> dict[int, list[_T]]:
    found: dict[int, list[_T]] = {}
    for row in rows:
        found.setdefault(row["job"], []).append(read(row))
    return found


def _progress(row: Row | None) -> tuple[int, int] | None:
    return None if row is None else (row["done"], row["tasks"])


def _any(tx: Tx, number: int) -> Job:
    row = tx.one(sql.ANY_JOB, number)
    if row is None:
        raise NotFoundError(f"no job {job_id(number)!r}: `jobman list --all` shows all")
    return job_of(row)


def _smallest_free(tx: Tx, base_name: str) -> str:
    """Give the smallest number from 1 that no job of that base name bears."""
    prefix = f"{base_name}_"
    # All texts that begin with the prefix, by the index on names.
    rows = tx.all(sql.NAMES_LIKE, low=prefix, high=prefix[:-1] + chr(ord("_") + 1))
    taken = {row["name"] for row in rows}
    number = 1
    while f"{prefix}{number}" in taken:
        number += 1
    return str(number)


def _refuse_taken(tx: Tx, name: str) -> None:
    row = tx.one(sql.JOB_OF_NAME, name)
    if row is not None:
        other = job_id(row["id"])
        raise HeldError(
            f"job {other} has the name {name!r}: take another job.worker_num, or "
            f"`jobman cancel {other}`"
        )
