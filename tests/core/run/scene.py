"""One job on a cloud in memory, with time in the test's hand."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import attrs
from tests.support.mortal import Mortal

from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobDraft, JobRecord, Note
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import CommandMode, Desired, JobSpec, Loop, QueueMode
from jobman_core.models.slice import SliceRequest
from jobman_core.models.task import QueueDefinition, TaskSpec
from jobman_core.plugins import Plugins
from jobman_core.queue.service import QueueService
from jobman_core.run.context import JobContext
from jobman_core.run.controller import Controller
from jobman_core.run.journal import Journal
from jobman_core.run.lease import Tenure, Terms
from jobman_core.run.scribe import Scribe
from jobman_core.run.wind_down import wind_down
from jobman_core.testing.fakes import FakeClock, FakeCloud, FakeFleet

_T = TypeVar("_T")
#: Seconds of the fake clock that pass between two looks.
STEP = 0.25


class Scene:
    """A store, a fake cloud, and one job that a controller can be started for."""

    def __init__(self, root: Path, **spec: Any) -> None:
        self.clock = FakeClock()
        self.home = Home(root)
        self.home.state.mkdir(parents=True)
        self.store = SqliteStore(Context(root, "", self.clock), busy=0.1)
        self.cloud = FakeCloud(Context(root, "home-1", self.clock))
        self.plugins = Plugins()
        self.tasks: tuple[TaskSpec, ...] = ()
        self.environment: Any = None
        self.storages: tuple[Any, ...] = ()
        self.set_up = True
        self.stuck_after = 3600.0
        self.queue_file = (root / "tasks.yaml").resolve()
        here = SliceRequest("fake", "v4-8", "here")
        self.spec = attrs.evolve(
            JobSpec("job_1", "job-1", CommandMode("echo hello\nsleep"), (here,)), **spec
        )
        self.said: list[str] = []
        self.scribe = Scribe()
        self.driving: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self.store.open()
        self.queues = QueueService(self.store, self.home, self.clock, self._read)
        queue = None
        if isinstance(self.spec.work, QueueMode):
            self.queue_file.write_text("tasks")
            queue = (await self.queues.open(self.queue_file)).path
        draft = JobDraft("ada", "job", "v4-8", "here", "fake", "process", queue, None)
        job = await self.store.draft_job(draft)
        await self.store.publish_job(job.id, spec_hash="")
        await self.store.set_desired(job.id, Desired.RUNNING, Note("job.started", "starts"))
        self.job = job.id
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.crash()
        await self.scribe.aclose()
        await self.store.aclose()

    def _read(self, path: Path) -> QueueDefinition:
        import hashlib

        return QueueDefinition(self.tasks, hashlib.sha256(path.read_bytes()).hexdigest())

    def start(self, mortal: Mortal | None = None) -> None:
        """Start a controller; a mortal one has its own way to store, cloud and hosts."""
        self.driving = asyncio.create_task(self._drive(mortal))

    def bring_back(self, mortal: Mortal | None = None) -> None:
        """Do what ``resume --all`` does for a job without a controller."""
        self.driving = asyncio.create_task(self._drive(mortal, back=True))

    async def _drive(self, mortal: Mortal | None, *, back: bool = False) -> None:
        async with self.acting(mortal) as ctx:
            record = await ctx.record()
            if back and (record.job.ending or record.job.desired is not Desired.RUNNING):
                await wind_down(ctx)
            else:
                await Controller(ctx, record).drive()

    @contextlib.asynccontextmanager
    async def acting(self, mortal: Mortal | None = None) -> AsyncIterator[JobContext]:
        """Hold the job's lease for the length of a block."""
        store = mortal.store(self.store) if mortal else self.store
        async with Tenure(store, self.clock, Terms()) as tenure:
            record = await store.record(self.job)
            async with tenure.lease(record) as lease:
                logs = self.home.logs("ada", self.job)
                yield JobContext(
                    job=record.job,
                    spec=self.spec,
                    lease=lease,
                    tenure=tenure,
                    store=store,
                    cloud=mortal.cloud(self.cloud) if mortal else self.cloud,
                    home=self.home,
                    clock=self.clock,
                    journal=Journal(logs, self.clock, self.scribe, self.said.append),
                    scribe=self.scribe,
                    plugins=self.plugins,
                    queues=QueueService(store, self.home, self.clock, self._read),
                    environment=self.environment,
                    storages=self.storages,
                    set_up=self.set_up,
                    stuck_after=self.stuck_after,
                )

    async def crash(self) -> None:
        """Let the controller be gone from one moment to the next."""
        if self.driving is not None:
            while not self.driving.done():
                # A crash cannot be put off, wherever it strikes.
                self.driving.cancel()
                await asyncio.wait([self.driving], timeout=1)
            await asyncio.gather(self.driving, return_exceptions=True)
            self.driving = None

    async def over(self) -> None:
        """Let time pass until the controller has ended; its error is raised."""
        assert self.driving is not None
        await self.until(lambda: self.driving is None or self.driving.done())
        await self.driving

    async def pass_time(self, seconds: float) -> None:
        """Let so much time pass, in small steps."""
        step = max(STEP, seconds / 200)
        for _ in range(round(seconds / step)):
            await asyncio.sleep(0.001)
            await self.clock.advance(step)

    async def until(self, look: Callable[[], _T | None], *, limit: float = 1000) -> _T:
        """Let time pass until something is so, and give it."""
        for _ in range(round(limit / STEP)):
            if seen := look():
                return seen
            # The store's thread works in real time, for a moment.
            await asyncio.sleep(0.001)
            await self.clock.advance(STEP)
        raise AssertionError("in vain:\n" + "\n".join(self.said))

    async def record(self) -> JobRecord:
        return await self.store.record(self.job)

    async def attempts(self) -> list[Attempt]:
        return list(await self.store.attempts(job=self.job))

    async def outcomes(self) -> list[tuple[str, str]]:
        """Give kind and cause of each attempt's end."""
        return [
            (a.outcome.kind.value, a.outcome.cause) if a.outcome else ("live", "")
            for a in await self.attempts()
        ]

    async def at_once(self, look: Callable[[], Awaitable[_T | None]]) -> _T:
        """Give something once it is so, in no more time.

        The store's thread works in real time; the clock stands still for it.
        """
        for _ in range(5000):
            if seen := await look():
                return seen
            await asyncio.sleep(0.001)
        raise AssertionError("in vain:\n" + "\n".join(self.said))

    async def first_end(self) -> tuple[str, str]:
        """Give kind and cause of the first attempt's end once it is on record, in no more time."""

        async def ended() -> tuple[str, str] | None:
            end = (await self.outcomes())[0]
            return None if end == ("live", "") else end

        return await self.at_once(ended)

    async def kinds(self) -> list[str]:
        """Give what happened to the slices."""
        events = await self.store.events(job=self.job)
        return [event.kind for event in events if event.kind.startswith("slice.")]

    def fleet(self) -> FakeFleet | None:
        """Give the hosts of the only slice."""
        return next((s.fleet for s in self.cloud.slices.values()), None)

    def running(self) -> str | None:
        """Give the token of what runs."""
        fleet = self.fleet()
        states: Mapping[Any, Any] = fleet.programs if fleet else {}
        return next((t for (t, _), p in states.items() if p.state.value == "RUNNING"), None)

    async def until_running(self) -> tuple[FakeFleet, str]:
        """Let time pass until a program runs."""
        token = await self.until(self.running)
        fleet = self.fleet()
        assert fleet is not None
        return fleet, token


def loop(**more: Any) -> dict[str, Any]:
    """Give the settings of a job that recovers."""
    return {"loop": Loop.RECOVER, **more}
