"""A command line whose streams are kept and whose core is a fake."""

import io
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

import attrs
import pytest

from jobman_cli.front import Front
from jobman_cli.main import execute
from jobman_core.errors import Fault, InvalidInputError, JobmanError, NotFoundError
from jobman_core.interfaces.host import Entry
from jobman_core.models.attempt import Attempt
from jobman_core.models.billing import Bill, Lacking
from jobman_core.models.checkup import Examined
from jobman_core.models.event import Event
from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.listing import JobView
from jobman_core.models.outcome import Cause, HostExit, Outcome, OutcomeKind
from jobman_core.models.overview import Overview, QueueLook
from jobman_core.models.quota import Allowance, Holding, Quota
from jobman_core.models.reap import Dead, Fate, Reaped
from jobman_core.models.sample import Sample
from jobman_core.models.slice import Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.status import JobStatus
from jobman_core.models.storage import BucketSize, Tell
from jobman_core.models.task import Counters, Running, Task, TaskSpec, TaskStatus
from jobman_core.models.usage import Prices, Share, Usage
from jobman_core.models.v3 import TakenOver
from jobman_core.models.view import (
    Checked,
    Created,
    Done,
    Finding,
    HostView,
    JobDetail,
    LogChunk,
    Plan,
    QueueView,
    QueueWorkers,
    Solved,
    TaskDetail,
)

if TYPE_CHECKING:
    from jobman_core.app import App

NOW = datetime(2025, 3, 9, 14, 0, tzinfo=UTC)


@attrs.frozen
class Row:
    kind: str
    name: str
    distribution: str | None
    version: str | None
    error: str | None = None


def sum_of(shares: Sequence[Share]) -> Share:
    """Give what shares come to."""
    names = [field.name for field in attrs.fields(Share) if field.type in (float, int)]
    return Share("", **{name: sum(getattr(share, name) for share in shares) for name in names})


class FakeApp:
    """The facade, over lists; remembers what it was asked to do."""

    def __init__(self) -> None:
        self.home = Path("/home/alice/exp")
        self.made = False
        self.found = True
        self.warnings: list[str] = []
        self.user = "alice"
        self.group = ""
        self.time_zone: str | None = None
        self.jobs: dict[str, JobView] = {}
        self.tasks: dict[str, Task] = {}
        self.workers: dict[str, QueueWorkers] = {}
        self.problem = ""
        self.chunks: list[LogChunk] = []
        self.cleaned: list[Done] = []
        #: Of every attempt.
        self.hosts: tuple[int, ...] = (0,)
        self.faults: list[Fault] = []
        #: What is to be known of files without faults, or of a job that is started.
        self.notes: tuple[str, ...] = ()
        self.findings: list[Finding] = []
        self.holdings: list[Holding] = []
        self.buckets: list[BucketSize] = []
        #: What a cloud's books say, but for the span and the split.
        self.bill: Bill | Lacking = Bill(NOW, NOW, "service")
        self.others: list[tuple[str, str, Allowance]] = []
        #: Limits that could not be asked for.
        self.unasked: tuple[str, ...] = ()
        self.preparing = ""
        #: Of a report of usage.
        self.shares: list[Share] = []
        self.cost: float | None = 12.5
        self.recovery: float | None = None
        self.prices = Prices(date(2025, 3, 1), "USD", "a list of prices")
        self.dead: list[Dead] = []
        self.examined: list[Examined] = []
        #: What there is to see besides jobs, and how often anything has changed.
        self.slices: list[Slice] = []
        self.queue_looks: list[QueueLook] = []
        self.events: list[Event] = []
        self.version = 1
        self.of_v3 = TakenOver((), (), 0, 0, 0, (), ())
        self.unseen: list[tuple[str, str]] = []
        self.looked: tuple[str, ...] = ("us-central2-b of project lab",)
        #: What a dry run shows of a job's hosts: title, hosts, script.
        self.plan_steps = (("command", "all hosts", "echo hi\n\tpython train.py\n"),)
        #: What raises when a method is called with that as its first argument.
        self.errors: dict[tuple[str, object], BaseException] = {}
        #: What a job loses when it is started, and what is to be known of it besides.
        self.lost: tuple[str, ...] = ()
        self.calls: list[tuple[Any, ...]] = []
        self.opened: list[tuple[Path | None, bool]] = []
        self.echo: Callable[[str], None] | None = None
        self.ends_as = JobStatus.DONE
        #: What this process would have become, with its environment.
        self.became: list[tuple[list[str], Mapping[str, str]]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.echo = None

    # what tests put in

    def add_job(self, job: str, **changes: Any) -> JobView:
        view = JobView(
            id=job,
            user="alice",
            name=f"hello_{job}",
            accelerator="v4-8",
            zone="us-central2-b",
            ip="10.0.0.7",
            status=JobStatus.RUNNING,
            reason="its command",
            running="command",
            submitted=NOW - timedelta(hours=2),
            recoveries=1,
            cores=8,
            desired=Desired.RUNNING,
            controller=Liveness.ALIVE,
            began=NOW - timedelta(minutes=9),
            since=NOW - timedelta(minutes=10),
            ran=3600.0,
        )
        self.jobs[job] = attrs.evolve(view, **changes)
        return self.jobs[job]

    def add_task(
        self,
        task: str,
        status: TaskStatus = TaskStatus.PENDING,
        reason: str = "",
        *,
        running: Sequence[str] = (),
        counters: Counters | None = None,
        **spec: Any,
    ) -> None:
        wanted: dict[str, Any] = {"accelerator": "v4-8", **spec}
        self.tasks[task] = Task(
            queue="/home/alice/exp/tasks.yaml",
            spec=TaskSpec(task, "true", **wanted),
            counters=counters or Counters(),
            status=status,
            reason=reason,
            running=tuple(Running(job, NOW - timedelta(minutes=9), f"t-{job}") for job in running),
        )

    # what the core does

    def _call(self, method: str, *args: object, **kwargs: object) -> None:
        self.calls.append((method, *args, *(kwargs[key] for key in sorted(kwargs))))
        if args and (method, args[0]) in self.errors:
            raise self.errors[method, args[0]]

    async def create(
        self, config: Path, *, count: int = 1, start: bool = True, waived: Collection[str] = ()
    ) -> list[Created]:
        self._call("create", config, count=count, start=start, waived=waived)
        first = len(self.jobs) + 1
        jobs = [self.add_job(f"{first + i:06d}", status=JobStatus.QUEUEING) for i in range(count)]
        return [Created(job, ("env: is passed over, since there is no env_type",)) for job in jobs]

    async def plan(self, config: Path, *, waived: Collection[str] = ()) -> Plan:
        self._call("plan", config, waived=waived)
        return Plan(
            "hello",
            ("v4-8 in us-central2-b, spot",),
            self.plan_steps,
            ("something to know",),
        )

    async def validate(self, files: Sequence[Path]) -> Sequence[Checked]:
        self._call("validate", *files)
        found = {path: tuple(f for f in self.faults if Path(f.path) == path) for path in files}
        return [
            Checked(path, faults, () if faults else self.notes) for path, faults in found.items()
        ]

    async def init(self, folder: Path, sample: Sample, *, force: bool) -> Sequence[Path]:
        self._call("init", folder, sample, force=force)
        names = ("job.yaml",) if sample.command else ("worker.yaml", "tasks.yaml")
        return [Path("/here") / folder / name for name in names]

    async def import_v3(self, folder: Path, *, dry_run: bool) -> TakenOver:
        self._call("import_v3", folder, dry_run=dry_run)
        return self.of_v3

    def schema(self, file: str) -> Mapping[str, Any]:
        self._call("schema", file)
        return {"title": f"the schema of {file}"}

    async def list(
        self, *, mine: bool = False, deleted: bool = False, refresh: bool = False
    ) -> list[JobView]:
        self._call("list", mine=mine, deleted=deleted, refresh=refresh)
        return [
            view for view in self.jobs.values() if deleted or view.status is not JobStatus.DELETED
        ]

    async def resolve(self, jobs: Sequence[str]) -> Sequence[str]:
        found = []
        for name in jobs:
            fits = [job for job in self.jobs if job.endswith(name)]
            if len(fits) != 1:
                msg = f"there is no job {name}: `jobman list` shows all"
                raise NotFoundError(msg)
            found += fits
        return found

    async def show(self, job: str) -> JobDetail:
        (job,) = await self.resolve([job])
        request = SliceRequest("gcp", "v4-8", "us-central2-b", "spot")
        identity = SliceIdentity("hello-000001-g2", "us-central2-b", "uuid", "alice", job, 2)
        ready = NOW - timedelta(minutes=90)
        one = Attempt("t1", job, 1, 1, "r1", NOW - timedelta(hours=2), hosts=self.hosts)
        cut_short = Outcome(OutcomeKind.INTERRUPTED, Cause.PREEMPTED)
        failed = Outcome(OutcomeKind.FAILED, Cause.EXITED, (HostExit(2, 3),), "exit 3 on host 2")
        return JobDetail(
            job=self.jobs[job],
            slice=Slice(
                *(job, 2, request, identity, ready, "READY", SlicePhase.READY),
                ready_at=ready,
                detail="maintenance is pending",
            ),
            hosts=(HostView(0, "10.0.0.7", reachable=True), HostView(1, None)),
            attempts=(
                attrs.evolve(one, outcome=cut_short, ended_at=NOW - timedelta(hours=1)),
                attrs.evolve(
                    one,
                    number=2,
                    task="sweep",
                    started_at=NOW - timedelta(minutes=50),
                    ended_at=NOW - timedelta(minutes=40),
                    outcome=failed,
                ),
                attrs.evolve(one, number=3, started_at=NOW - timedelta(minutes=9)),
            ),
            events=(
                Event(7, NOW - timedelta(days=1), "job.created", "created by alice"),
                Event(9, NOW - timedelta(minutes=1), "slice.preempted", "its slice was preempted"),
            ),
            settings={"session": "tmux"},
            folder=self.home / "jobs" / "alice" / job,
        )

    async def run(
        self, job: str, *, force: bool = False, force_prefix: bool = False, cmd_only: bool = False
    ) -> JobView:
        self._call("run", job, force=force, force_prefix=force_prefix, cmd_only=cmd_only)
        assert self.echo is not None
        self.echo("asking for v4-8")
        return self.add_job(job, status=self.ends_as, running=None, reason="")

    async def _act(self, method: str, job: str, status: JobStatus, **options: bool) -> Done:
        self._call(method, job, **options)
        self.jobs[job] = attrs.evolve(self.jobs[job], status=status)
        return Done(job, status, f"{method} went well")

    async def resume(self, job: str, **options: bool) -> Done:
        return await self._start("resume", job, **options)

    async def reboot(self, job: str, **options: bool) -> Done:
        return await self._start("reboot", job, **options)

    async def _start(
        self, method: str, job: str, *, reload: bool, agreed: bool, **options: bool
    ) -> Done:
        if self.lost and not agreed:
            msg = f"job {job} {self.lost[0]}: add --yes if it may"
            raise InvalidInputError(msg)
        done = await self._act(method, job, JobStatus.RUNNING, reload=reload, **options)
        return attrs.evolve(done, notes=self.notes)

    async def losses(self, job: str, *, reload: bool = False) -> Sequence[str]:
        self._call("losses", job, reload=reload)
        return self.lost

    async def bring_back(self, job: str) -> Done:
        return await self._act("bring_back", job, JobStatus.RUNNING)

    async def unattended(self) -> Sequence[str]:
        return [job for job, view in self.jobs.items() if view.controller is Liveness.DEAD]

    async def stop(self, job: str) -> Done:
        return await self._act("stop", job, JobStatus.IDLE)

    async def requeue(self, job: str) -> Done:
        return await self._act("requeue", job, JobStatus.RUNNING)

    async def cancel(self, job: str) -> Done:
        return await self._act("cancel", job, JobStatus.CANCELLED)

    async def delete(self, job: str) -> Done:
        return await self._act("delete", job, JobStatus.DELETED)

    async def clean(self, job: str) -> Done:
        return await self._act("clean", job, JobStatus.DELETED)

    async def watch(self, after: int) -> AsyncIterator[Event]:
        self._call("watch", after)
        for job in list(self.jobs):
            for event in (await self.show(job)).events:
                yield event

    async def changes(self) -> int:
        self._call("changes", None)
        return self.version

    async def overview(self, known: Overview | None = None) -> Overview:
        self._call("overview", None)
        return Overview(
            tuple(self.jobs.values()),
            tuple(self.slices),
            tuple(self.queue_looks),
            tuple(self.events),
        )

    async def queue(self, path: Path | None) -> QueueView:
        self._call("queue", path)
        return QueueView(
            path or self.home / "tasks.yaml", tuple(self.tasks.values()), self.workers, self.problem
        )

    async def queue_task(self, path: Path | None, task: str) -> TaskDetail:
        self._call("queue_task", path, task)
        if task not in self.tasks:
            msg = f"there is no task {task}: `jobman queue --show-all` lists all"
            raise NotFoundError(msg)
        attempts = (await self.show(next(iter(self.jobs)))).attempts[1:]
        logs = (self.home / "jobs" / "tasks" / task / "run_002_job000001_worker_0.log",)
        return TaskDetail(self.tasks[task], attempts, logs)

    async def queue_running(self, path: Path | None, tasks: Sequence[str]) -> Sequence[str]:
        return [task for task in tasks if self.tasks[task].status is TaskStatus.RUNNING]

    async def match_tasks(
        self,
        path: Path | None,
        *,
        ids: Sequence[str] = (),
        pattern: str | None = None,
        all: bool = False,  # noqa: A002 - the facade's name
        failed: bool = False,
    ) -> Sequence[str]:
        self._call("match_tasks", path, ids=tuple(ids), pattern=pattern, all=all, failed=failed)
        return [
            task
            for task, found in self.tasks.items()
            if all
            or task in ids
            or (pattern and task.startswith(pattern.rstrip("*")))
            or (failed and found.status is TaskStatus.FAILED)
        ]

    async def reset(self, path: Path | None, tasks: Sequence[str]) -> None:
        self._call("reset", path, tuple(tasks))

    async def prioritize(self, path: Path | None, task: str) -> None:
        self._call("prioritize", path, task)

    async def mark_done(self, path: Path | None, task: str) -> None:
        self._call("mark_done", path, task)

    async def cleanup(self, path: Path | None) -> Sequence[Done]:
        self._call("cleanup", path)
        return self.cleaned

    async def logs(self, **options: object) -> AsyncIterator[LogChunk]:
        self._call("logs", **options)
        for chunk in self.chunks:
            several = chunk.number and options.get("worker") is None
            yield attrs.evolve(chunk, hosts=len(self.hosts)) if several else chunk

    async def attach(self, job: str) -> Sequence[str]:
        self._call("attach", job)
        return ["tmux", "-L", "jobman-1234", "attach", "-t", f"={job}"]

    async def ssh(self, job: str, *, worker: int = 0, argv: Sequence[str] = ()) -> Entry:
        self._call("ssh", job, worker=worker, argv=[*argv])
        return Entry(["ssh", "--", f"host-{worker}", *argv])

    async def billing(self, since: datetime, until: datetime, *, by: str) -> Bill | Lacking:
        self._call("billing", since, until, by=by)
        if isinstance(self.bill, Lacking):
            return self.bill
        return attrs.evolve(self.bill, since=since, until=until, by=by)

    async def storage(
        self, buckets: Sequence[str] = (), *, exact: bool = False, tell: Tell | None = None
    ) -> Sequence[BucketSize]:
        if exact and tell is not None:
            for size in self.buckets:
                tell(attrs.evolve(size, partial=True))
        self._call("storage", tuple(buckets), exact=exact)
        return self.buckets

    async def quota(self) -> Quota:
        self._call("quota")
        return Quota(tuple(self.holdings), tuple(self.others), self.unasked)

    async def solve(self, job: str, *, fix: bool = False) -> Solved:
        (job,) = await self.resolve([job])
        self._call("solve", job, fix=fix)
        return Solved(2, ("disk", "clock"), tuple(self.findings), self.preparing)

    async def usage(
        self, since: datetime, until: datetime, *, by: str = "user", mine: bool = False
    ) -> Usage:
        self._call("usage", since, until, by=by, mine=mine)
        total = attrs.evolve(sum_of(self.shares), cost=self.cost)
        shares = tuple(self.shares)
        return Usage(since, until, by, shares, total, self.prices, self.recovery, self.notes)

    async def chart(self, usage: Usage) -> bytes:
        self._call("chart", usage.by)
        return b"\x89PNG of " + usage.by.encode()

    async def bill_chart(self, bill: Bill) -> bytes:
        self._call("bill_chart", bill.by)
        return b"\x89PNG of a bill"

    async def reap(
        self,
        *,
        dry_run: bool = False,
        all: bool = False,  # noqa: A002 - the option's own word
    ) -> Reaped:
        self._call("reap", dry_run=dry_run, all=all)
        found = [
            attrs.evolve(each, fate=Fate.DUE if dry_run else Fate.DELETED)
            if each.fate in (Fate.DUE, Fate.DELETED)
            else each
            for each in self.dead
        ]
        return Reaped(tuple(found), tuple(self.unseen), self.looked)

    async def doctor(
        self, files: Sequence[Path] = (), plugins: Sequence[object] = (), *, offline: bool = False
    ) -> Sequence[Examined]:
        del plugins
        self._call("doctor", tuple(files), offline=offline)
        return self.examined

    def plugins(self) -> Sequence[Row]:
        return [
            Row("cloud", "local", "jobman-core", "0.1.0"),
            Row("plugin", "broken", "jobman-broken", "2.0", "ImportError: no module named x"),
        ]


class Stream(io.TextIOWrapper):
    """A stream that may say that it is a terminal."""

    def __init__(self, *, tty: bool) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty

    def text(self) -> str:
        buffer = self.buffer
        assert isinstance(buffer, io.BytesIO)
        return buffer.getvalue().decode("utf-8", "surrogateescape")


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Cli:
    """Calls jobman as a user does."""

    def __init__(self, app: FakeApp) -> None:
        self.app = app
        self.clock: Callable[[], datetime] = lambda: NOW

    def front(
        self,
        *,
        tty: bool = False,
        answer: str = "",
        columns: int = 80,
        env: dict[str, str] | None = None,
    ) -> Front:
        stdin = Stream(tty=tty)
        stdin.write(answer)
        stdin.seek(0)

        def open_app(home: Path | None, *, make: bool, echo: Callable[[str], None] | None) -> "App":
            self.app.opened.append((home, make))
            self.app.echo = echo
            return cast("App", self.app)

        return Front(
            stdin=stdin,
            stdout=Stream(tty=tty),
            stderr=Stream(tty=tty),
            env={"COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1", **(env or {})},
            open_app=open_app,
            now=self.clock,
            become=lambda program, argv, env: self.app.became.append((argv, env)),
        )

    def __call__(self, *argv: str, **world: Any) -> Result:
        front = self.front(**world)
        out, err = front.stdout, front.stderr
        assert isinstance(out, Stream)
        assert isinstance(err, Stream)
        code = execute(argv, front)
        return Result(code, out.text(), err.text())

    def colours(self, *argv: str, tty: bool = True) -> Result:
        return self(*argv, tty=tty, env={"NO_COLOR": ""})


@pytest.fixture
def app() -> FakeApp:
    return FakeApp()


@pytest.fixture
def cli(app: FakeApp, monkeypatch: pytest.MonkeyPatch) -> Cli:
    # Times are shown as they are here, and tests say what they look like.
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delitem(os.environ, "_JOBMAN_COMPLETE", raising=False)
    return Cli(app)


@pytest.fixture
def failure() -> JobmanError:
    return JobmanError("the cloud refused: ask for less")
