"""What ``--json`` prints: the shapes that scripts rely on, made of the core's views."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from jobman_core.errors import Fault
    from jobman_core.models.attempt import Attempt
    from jobman_core.models.billing import Bill, Portion
    from jobman_core.models.checkup import Checkup
    from jobman_core.models.event import Event
    from jobman_core.models.listing import JobView
    from jobman_core.models.quota import Holding, Quota
    from jobman_core.models.reap import Reaped
    from jobman_core.models.slice import Slice
    from jobman_core.models.storage import BucketSize
    from jobman_core.models.task import Task
    from jobman_core.models.usage import Share, Usage
    from jobman_core.models.v3 import TakenOver
    from jobman_core.models.view import (
        Created,
        Done,
        Finding,
        JobDetail,
        Plan,
        QueueView,
        TaskDetail,
    )

Document = dict[str, Any]


class PluginRow(Protocol):
    """A line of ``plugins``, wherever it comes from."""

    @property
    def kind(self) -> str:
        """What it provides."""

    @property
    def name(self) -> str:
        """What files call it."""

    @property
    def distribution(self) -> str | None:
        """What was installed."""

    @property
    def version(self) -> str | None:
        """Of the distribution."""

    @property
    def error(self) -> str | None:
        """Why it did not load."""


def time(at: datetime | None) -> str | None:
    """Give a moment: ISO 8601, UTC, ``Z``."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def created(made: "Created") -> Document:
    """Give a job that was created."""
    return {"id": made.job.id, "name": made.job.name, "status": str(made.job.status)}


def plan(plan: "Plan") -> Document:
    """Give what a job would ask for and run."""
    return {
        "name": plan.name,
        "cloud": list(plan.cloud),
        "steps": [
            {"title": title, "hosts": hosts, "script": script}
            for title, hosts, script in plan.steps
        ],
        "notes": list(plan.notes),
    }


def job(view: "JobView") -> Document:
    """Give a job as ``list`` has it."""
    return {
        "id": view.id,
        "user": view.user,
        "name": view.name,
        "accelerator": view.accelerator,
        "zone": view.zone,
        "ip": view.ip,
        "status": str(view.status),
        "reason": view.reason or None,
        "running": view.running,
        "submitted": time(view.submitted),
        "recoveries": view.recoveries,
        "since": time(view.since),
        "began": time(view.began),
        "ended": time(view.ended),
        "ran": round(view.ran, 1),
        "progress": None if view.progress is None else _progress(*view.progress),
        "next_try": time(view.next_try),
    }


def _progress(done: int, tasks: int) -> Document:
    return {"done": done, "tasks": tasks}


def detail(detail: "JobDetail") -> Document:
    """Give all about a job."""
    return {
        **job(detail.job),
        "folder": str(detail.folder),
        "settings": dict(detail.settings),
        "slice": slice_(detail.slice) if detail.slice else None,
        "hosts": [
            {"index": host.index, "ip": host.ip, "reachable": host.reachable}
            for host in detail.hosts
        ],
        "attempts": [attempt(one) for one in detail.attempts],
        "events": [event(one) for one in detail.events],
    }


def slice_(found: "Slice") -> Document:
    """Give the newest slice of a job."""
    return {
        "name": found.identity.name,
        "generation": found.generation,
        "cloud": found.request.cloud,
        "accelerator": found.request.accelerator,
        "zone": found.request.zone,
        "pricing": found.request.pricing,
        "state": found.state,
        "detail": found.detail or None,
        "requested": time(found.requested_at),
        "ready": time(found.ready_at),
        "lost": time(found.lost_at),
        "gone": time(found.gone_at),
        "costs": found.costs,
    }


def attempt(one: "Attempt") -> Document:
    """Give an attempt; what has not ended has no outcome."""
    outcome = one.outcome
    return {
        "number": one.number,
        "task": one.task,
        "started": time(one.started_at or one.claimed_at),
        "ended": time(one.ended_at),
        "outcome": str(outcome.kind) if outcome else None,
        "cause": str(outcome.cause) if outcome else None,
        "exit_code": outcome.exit_code if outcome else None,
    }


def event(one: "Event") -> Document:
    """Give an event."""
    return {"id": one.id, "at": time(one.at), "kind": one.kind, "text": one.text}


def queue(view: "QueueView") -> Document:
    """Give a queue with all its tasks, the hidden ones marked."""
    return {
        "path": str(view.path),
        "problem": view.problem or None,
        "tasks": [task(one) for one in view.tasks],
        "workers": {
            accelerator: {
                "working": list(workers.working),
                "idle": list(workers.idle),
                "waiting": list(workers.waiting),
                "stopped": list(workers.stopped),
            }
            for accelerator, workers in view.workers.items()
        },
    }


def task(one: "Task") -> Document:
    """Give a task as ``queue`` has it."""
    spec, counters = one.spec, one.counters
    return {
        "id": spec.id,
        "accelerator": spec.accelerator,
        "zone": spec.zone,
        "status": str(one.status),
        "reason": one.reason or None,
        "priority": counters.priority,
        "running": [running.job for running in one.running],
        "started": time(min((running.started for running in one.running), default=None)),
        "next_try": time(one.next_try),
        "run_count": counters.run_count,
        "fail_count": counters.fail_count,
        "max_jobs": spec.max_jobs,
        "max_retries": spec.max_retries,
        "depends_on": list(spec.depends_on),
        "hidden": spec.hide,
    }


def task_detail(found: "TaskDetail") -> Document:
    """Give a task with its history and where its logs are."""
    return {
        **task(found.task),
        "attempts": [{**attempt(one), "job": one.job} for one in found.attempts],
        "logs": [str(path) for path in found.logs],
    }


def done(found: "Done") -> Document:
    """Give what became of one of several jobs."""
    return {
        "id": found.id,
        "status": str(found.status) if found.status else None,
        "error": str(found.error) if found.error else None,
    }


def finding(found: "Finding") -> Document:
    """Give what is wrong on a host."""
    return {
        "host": found.host,
        "name": found.name,
        "problem": found.problem,
        "remedy": found.remedy or None,
        "mendable": found.mendable,
        "fixed": found.fixed,
        "why": found.why or None,
    }


def checkup(group: str, found: "Checkup") -> Document:
    """Give how one thing stands that jobman needs."""
    return {
        "group": group,
        "name": found.name,
        "health": str(found.health),
        "text": found.text,
        "remedy": found.remedy or None,
    }


def usage(found: "Usage") -> Document:
    """Give a report of what was used: hours are chip-hours."""
    return {
        "since": time(found.since),
        "until": time(found.until),
        "by": found.by,
        "currency": found.prices.currency,
        "prices_of": found.prices.of.isoformat() if found.prices.of else None,
        "shares": [share(one) for one in found.shares],
        "total": share(found.total),
        "recovery_seconds": None if found.recovery is None else round(found.recovery, 1),
        "notes": list(found.notes),
    }


def share(one: "Share") -> Document:
    """Give one line of a report; the total has no name."""
    return {
        "name": one.name,
        "note": one.note or None,
        "hours": round(one.hours, 4),
        "running": round(one.running, 4),
        "preparing": round(one.preparing, 4),
        "idle": round(one.idle, 4),
        "waiting": round(one.waiting, 4),
        "goodput": None if one.goodput is None else round(one.goodput, 4),
        "cost": None if one.cost is None else round(one.cost, 4),
        "preemptions": one.preemptions,
        "finished": one.finished,
        "failed": one.failed,
    }


def fault(found: "Fault") -> Document:
    """Give what is wrong with a file."""
    return {
        "path": found.path,
        "line": found.line,
        "column": found.column,
        "key": found.key,
        "message": found.message,
    }


def plugin(row: PluginRow) -> Document:
    """Give a plugin."""
    return {
        "kind": row.kind,
        "name": row.name,
        "distribution": row.distribution,
        "version": row.version,
        "error": row.error,
    }


def log(lines: Mapping[tuple[str | None, int, int], bytes]) -> list[Document]:
    """Give logs: a text for each host of each attempt."""
    return [
        {"task": name, "run": number, "worker": worker, "text": data.decode("utf-8", "replace")}
        for (name, number, worker), data in lines.items()
    ]


def quota(found: "Quota") -> Document:
    """Give what the accounts hold and may hold."""
    return {
        "chips": [_holding(each) for each in found.holdings],
        "others": [
            {
                "cloud": cloud,
                "project": project or None,
                "place": each.place,
                "what": each.what,
                "unit": each.unit or None,
                "used": each.used,
                "limit": each.limit,
            }
            for cloud, project, each in found.others
        ],
        "unknown": list(found.unknown),
    }


def _holding(held: "Holding") -> Document:
    counts = ("ready", "waiting", "dead", "uncounted")
    return {
        "cloud": held.cloud,
        "project": held.project or None,
        "zone": held.zone or None,
        "family": held.family or None,
        "sizes": held.sizes or None,
        "pricing": held.pricing or None,
        **{name: None if held.trouble else getattr(held, name) for name in counts},
        "limit": held.limit,
        "limited_in": held.limited_in or None,
        "used": held.used,
        "error": held.trouble or None,
    }


def reaped(found: "Reaped") -> Document:
    """Give what a reaper saw and did."""
    return {
        "found": [
            {
                "cloud": each.cloud,
                "project": each.project or None,
                "zone": each.zone,
                "name": each.name,
                "state": each.state,
                "why": each.why,
                "ours": each.ours,
                "fate": str(each.fate),
                "since": time(each.since),
                "due": time(each.due),
                "owner": each.owner,
                "job": each.job,
                "trouble": each.trouble or None,
            }
            for each in found.found
        ],
        "unseen": [{"zone": zone, "reason": reason} for zone, reason in found.unseen],
    }


def bucket_size(found: "BucketSize") -> Document:
    """Give what a bucket holds."""
    live = found.total()
    known = found.as_of is not None
    return {
        "storage": found.storage or None,
        "bucket": found.bucket or None,
        "location": found.location or None,
        "objects": live.objects if known else None,
        "bytes": live.bytes if known else None,
        "as_of": time(found.as_of),
        "exact": found.exact,
        "partial": found.partial,
        "amounts": [
            {key: value for key, value in row.items() if key != "bucket"} for row in amounts(found)
        ],
        "error": found.trouble or None,
    }


def amounts(found: "BucketSize") -> list[Document]:
    """Give what a bucket holds by folder, class and state, as rows."""
    return [
        {
            "bucket": found.bucket,
            "folder": each.folder,
            "class": each.storage_class or None,
            "state": str(each.state),
            "objects": each.objects,
            "bytes": each.bytes,
        }
        for each in found.amounts
    ]


def bill(found: "Bill") -> Document:
    """Give a bill."""
    return {
        "since": time(found.since),
        "until": time(found.until),
        "by": found.by,
        "portions": [portion(each) for each in found.portions],
        "totals": [portion(each) for each in found.totals],
        "sources": list(found.sources),
        "written": time(found.written),
        "bytes_read": found.read,
        "experimental": True,
    }


def portion(found: "Portion") -> Document:
    """Give a part of a bill."""
    return {
        "name": found.name or None,
        "currency": found.currency,
        "net": round(found.net, 6),
        "cost": round(found.cost, 6),
        "credits": round(found.credits, 6),
    }


def taken_over(found: "TakenOver") -> Document:
    """Give what was taken over from Jobman v3."""
    return {
        "jobs": [
            {
                "old_id": job.old_id,
                "id": job.id,
                "user": job.user,
                "name": job.name,
                "slice": {
                    "name": job.slice.name,
                    "zone": job.slice.zone,
                    "delete": job.slice.remedy,
                },
            }
            for job in found.jobs
        ],
        "queues": [str(path) for path in found.queues],
        "files": found.files,
        "size": found.size,
        "known": found.known,
        "notes": [*found.notes],
        "problems": [*found.problems],
    }
