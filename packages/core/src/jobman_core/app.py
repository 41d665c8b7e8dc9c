"""The facade that front ends call, and the only place that wires the parts together.

``async with App.at(None) as app: jobs = await app.list()``
"""

import asyncio
import getpass
import os
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from jobman_core.builtin import builtins
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.clock import Clock, SystemClock, to_text
from jobman_core.config.settings import load_settings
from jobman_core.errors import InvalidInputError, NotFoundError
from jobman_core.files import make_folder
from jobman_core.home import Home, find_home
from jobman_core.hub import Hub
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.attempt import Attempt
from jobman_core.models.event import Event
from jobman_core.models.listing import JobView
from jobman_core.models.settings import Settings
from jobman_core.models.slice import SlicePhase
from jobman_core.models.task import QueueDefinition, TaskStatus
from jobman_core.views import job_view

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.config.surroundings import Surroundings
    from jobman_core.interfaces.host import Entry
    from jobman_core.jobs import Jobs
    from jobman_core.logs import Selection
    from jobman_core.models.view import (
        Checked,
        Created,
        Done,
        JobDetail,
        LogChunk,
        Plan,
        QueueView,
        Solved,
        TaskDetail,
    )
    from jobman_core.plugins import PluginRow, Plugins
    from jobman_core.queues import Queues
    from jobman_core.run.host_step import Marks

#: How many of a job's newest events and attempts ``show`` gives.
_EVENTS: Final = 200


_T = TypeVar("_T")


def run(main: Coroutine[Any, Any, _T]) -> _T:
    """Run a front end's coroutine in a loop that waits for processes without a thread each."""
    found: list[_T] = []

    async def keep() -> None:
        # Not returned: when the loop ends, Python 3.11 writes out the main task's whole result, to
        # no end (its signal module makes a text of every handler that it is asked for).
        found.append(await main)

    if sys.version_info >= (3, 12):
        # It does so by itself where the kernel has pidfd.
        asyncio.run(keep())
        return found[0]
    policy = asyncio.get_event_loop_policy()
    before = policy.get_child_watcher()
    policy.set_child_watcher(asyncio.PidfdChildWatcher())
    try:
        asyncio.run(keep())
    finally:
        # Loops of other threads could start no process with ours.
        policy.set_child_watcher(before)
    return found[0]


class App:
    """A home, opened by a person. An asynchronous context manager."""

    def __init__(
        self,
        home: Home,
        *,
        make: bool = False,
        user: str | None = None,
        clock: Clock | None = None,
        plugins: "Plugins | None" = None,
        store: Callable[[Context], Store] = SqliteStore,
        echo: Callable[[str], None] | None = None,
    ) -> None:
        """Name a home; nothing is touched before the block is entered.

        Args:
            home: where everything lies.
            make: create the home if there is none; :attr:`made` then says so.
            user: who acts; by default ``$USER``, else the process's user.
            clock: the machine's, unless a test has its own.
            plugins: those installed, unless a test has its own.
            store: makes the store of the home.
            echo: gets what controllers in this process say, a line each.
        """
        self._home = home
        self._make = make
        self.user = user or os.environ.get("USER") or getpass.getuser()
        self._clock = clock or SystemClock()
        self._plugins = plugins
        self._make_store = store
        self._echo = echo
        self._opened: Hub | None = None
        #: What is wrong with the tasks files of the jobs that were looked at.
        self._problems: list[str] = []
        #: The home did not exist before.
        self.made = False

    @classmethod
    def at(
        cls,
        home: Path | None,
        *,
        make: bool = False,
        echo: Callable[[str], None] | None = None,
    ) -> "App":
        """Name the home that a command means: the one given, else JOBMAN_HOME, else upward."""
        root = find_home(home, os.environ.get("JOBMAN_HOME"), Path.cwd())
        return cls(Home(root), make=make, echo=echo)

    @property
    def home(self) -> Path:
        """The home folder."""
        return self._home.root

    @property
    def found(self) -> bool:
        """Whether there is a home there; known once something was asked of it."""
        return self._opened is not None

    @property
    def warnings(self) -> Sequence[str]:
        """What people should know beside what they asked for, as the last look found it."""
        hindrance = self._opened.hindrance if self._opened else ""
        if not hindrance:
            return self._problems
        paused = "workers pause, and go on by themselves once the home can be written"
        return [f"{paused}; programs run on: {hindrance}", *self._problems]

    @property
    def time_zone(self) -> str | None:
        """The zone that times are shown in, like ``Europe/Paris``; None: the machine's."""
        return self._settings().time_zone

    async def __aenter__(self) -> Self:
        """Begin; the home is opened by what first needs it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        if self._opened is not None:
            await self._opened.aclose()

    # -- jobs ------------------------------------------------------------------------------

    async def create(
        self,
        config: Path,
        *,
        count: int = 1,
        start: bool = True,
        waived: Collection[str] = (),
    ) -> "list[Created]":
        """Check a job file, record so many jobs of it, and start them.

        Args:
            config: the file.
            count: how many.
            start: they are wanted running.
            waived: the options whose problems are passed over: ``--force-region``.

        Raises:
            ConfigError: the file, or its tasks file, has faults; nothing was created.
        """
        from jobman_core.create import ask_storages, check_job_file, create_jobs
        from jobman_core.models.view import Created
        from jobman_core.starting import Starter

        if count < 1:
            msg = f"count {count}: at least one job"
            raise InvalidInputError(msg)
        around = self._surroundings()
        file = await asyncio.to_thread(check_job_file, config, around)
        file = await ask_storages(file, around, waived)
        hub = await self._ready(make=True)
        created = await create_jobs(hub, file, count)
        if start:
            try:
                await Starter(hub).start_all(created)
            except asyncio.CancelledError:
                which = created[0] if count == 1 else f"{created[0]} to {created[-1]}"
                told = "`jobman list` shows what they do, `jobman delete` takes them off"
                self._problems = [f"interrupted: {which} stand recorded, started or not: {told}"]
                raise
        return [Created(await self._view(job), file.notes) for job in created]

    async def plan(self, config: Path, *, waived: Collection[str] = ()) -> "Plan":
        """Say what a job file would ask of the cloud and run on the hosts; nothing is done.

        Raises:
            ConfigError: as :meth:`create` would.
        """
        from jobman_core.create import ask_storages, check_job_file, plan_of

        await self._if_there()
        around = self._surroundings()
        file = await asyncio.to_thread(check_job_file, config, around)
        file = await ask_storages(file, around, waived)
        return await plan_of(file, around, self.user)

    async def validate(self, files: Sequence[Path]) -> "Sequence[Checked]":
        """Check job and tasks files; no cloud is asked and no home needed."""
        from jobman_core.create import validate_file

        around = self._surroundings()
        return [await asyncio.to_thread(validate_file, path, around) for path in files]

    async def list(
        self, *, mine: bool = False, deleted: bool = False, refresh: bool = False
    ) -> Sequence[JobView]:
        """Give all jobs, oldest first."""
        hub = await self._if_there()
        if hub is None:
            return []
        if refresh:
            await (await self._jobs()).ask_clouds()
        records = [
            record
            for record in await hub.store.records(deleted=deleted)
            if not mine or record.job.user == self.user
        ]
        await hub.look_around(records)
        await self._note_problems(hub, records)
        return [job_view(record, hub.liveness(record)) for record in records]

    async def show(self, job: str) -> "JobDetail":
        """Give all about one job."""
        from jobman_core.models.view import HostView, JobDetail

        hub = await self._ready()
        record = await hub.record(job)
        await hub.look_around([record])
        await self._note_problems(hub, [record])
        slice_ = record.slice if record.slice and record.slice.held else None
        hosts = tuple(HostView(h.index, h.ip) for h in slice_.hosts) if slice_ else ()
        events = await hub.store.events(job=record.job.id, limit=1_000_000)
        return JobDetail(
            job=job_view(record, hub.liveness(record)),
            slice=record.slice,
            hosts=hosts,
            attempts=tuple(await hub.store.attempts(job=record.job.id)),
            events=tuple(events[-_EVENTS:]),
            settings=_settings_of(record),
            folder=hub.home.job(record.job.user, record.job.id),
        )

    async def resolve(self, jobs: Sequence[str]) -> Sequence[str]:
        """Give full ids."""
        hub = await self._ready()
        return [await hub.resolve(job) for job in jobs]

    async def run(
        self,
        job: str,
        *,
        force: bool = False,
        force_prefix: bool = False,
        cmd_only: bool = False,
    ) -> JobView:
        """Be a job's controller here, until it is over.

        Raises:
            HeldError: a live controller has it.
        """
        hub = await self._ready()
        job = await hub.resolve(job)
        await (await self._jobs()).run_here(
            job, set_up=not cmd_only, again=_again(force, force_prefix)
        )
        return await self._view(job)

    async def drive(self, job: str) -> None:
        """Be a job's controller in its session."""
        jobs = await self._jobs()
        wishes = asyncio.create_task(jobs.finish_wishes())
        try:
            await jobs.drive(job, in_session=True)
        finally:
            # What is not finished stays on the books, for the next one.
            wishes.cancel()
            await asyncio.gather(wishes, return_exceptions=True)

    async def serve(self, say: Callable[[str], None]) -> None:
        """Be the controller of all jobs that share a process, until there is none any more.

        Args:
            say: gets what is to be said about the process itself, a line each.
        """
        from jobman_core.builtin.shared_session import SharedSettings
        from jobman_core.process import Roster
        from jobman_core.shared import SharedController

        hub = await self._ready()
        jobs = await self._jobs()
        roster = Roster.of_home(self.home, os.getuid())
        settings = SharedSettings(**hub.settings.backend("session", "shared"))
        await SharedController(hub, jobs, roster, idle=settings.idle, say=say).serve()

    async def resume(
        self,
        job: str,
        *,
        force: bool = False,
        force_prefix: bool = False,
        reload: bool = False,
        agreed: bool = False,
    ) -> "Done":
        """Start a job that does not run, with its file as it stands now.

        Args:
            job: its id.
            force: set its hosts up again, also what is done already.
            force_prefix: the same of prefix scripts alone.
            reload: start it with the file that it was created from, as that stands now.
            agreed: what the job :meth:`loses <losses>` may go.
        """
        again = _again(force, force_prefix)
        return await (await self._jobs()).resume(job, again=again, reload=reload, agreed=agreed)

    async def losses(self, job: str, *, reload: bool = False) -> Sequence[str]:
        """Give what a job loses by its edited file with the next start; to be read after its id."""
        return await (await self._jobs()).losses(job, reload=reload)

    async def unattended(self) -> Sequence[str]:
        """Give the jobs that ``resume --all`` is for.

        Raises:
            NotFoundError: there is no home: one that was meant is not to look like an empty one.
        """
        return await (await self._jobs()).unattended()

    async def bring_back(self, job: str) -> "Done":
        """Do for one of them what is open."""
        return await (await self._jobs()).bring_back(job)

    async def stop(self, job: str) -> "Done":
        """End what runs; a slice that is ready stays, and costs."""
        return await (await self._jobs()).stop(job)

    async def reboot(
        self,
        job: str,
        *,
        force: bool = False,
        force_prefix: bool = False,
        reload: bool = False,
        agreed: bool = False,
    ) -> "Done":
        """Stop a job and start it again, with its file as it stands now; see :meth:`resume`."""
        again = _again(force, force_prefix)
        return await (await self._jobs()).reboot(job, again=again, reload=reload, agreed=agreed)

    async def requeue(self, job: str) -> "Done":
        """Let a queue worker give its task back and take another."""
        return await (await self._jobs()).requeue(job)

    async def cancel(self, job: str) -> "Done":
        """End what runs, and give the slice back; the job stays listed."""
        return await (await self._jobs()).cancel(job)

    async def delete(self, job: str) -> "Done":
        """End what runs, give the slice back, and take the job off the list."""
        return await (await self._jobs()).delete(job)

    async def clean(self, job: str) -> "Done":
        """Delete a job and remove its folder."""
        return await (await self._jobs()).clean(job)

    async def attach(self, job: str) -> Sequence[str]:
        """Give the command that shows a job's session on this terminal."""
        from jobman_core.starting import session_name

        hub = await self._ready()
        record = await hub.record(job)
        session = hub.backends.session(record.job.session)
        name = session_name(record.job.id)
        shown = session.attach(name)
        if shown is None:
            msg = (
                f"session {record.job.session!r} has no terminal: "
                f"`jobman logs -f --controller {record.job.id}` follows the controller"
            )
            raise InvalidInputError(msg)
        if not await session.alive(name):
            said = f"`jobman logs --controller {record.job.id}` has its last words"
            msg = f"job {record.job.id} has no session now: {said}"
            raise NotFoundError(msg)
        return [*shown.argv]

    async def ssh(self, job: str, *, worker: int = 0, argv: Sequence[str] = ()) -> "Entry":
        """Give what enters a host of a job's slice.

        Args:
            job: whose.
            worker: the host's index.
            argv: what to run there instead of a shell.

        Raises:
            NotFoundError: it has no slice that is ready, or no such host.
        """
        from jobman_core.ssh import Access, hosts_of

        hub = await self._ready()
        record = await hub.record(job)
        found, slice_ = record.job, record.slice
        hub.own(found)
        if slice_ is None or not slice_.held or slice_.phase is not SlicePhase.READY:
            msg = f"job {found.id} has no slice that is ready: `jobman show {found.id}` says why"
            raise NotFoundError(msg)
        spec = await asyncio.to_thread(hub.spec, found, hub.surroundings())
        cloud = hub.backends.cloud(found.cloud)
        known_hosts = hub.home.known_hosts(found.user, found.id, slice_.generation)
        access = Access.of_job(found.user, spec)
        hosts = hosts_of(cloud, slice_, access, known_hosts, hub.links)
        if worker >= len(hosts):
            msg = f"job {found.id} has no host {worker}: it has 0 to {len(hosts) - 1}"
            raise NotFoundError(msg)
        return await hosts[worker].enter(argv)

    async def solve(self, job: str, *, fix: bool = False) -> "Solved":
        """Say what is wrong on a job's hosts, and mend what can be where that is wished.

        Raises:
            NotFoundError: it has no slice that is ready.
            NotYoursError: only its owner mends a job's hosts.
        """
        from jobman_core.solve import Solver

        return await Solver(await self._ready()).solve(job, fix=fix)

    async def preempt(self, job: str) -> None:
        """Take a job's slice away as its cloud would, where the cloud can be asked for that."""
        hub = await self._ready()
        record = await hub.record(job)
        hub.own(record.job)
        if record.slice is None or not record.slice.held:
            msg = f"job {record.job.id} has no slice"
            raise InvalidInputError(msg)
        await hub.backends.cloud(record.job.cloud).preempt(record.slice.identity)

    # -- queues ----------------------------------------------------------------------------

    async def queue(self, path: Path | None) -> "QueueView":
        """Give a queue, whole."""
        return await (await self._queues(path)).view(path)

    async def queue_task(self, path: Path | None, task: str) -> "TaskDetail":
        """Give one task of a queue, with its history and logs."""
        return await (await self._queues(path)).detail(path, task)

    async def queue_running(self, path: Path | None, tasks: Sequence[str]) -> Sequence[str]:
        """Give those of the tasks that run now."""
        return await (await self._queues(path)).running(path, tasks)

    async def match_tasks(
        self,
        path: Path | None,
        *,
        ids: Sequence[str] = (),
        pattern: str | None = None,
        all: bool = False,  # noqa: A002 - the option's own word
        failed: bool = False,
    ) -> Sequence[str]:
        """Give the tasks that a reset is meant for."""
        queues = await self._queues(path)
        return await queues.match(path, ids=ids, pattern=pattern, all=all, failed=failed)

    async def reset(self, path: Path | None, tasks: Sequence[str]) -> None:
        """Let tasks run from the start again; what runs of them is ended first."""
        await (await self._queues(path)).reset(path, tasks)

    async def prioritize(self, path: Path | None, task: str) -> None:
        """Let a task be picked before all others, once."""
        await (await self._queues(path)).prioritize(path, task)

    async def mark_done(self, path: Path | None, task: str) -> None:
        """Call a task done."""
        await (await self._queues(path)).mark_done(path, task)

    async def cleanup(self, path: Path | None) -> "Sequence[Done]":
        """Resolve attempts whose controllers are lost; gives what became of each such job."""
        return await (await self._queues(path)).cleanup(path)

    # -- logs, events, plugins -------------------------------------------------------------

    async def logs(
        self,
        *,
        job: str | None = None,
        task: str | None = None,
        queue: Path | None = None,
        run: int | None = None,
        worker: int | None = None,
        follow: bool = False,
        controller: bool = False,
        tail: int | None = None,
    ) -> "AsyncGenerator[LogChunk, None]":
        """Read logs of a job's attempts, of a task's, or of a job's controllers."""
        from jobman_core.logs import Logs, Selection

        hub = await self._ready()
        logs = Logs(hub)
        if task is not None:
            found = await (await self._queues(queue)).find(queue)
            await hub.store.task(found.path, task)
            chosen = self._of_task(hub, found.path, task)
            chunks = logs.read(chosen, run=run, worker=worker, follow=follow, tail=tail)
        elif job is None:
            msg = "whose logs? name a job, or --task"
            raise InvalidInputError(msg)
        elif controller:
            chunks = logs.controller(job, follow=follow, tail=tail)
        else:
            full = await hub.resolve(job)

            async def attempts() -> Sequence[Attempt]:
                return await hub.store.attempts(job=full)

            async def over() -> bool:
                return await logs.job_is_over(full)

            async def state() -> tuple[str, str]:
                view = await self._view(full)
                why = f": {view.reason}" if view.reason else ""
                return view.status, f"job {full} is {view.status}{why}"

            chosen = Selection(attempts, over, state)
            chunks = logs.read(chosen, run=run, worker=worker, follow=follow, tail=tail)
        async for chunk in chunks:
            yield chunk

    def _of_task(self, hub: Hub, queue: str, task: str) -> "Selection":
        from jobman_core.logs import Selection

        async def attempts() -> Sequence[Attempt]:
            return await hub.store.attempts(queue=queue, task=task)

        async def over() -> bool:
            found = await hub.store.task(queue, task)
            return not found.running and found.status in (TaskStatus.DONE, TaskStatus.FAILED)

        async def state() -> tuple[str, str]:
            found = await hub.store.task(queue, task)
            why = f": {found.reason}" if found.reason else ""
            return found.status, f"task {task} is {found.status}{why}"

        return Selection(attempts, over, state)

    async def watch(self, after: int) -> AsyncGenerator[Event, None]:
        """Yield events with higher ids as they come, without end."""
        from jobman_core.logs import LOOK_EVERY

        hub = await self._ready()
        while True:
            events = await hub.store.events(after=after)
            for event in events:
                after = event.id
                yield event
            if not events:
                await hub.clock.sleep(LOOK_EVERY)

    def plugins(self) -> "Sequence[PluginRow]":
        """List every plugin, also those that failed to load."""
        return self.plugins_loaded.rows()

    # -- wiring ----------------------------------------------------------------------------

    @property
    def plugins_loaded(self) -> "Plugins":
        """The plugins, loaded when they are first asked for."""
        if self._plugins is None:
            from jobman_core.plugins import Plugins

            self._plugins = Plugins.from_environment(builtins)
        return self._plugins

    def _settings(self) -> Settings:
        if self._opened is not None:
            return self._opened.settings
        return load_settings(self._home, plugins=lambda: self.plugins_loaded)

    def _surroundings(self) -> "Surroundings":
        """Give what files are read against, whether or not there is a home yet."""
        if self._opened is not None:
            return self._opened.surroundings()
        from jobman_core.config.surroundings import Surroundings

        return Surroundings(self._home, self.plugins_loaded, self._settings())

    async def _ready(self, *, make: bool = False) -> Hub:
        """Give the open home.

        Raises:
            NotFoundError: there is none, and none is to be made.
        """
        if await self._if_there() is None:
            if not (make and self._make):
                msg = f"no jobman home in {self.home}: `jobman create` makes one"
                raise NotFoundError(msg)
            make_folder(self._home.state.parent)
            make_folder(self._home.state, 0o700)
            self.made = True
            await self._open()
        assert self._opened is not None  # noqa: S101 - just opened
        return self._opened

    async def _if_there(self) -> Hub | None:
        """Give the home, open; None: there is none."""
        if self._opened is None and self._home.state.is_dir():
            await self._open()
        return self._opened

    async def _open(self) -> None:
        settings = self._settings()
        store = self._make_store(Context(self._home.root, "", self._clock))
        await store.open()
        self._opened = Hub(
            home=self._home,
            home_id=await store.home_id(),
            user=self.user,
            settings=settings,
            store=store,
            clock=self._clock,
            find_plugins=lambda: self.plugins_loaded,
            read_tasks=self._read_tasks,
            echo=self._echo,
        )

    async def _jobs(self) -> "Jobs":
        from jobman_core.jobs import Jobs

        return Jobs(await self._ready())

    async def _queues(self, path: Path | None) -> "Queues":
        from jobman_core.queues import Queues, tasks_file

        if await self._if_there() is None:
            # No home is made for a file that is missing or has faults.
            self._read_tasks(tasks_file(self._home, path))
        return Queues(await self._ready(make=True), await self._jobs())

    def _read_tasks(self, path: Path) -> QueueDefinition:
        # Only when a tasks file changed: ruamel is too slow to import for every command.
        from jobman_core.config.tasks import read_tasks

        return read_tasks(path, self._home.root)

    async def _note_problems(self, hub: Hub, records: Sequence[JobRecord]) -> None:
        """Note what is wrong with the tasks files of jobs, as their workers saw it last."""
        mentioned = {record.job.queue for record in records if record.job.queue}
        queues = await hub.store.queues() if mentioned else []
        self._problems = [
            f"{queue.problem}: workers go on with its last good version"
            for queue in queues
            if queue.problem and queue.path in mentioned
        ]

    async def _view(self, job: str) -> JobView:
        hub = await self._ready()
        record = await hub.store.record(job)
        return job_view(record, hub.liveness(record))


def _again(force: bool, force_prefix: bool) -> "Marks | None":
    """Say which steps of preparing hosts are done again."""
    from jobman_core.run.host_step import Marks

    return Marks.ALL if force else Marks.OF_PREFIX if force_prefix else None


def _settings_of(record: JobRecord) -> dict[str, str]:
    """Give a job's settings that are safe to show: none comes from its environment."""
    job = record.job
    return {
        "cloud": job.cloud,
        "session": job.session,
        "queue": job.queue or "-",
        "wanted": job.desired.value,
        "submitted": to_text(job.created_at),
    }
