"""The history of a queue in v3's words, taken over from its state file and given back."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite import tasks
from jobman_core.builtin.sqlite.database import Tx
from jobman_core.builtin.sqlite.definitions import insert
from jobman_core.builtin.sqlite.events import tell
from jobman_core.builtin.sqlite.fresh import Fresh
from jobman_core.builtin.sqlite.rows import job_id, moment
from jobman_core.builtin.sqlite.standing import recompute
from jobman_core.interfaces.store import Note, OldRun, PastRun
from jobman_core.models.outcome import Cause, OutcomeKind
from jobman_core.models.task import Counters, TaskSpec

#: What v3's words for the end of a run are here, and back.
_PAST: Final = {
    "completed": (OutcomeKind.SUCCEEDED, Cause.EXITED),
    "failed": (OutcomeKind.FAILED, Cause.EXITED),
    "interrupted": (OutcomeKind.INTERRUPTED, Cause.STOPPED),
    "stale_cleanup": (OutcomeKind.INTERRUPTED, Cause.STALE),
}
_WORDS: Final = {
    OutcomeKind.SUCCEEDED: "completed",
    OutcomeKind.FAILED: "failed",
    OutcomeKind.INTERRUPTED: "interrupted",
}


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
            spec = TaskSpec(name, run="", accelerator="")
            number = insert(tx, queue, spec, 0, fresh, removed=True)
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


def import_runs(tx: Tx, job: int, runs: Sequence[OldRun], fresh: Fresh) -> None:
    """Take over the runs of a job's command: how they ended, nobody knows."""
    for run in runs:
        past = PastRun(job_id(job), None, run.ended, "stale_cleanup")
        row = _past(past, run.number, fresh.at) | {"job": job, "past_job": None}
        tx.insert(sql.INSERT_PAST, **row, task=None, token=fresh.new_id())


def _past(run: PastRun, count: int, at: str) -> dict[str, Any]:
    kind, cause = _PAST[run.status]
    began = moment(run.started) or moment(run.ended) or at
    return {
        "job": None,
        "past_job": run.job,
        "number": count,
        "run_id": "",
        "claimed_at": began,
        "started_at": moment(run.started),
        "ended_at": moment(run.ended) or began,
        "outcome": kind.value,
        "cause": cause.value,
    }
