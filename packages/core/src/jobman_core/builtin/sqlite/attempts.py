"""Attempts: claimed, followed, ended once."""

from collections.abc import Sequence
from datetime import datetime
from sqlite3 import Row

from jobman_core.builtin.sqlite import leases, tasks
from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.fresh import Fresh
from jobman_core.builtin.sqlite.jobs import find, set_ending
from jobman_core.builtin.sqlite.rows import (
    attempt_of,
    counters_of,
    exits_text,
    hosts_text,
    job_id,
    job_number,
    moment,
)
from jobman_core.builtin.sqlite.standing import put_counters
from jobman_core.errors import HeldError, InvalidInputError, NotFoundError, StaleLeaseError
from jobman_core.interfaces.store import Note
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Ending, EndingKind
from jobman_core.models.lease import Lease
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind
from jobman_core.models.queue import Claim
from jobman_core.models.slice import Offer
from jobman_core.queue import policy


def something_to_claim(tx: Tx, lease: Lease, queue: str, offer: Offer) -> bool:
    """Tell, by reading alone, whether a claim would find a task: idle workers hold up nobody."""
    _refuse_second(tx, leases.check(tx, lease), lease.job)
    return _pick(tx, tasks.find_queue(tx, queue), offer, None) is not None


def claim(
    tx: Tx, lease: Lease, queue: str, offer: Offer, *, generation: int, fresh: Fresh
) -> Claim | None:
    """Take the best task that fits."""
    number = leases.check(tx, lease)
    _refuse_second(tx, number, lease.job)
    found = tasks.find_queue(tx, queue)
    job = tx.one(sql.AVOID, number)
    avoid: str | None = job["avoid_task"] if job else None
    row = _pick(tx, found, offer, avoid)
    if row is None:
        return None
    counters = policy.claimed(counters_of(row))
    attempt = Attempt(
        token=fresh.new_id(),
        job=lease.job,
        generation=generation,
        number=counters.run_count,
        run_id=row["run_id"],
        claimed_at=fresh.now,
        queue=queue,
        task=row["task"],
    )
    _insert(tx, attempt, fresh.at, task=row["id"])
    put_counters(tx, found, row, counters, fresh.at)
    if avoid is not None:
        tx.run(sql.SET_AVOID, None, number)
    text = f"job {lease.job} took task {row['task']} (run {counters.run_count})"
    tell(tx, fresh.at, Note("task.claimed", text), job=number, queue=queue, task=row["task"])
    return Claim(tasks.just_claimed(tx, row, counters, attempt), attempt)


def open_(tx: Tx, lease: Lease, generation: int, fresh: Fresh) -> Attempt:
    """Put an attempt of a job's command on the books."""
    number = leases.check(tx, lease)
    _refuse_second(tx, number, lease.job)
    tx.run(sql.COUNT_RUN, number)
    job = find(tx, lease.job)
    attempt = Attempt(
        token=fresh.new_id(),
        job=lease.job,
        generation=generation,
        number=job["runs"],
        run_id=job["run_id"],
        claimed_at=fresh.now,
    )
    _insert(tx, attempt, fresh.at)
    text = f"job {lease.job} begins run {job['runs']} of its command"
    tell(tx, fresh.at, Note("attempt.opened", text), job=number)
    return attempt


def save(tx: Tx, lease: Lease, attempt: Attempt, at: str) -> None:
    """Write down hosts, commit and start."""
    number = leases.check(tx, lease)
    row = _live(tx, number, attempt.token)
    tx.run(
        sql.SAVE_ATTEMPT,
        hosts_text(attempt.hosts),
        attempt.commit,
        moment(attempt.started_at),
        attempt.token,
    )
    if row["started_at"] is None and attempt.started_at is not None:
        hosts = ", ".join(map(str, attempt.hosts))
        text = f"{_what(row)} started on job {lease.job}" + (f", hosts {hosts}" if hosts else "")
        _tell(tx, at, "attempt.started", text, row)


def ask_end(tx: Tx, token: str, cause: str) -> None:
    """Ask for the end of an attempt; the first cause stays, but a reset is never forgotten."""
    row = _attempt(tx, token)
    if row["ended_at"] is None and (row["end_cause"] is None or cause == Cause.RESET):
        tx.run(sql.ASK_END, cause, token)


def end(
    tx: Tx,
    lease: Lease,
    token: str,
    outcome: Outcome,
    fresh: Fresh,
    *,
    ending: Ending | None,
    give_back: bool,
) -> None:
    """Record an outcome, once, with what it means for the task and for the job."""
    number = leases.check(tx, lease)
    row = _live(tx, number, token)
    tx.run(
        sql.END_ATTEMPT,
        fresh.at,
        outcome.kind.value,
        outcome.cause,
        outcome.detail,
        exits_text(outcome.exits),
        token,
    )
    tx.run(sql.ADD_RAN, _lasted(row, fresh), number)
    if row["task"] is None:
        text = f"{_what(row)} {_how(outcome)} on job {lease.job}{_why(outcome)}"
        _tell(tx, fresh.at, f"attempt.{outcome.kind.value}", text, row)
        failed = outcome.kind is OutcomeKind.FAILED
        if failed:
            tx.run(sql.COUNT_RESTART, number)
        given_up = failed and ending is not None and ending.kind is EndingKind.FAILED
        final = given_up or outcome.kind is OutcomeKind.SUCCEEDED
    else:
        final = _release(tx, row, outcome, fresh)
    if final:
        tx.run(sql.SET_FINAL, token)
    if ending is not None:
        set_ending(tx, lease, ending, fresh.at, give_back=give_back)


def of(tx: Tx, job: str | None, queue: str | None, task: str | None) -> Sequence[Attempt]:
    """Give the attempts of a job, of a task, or of a whole queue."""
    if job is not None:
        rows = tx.all(sql.ATTEMPTS_OF_JOB, job_number(job))
        wanted = [attempt_of(row) for row in rows]
        return [
            attempt
            for attempt in wanted
            if queue in (None, attempt.queue) and task in (None, attempt.task)
        ]
    if queue is None:
        raise InvalidInputError("attempts are asked for by job or by queue: name one")
    if task is None:
        return [attempt_of(row) for row in tx.all(sql.ATTEMPTS_OF_QUEUE, queue)]
    return [attempt_of(row) for row in tx.all(sql.ATTEMPTS_OF_TASK, queue, task)]


def _release(tx: Tx, attempt: Row, outcome: Outcome, fresh: Fresh) -> bool:
    """Count an attempt of a task that ended, and tell whether the task is over with that."""
    queue = tasks.find_queue(tx, attempt["queue_path"])
    row = _row(tx, attempt["task"])
    wiped = Cause.RESET in (outcome.cause, attempt["end_cause"])
    before = counters_of(row)
    counters = policy.after(before, outcome, row["max_retries"], reset_asked=wiped)
    failed = outcome.kind is OutcomeKind.FAILED
    failure = _detail(outcome) if failed else None
    text = f"{_what(attempt)} {_how(outcome)} on job {job_id(attempt['job'])}{_why(outcome)}"
    if failed and not counters.done:
        allowed = policy.attempts_allowed(row["max_retries"])
        next_ = "for good" if counters.failed else "will be tried again"
        text += f" (failed {counters.fail_count} of {allowed} attempts, {next_})"
    _tell(tx, fresh.at, f"task.{outcome.kind.value}", text, attempt)
    if counters.failed and not row["failed"]:
        allowed = policy.attempts_allowed(row["max_retries"])
        tries = f"{counters.fail_count} of {allowed} attempts"
        text = f"task {attempt['task_name']} failed for good{_why(outcome)} ({tries})"
        _tell(tx, fresh.at, "task.given_up", text, attempt)
    put_counters(
        tx,
        queue,
        row,
        counters,
        fresh.at,
        failure="" if wiped else failure,
        run_id=fresh.new_id() if wiped else None,
    )
    return (counters.done and not before.done) or (counters.failed and not before.failed)


def _lasted(attempt: Row, fresh: Fresh) -> float:
    """Give the seconds that an attempt ran until now; 0 where it was not started."""
    if attempt["started_at"] is None:
        return 0.0
    started = datetime.fromisoformat(attempt["started_at"])
    return max(0.0, (fresh.now - started).total_seconds())


def _pick(tx: Tx, queue: Row, offer: Offer, avoid: str | None) -> Row | None:
    """Choose as ``policy.pick`` does, by the index: of each zone the first ones that fit."""
    rows = [
        row
        for zone in ("", offer.zone)
        for row in tx.all(
            sql.PICK,
            queue=queue["id"],
            accelerator=policy.kind_of(offer.accelerator),
            zone=zone,
            hosts=offer.hosts,
            most=1 if avoid is None else 2,
        )
    ]
    rows.sort(key=lambda row: (row["task"] == avoid, row["rank"]))
    return rows[0] if rows else None


def _insert(tx: Tx, attempt: Attempt, at: str, *, task: int | None = None) -> None:
    """Put an attempt on the books."""
    tx.insert(
        sql.INSERT_ATTEMPT,
        token=attempt.token,
        job=job_number(attempt.job),
        generation=attempt.generation,
        number=attempt.number,
        run_id=attempt.run_id,
        task=task,
        mode=attempt.mode.value,
        stage=attempt.stage,
        claimed_at=at,
    )


def _refuse_second(tx: Tx, number: int, job: str) -> None:
    if tx.one(sql.LIVE_ATTEMPT, number) is not None:
        raise HeldError(f"job {job} has an attempt that has not ended: end that one first")


def _attempt(tx: Tx, token: str) -> Row:
    row = tx.one(sql.ATTEMPT, token)
    if row is None:
        raise NotFoundError(f"no attempt {token!r}: it was never begun in this home")
    return row


def _live(tx: Tx, job: int, token: str) -> Row:
    row = _attempt(tx, token)
    if row["job"] != job or row["ended_at"] is not None:
        raise StaleLeaseError(
            f"attempt {token} is not job {job_id(job)}'s to change any more: what is on record "
            "of it stays"
        )
    return row


def _row(tx: Tx, number: int) -> Row:
    row = tx.one(sql.TASK_BY_ID, number)
    if row is None:
        raise NotFoundError(f"no task number {number}: it was never in this home")
    return row


def _tell(tx: Tx, at: str, kind: str, text: str, attempt: Row) -> None:
    queue, task = attempt["queue_path"], attempt["task_name"]
    tell(tx, at, Note(kind, text), job=attempt["job"], queue=queue, task=task)


def _what(attempt: Row) -> str:
    if attempt["task"] is None:
        return f"run {attempt['number']} of the command"
    return f"task {attempt['task_name']} (run {attempt['number']})"


def _how(outcome: Outcome) -> str:
    was = "was " if outcome.kind is OutcomeKind.INTERRUPTED else ""
    return was + outcome.kind.value


def _why(outcome: Outcome) -> str:
    return "" if outcome.kind is OutcomeKind.SUCCEEDED else f": {_detail(outcome)}"


def _detail(outcome: Outcome) -> str:
    """Say how an attempt ended: what it says itself, else the first cause."""
    if outcome.detail:
        return outcome.detail
    first = next((exit_ for exit_ in outcome.exits if exit_.code is not None), None)
    return outcome.cause if first is None else f"exit {first.code} on host {first.host}"
