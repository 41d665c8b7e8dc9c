"""Rows to models and back."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from sqlite3 import Row
from typing import Any

import attrs

from jobman_core.errors import (
    CloudError,
    NotFoundError,
    PermanentCloudError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.models.attempt import Attempt, AttemptMode
from jobman_core.models.event import Event
from jobman_core.models.job import Desired, Ending, EndingKind, Job, Step
from jobman_core.models.lease import Controller, Lease
from jobman_core.models.notice import NotifyRule
from jobman_core.models.outcome import HostExit, Outcome, OutcomeKind
from jobman_core.models.queue import Queue
from jobman_core.models.slice import (
    HostInfo,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
)
from jobman_core.models.task import Code, Counters, Repo, TaskSpec, Workers
from jobman_core.models.usage import Run, SliceLife

#: Writes JSON; what YAML knows and JSON does not, like a date, becomes text.
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
#: Still fits an INTEGER.
_LONGEST_ID = 15
#: What follows from an error of a cloud depends on which of these it is.
_REFUSALS = (PermanentCloudError, StockoutError, TransientCloudError)
_SPEC_FIELDS = tuple(field.name for field in attrs.fields(TaskSpec))


def job_number(job: str) -> int:
    """Read a job's id.

    Raises:
        NotFoundError: it is none.
    """
    if not (job.isascii() and job.isdigit()) or len(job) > _LONGEST_ID:
        raise NotFoundError(f"no job {job!r}: `jobman list --all` shows all")
    return int(job)


def job_id(number: int) -> str:
    """Write a job's id: six digits, more once there are a million jobs."""
    return f"{number:06d}"


def stamp(value: datetime) -> str:
    """Write a moment so that it sorts, and comes back the same."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def moment(value: datetime | None) -> str | None:
    """Write a moment that may not have come."""
    return None if value is None else stamp(value)


def _when(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def job_of(row: Row) -> Job:
    """Read a job."""
    ending = None
    if row["ending_kind"] is not None:
        ending = Ending(EndingKind(row["ending_kind"]), row["ending_reason"])
    return Job(
        id=job_id(row["id"]),
        user=row["user"],
        name=row["name"],
        base_name=row["base_name"],
        accelerator=row["accelerator"],
        zone=row["zone"],
        cloud=row["cloud"],
        session=row["session"],
        queue=row["queue"],
        spec_hash=row["spec_hash"],
        desired=Desired(row["desired"]),
        created_at=datetime.fromisoformat(row["created_at"]),
        step=Step(row["step"]),
        step_reason=row["step_reason"],
        step_at=_when(row["step_at"]),
        next_try=_when(row["next_try"]),
        desired_at=_when(row["desired_at"]),
        ending=ending,
        ended_at=_when(row["ended_at"]),
        epoch=row["epoch"],
        restarts=row["restarts"],
        recoveries=row["recoveries"],
        ran=row["ran"],
        avoid_task=row["avoid_task"],
        worker_num=row["worker_num"],
        notify=_notify_of(row["notify"]),
    )


def holder_of(row: Row) -> tuple[Lease, Controller]:
    """Read a lease and who has it."""
    controller = Controller(
        row["id"], row["machine"], row["boot_id"], row["pid"], row["pid_start"], row["beat"]
    )
    return Lease(job_id(row["job"]), row["id"], row["epoch"]), controller


def _request_text(request: SliceRequest) -> str:
    """Write a request: not whose keys its hosts were told to let in, and no option but who pays."""
    options = {key: request.options[key] for key in ("project",) if key in request.options}
    values = attrs.asdict(attrs.evolve(request, options=options))
    del values["public_keys"]
    return _json(values)


def slice_values(slice_: Slice) -> dict[str, Any]:
    """Write a slice."""
    return {
        "job": job_number(slice_.job),
        "generation": slice_.generation,
        "request": _request_text(slice_.request),
        "identity": _json(attrs.asdict(slice_.identity)),
        "hosts": _json([attrs.astuple(host) for host in slice_.hosts]),
        "requested_at": moment(slice_.requested_at),
        "state": slice_.state,
        "phase": slice_.phase.value,
        "detail": slice_.detail,
        "ready_at": moment(slice_.ready_at),
        "lost_at": moment(slice_.lost_at),
        "withdrawn": int(slice_.withdrawn),
        "gone_at": moment(slice_.gone_at),
    }


def slice_of(row: Row) -> Slice:
    """Read a slice."""
    return Slice(
        job=job_id(row["job"]),
        generation=row["generation"],
        request=SliceRequest(**json.loads(row["request"])),
        identity=SliceIdentity(**json.loads(row["identity"])),
        requested_at=datetime.fromisoformat(row["requested_at"]),
        state=row["state"],
        phase=SlicePhase(row["phase"]),
        hosts=tuple(HostInfo(*fields) for fields in json.loads(row["hosts"])),
        detail=row["detail"],
        ready_at=_when(row["ready_at"]),
        lost_at=_when(row["lost_at"]),
        withdrawn=bool(row["withdrawn"]),
        gone_at=_when(row["gone_at"]),
    )


def present_text(seen: Present) -> str:
    """Write what a look at a slice showed."""
    refusal = seen.refusal
    return _json(
        {
            "phase": seen.phase.value,
            "state": seen.state,
            "hosts": [attrs.astuple(host) for host in seen.hosts],
            "labels": dict(seen.labels),
            "detail": seen.detail,
            "refusal": None if refusal is None else [_kind_of(refusal), str(refusal)],
        }
    )


def present_of(text: str) -> Present:
    """Read what a look at a slice showed."""
    seen = json.loads(text)
    refusal = None
    if seen["refusal"] is not None:
        name, words = seen["refusal"]
        refusal = next((kind for kind in _REFUSALS if kind.__name__ == name), CloudError)(words)
    return Present(
        phase=SlicePhase(seen["phase"]),
        state=seen["state"],
        hosts=tuple(HostInfo(*host) for host in seen["hosts"]),
        labels=seen["labels"],
        detail=seen["detail"],
        refusal=refusal,
    )


def _kind_of(refusal: CloudError) -> str:
    return next((kind.__name__ for kind in _REFUSALS if isinstance(refusal, kind)), "")


def attempt_of(row: Row) -> Attempt:
    """Read an attempt."""
    outcome = None
    if row["outcome"] is not None:
        exits = tuple(HostExit(*exit_) for exit_ in json.loads(row["exits"]))
        outcome = Outcome(OutcomeKind(row["outcome"]), row["cause"], exits, row["detail"])
    return Attempt(
        token=row["token"],
        job=row["past_job"] if row["job"] is None else job_id(row["job"]),
        generation=row["generation"],
        number=row["number"],
        run_id=row["run_id"],
        claimed_at=datetime.fromisoformat(row["claimed_at"]),
        queue=row["queue_path"],
        task=row["task_name"],
        mode=AttemptMode(row["mode"]),
        stage=row["stage"],
        parent=row["parent"],
        hosts=tuple(json.loads(row["hosts"])),
        commit=row["code"],
        started_at=_when(row["started_at"]),
        end_cause=row["end_cause"],
        ended_at=_when(row["ended_at"]),
        outcome=outcome,
    )


def hosts_text(hosts: tuple[int, ...]) -> str:
    """Write host indices."""
    return _json(list(hosts))


def exits_text(exits: tuple[HostExit, ...]) -> str:
    """Write how hosts ended."""
    return _json([[exit_.host, exit_.code, exit_.tail] for exit_ in exits])


def queue_of(row: Row) -> Queue:
    """Read a queue."""
    return Queue(
        row["path"],
        row["folder"],
        row["content_hash"],
        row["problem"],
        row["changes"],
        _notify_of(row["notify"]),
    )


def notify_text(rule: NotifyRule | None) -> str:
    """Write who is told of what; empty: nobody has said."""
    return "" if rule is None else json.dumps({"to": rule.to, "of": rule.of})


def _notify_of(text: str) -> NotifyRule | None:
    return NotifyRule.of_data(json.loads(text)) if text else None


def spec_text(spec: TaskSpec) -> str:
    """Write an entry of a tasks file; equal entries give equal texts."""
    # By hand: a file may have a hundred thousand of them.
    data = {field: getattr(spec, field) for field in _SPEC_FIELDS}
    data["repo"] = None if spec.repo is None else {"url": spec.repo.url, "branch": spec.repo.branch}
    data["workers"] = {"indices": spec.workers.indices}
    if spec.code is None:
        # As it was written before there was any.
        del data["code"]
    else:
        data["code"] = attrs.asdict(spec.code)
    return _json(data)


def spec_of(text: str) -> TaskSpec:
    """Read an entry of a tasks file."""
    data = json.loads(text)
    indices = data["workers"]["indices"]
    data["workers"] = Workers(indices if indices == "all" else tuple(indices))
    data["repo"] = None if data["repo"] is None else Repo(**data["repo"])
    data["depends_on"] = tuple(data["depends_on"])
    if code := data.get("code"):
        data["code"] = Code(**{**code, "exclude": tuple(code["exclude"])})
    return TaskSpec(**data)


def counters_of(row: Row) -> Counters:
    """Read what has become of a task."""
    return Counters(
        done=bool(row["done"]),
        failed=bool(row["failed"]),
        fail_count=row["fail_count"],
        run_count=row["run_count"],
        running=row["running"],
        priority=bool(row["priority"]),
    )


def counters_values(counters: Counters) -> Mapping[str, int]:
    """Write what has become of a task."""
    return {
        "done": int(counters.done),
        "failed": int(counters.failed),
        "fail_count": counters.fail_count,
        "run_count": counters.run_count,
        "running": counters.running,
        "priority": int(counters.priority),
    }


def life_of(row: Row) -> SliceLife:
    """Read a slice for a report."""
    request = json.loads(row["request"])
    return SliceLife(
        job=job_id(row["job"]),
        name=row["name"],
        user=row["user"],
        generation=row["generation"],
        cloud=request["cloud"],
        accelerator=request["accelerator"],
        zone=request["zone"],
        pricing=request["pricing"],
        requested_at=datetime.fromisoformat(row["requested_at"]),
        ready_at=_when(row["ready_at"]),
        lost_at=_when(row["lost_at"]),
        gone_at=_when(row["gone_at"]),
        began_at=_when(row["began_at"]),
        resumed_at=_when(row["resumed_at"]),
        preparing=bool(row["preparing"]),
    )


def run_of(row: Row) -> Run:
    """Read an attempt for a report: by place, since there may be a hundred thousand."""
    job, generation, name, user, accelerator, queue, task = row[:7]
    claimed, started, ended, outcome, final = row[7:]
    return Run(
        job=job_id(job),
        generation=generation,
        name=name,
        user=user,
        accelerator=accelerator,
        claimed_at=datetime.fromisoformat(claimed),
        queue=queue,
        task=task,
        started_at=_when(started),
        ended_at=_when(ended),
        outcome=None if outcome is None else OutcomeKind(outcome),
        final=bool(final),
    )


def event_of(row: Row) -> Event:
    """Read an event."""
    return Event(
        id=row["id"],
        at=datetime.fromisoformat(row["at"]),
        kind=row["kind"],
        text=row["text"],
        job=None if row["job"] is None else job_id(row["job"]),
        queue=row["queue"],
        task=row["task"],
    )
