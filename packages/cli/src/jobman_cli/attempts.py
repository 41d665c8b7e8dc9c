"""Attempts as tables: those of a job, and those of a task."""

from datetime import datetime
from typing import TYPE_CHECKING

from jobman_cli import output
from jobman_cli.front import Front

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobman_core.models.attempt import Attempt


def by_task(front: Front, attempts: "Iterable[Attempt]", now: datetime) -> list[str]:
    """Give a job's attempts, and what each ran."""
    return _table(front, "WHAT", attempts, now)


def by_job(front: Front, attempts: "Iterable[Attempt]", now: datetime) -> list[str]:
    """Give a task's attempts, and which job each ran on."""
    return _table(front, "JOB", attempts, now)


def _table(front: Front, what: str, attempts: "Iterable[Attempt]", now: datetime) -> list[str]:
    table = output.Table(
        *("RUN", what, "STARTED", "LASTED", "OUTCOME", "CAUSE"),
        shrink=(what,),
        right=("RUN", "LASTED"),
    )
    for one in attempts:
        started = one.started_at or one.claimed_at
        ran = f"task {one.task}" if one.task else "command"
        table.add(
            str(one.number),
            one.job if what == "JOB" else ran,
            output.moment(started, now),
            output.span(((one.ended_at or now) - started).total_seconds()),
            output.status_cell(str(one.outcome.kind) if one.outcome else "running"),
            _cause(one),
        )
    return table.lines(front.room, front.paint, "  ")


def _cause(one: "Attempt") -> str:
    """Say why an attempt ended."""
    if one.outcome is None:
        return f"is being ended: {one.end_cause}" if one.end_cause else ""
    return one.outcome.detail or str(one.outcome.cause)
