"""Queues from the outside: seen, reset, prioritised, cleaned up."""

import asyncio
import fnmatch
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from jobman_core.errors import (
    HeldError,
    InvalidInputError,
    JobmanError,
    NotFoundError,
    nearest,
)
from jobman_core.home import Home
from jobman_core.hub import Hub
from jobman_core.interfaces.store import Note
from jobman_core.jobs import Jobs
from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.listing import JobView
from jobman_core.models.outcome import Cause
from jobman_core.models.queue import Queue
from jobman_core.models.task import Task, TaskStatus
from jobman_core.models.view import Done, QueueView, TaskDetail
from jobman_core.run.wind_down import end_attempts
from jobman_core.views import explained, job_view, workers_of

#: Looked for below the home, in this order, when no file is named.
DEFAULTS: Final = ("queue_machines/tasks.yaml", "tasks.yaml")


def places_of(home: Home, path: Path) -> tuple[Path, Path]:
    """Give where a tasks file that someone names may lie: from here, then from the home.

    It may be a link itself, also one that leads nowhere now.
    """
    given = Path(os.path.expanduser(path))  # noqa: PTH111 - Path's own raises
    here, there = Path.cwd() / given, home.root / given
    return here.parent.resolve() / here.name, there.parent.resolve() / there.name


def default_file(home: Home) -> Path | None:
    """Give the tasks file that is meant where none is named."""
    return next((home.root / name for name in DEFAULTS if (home.root / name).is_file()), None)


def tasks_file(home: Home, path: Path | None) -> Path:
    """Find a tasks file.

    Raises:
        NotFoundError: there is none.
    """
    if path is None:
        if found := default_file(home):
            return found
        msg = f"no {' or '.join(DEFAULTS)} in {home.root}: name a tasks file"
        raise NotFoundError(msg)
    for place in places_of(home, path):
        if place.exists():
            return place
    msg = f"no tasks file {path}: write the path of one"
    raise NotFoundError(msg)


class Queues:
    """What can be done to queues."""

    def __init__(self, hub: Hub, jobs: Jobs) -> None:
        """Keep the home, and what ends attempts."""
        self._hub = hub
        self._jobs = jobs

    async def find(self, path: Path | None) -> Queue:
        """Give the queue of a tasks file, read anew if the file changed.

        A relative path is looked up from here, then from the home.

        Raises:
            NotFoundError: no such file, and no queue that is known by it.
            ConfigError: the file has faults, and there is no good version yet.
        """
        hub = self._hub
        known = [queue.path for queue in await hub.store.queues()]
        try:
            return await hub.queues.open(tasks_file(hub.home, path))
        except NotFoundError:
            # A queue whose file was moved away is still there, with its last good version.
            places = () if path is None else places_of(hub.home, path)
            named = [str(p) for place in places for p in (place, place.resolve())] or known
            fits = [name for name in known if name in named]
            if not fits:
                raise
        if len(fits) > 1:
            msg = f"this home has {len(fits)} queues: name one of {', '.join(fits)}"
            raise InvalidInputError(msg)
        return await hub.queues.refresh(Path(fits[0]))

    async def view(self, path: Path | None) -> QueueView:
        """Give a queue, whole, with its workers."""
        queue = await self.find(path)
        views = await self._workers(queue)
        tasks = [explained(task, views) for task in await self._hub.store.tasks(queue.path)]
        return QueueView(Path(queue.path), tuple(tasks), workers_of(views), queue.problem)

    async def detail(self, path: Path | None, task: str) -> TaskDetail:
        """Give one task, with its history and its logs."""
        hub = self._hub
        queue = await self.find(path)
        found = await self.named(queue, task)
        found = explained(found, await self._workers(queue))
        attempts = await hub.store.attempts(queue=queue.path, task=task)
        folder = hub.home.task(queue.folder, task, hidden=found.spec.hide)
        logs = tuple(sorted(folder.glob("run_*_worker_*.log")))
        return TaskDetail(found, tuple(attempts), logs)

    async def match(
        self,
        path: Path | None,
        *,
        ids: Sequence[str] = (),
        pattern: str | None = None,
        all: bool = False,  # noqa: A002 - the option's own word
        failed: bool = False,
    ) -> list[str]:
        """Give the tasks that a reset is meant for.

        Raises:
            NotFoundError: an id that is not in the queue, or a pattern that fits none.
        """
        queue = await self.find(path)
        tasks = await self._hub.store.tasks(queue.path)
        for task in ids:
            await self.named(queue, task)
        chosen = [
            task.id
            for task in tasks
            if all
            or task.id in ids
            or (failed and task.status is TaskStatus.FAILED)
            or (pattern is not None and fnmatch.fnmatchcase(task.id, pattern))
        ]
        if pattern is not None and not chosen:
            msg = f"no task of {queue.path} fits {pattern!r}: `jobman queue` shows their ids"
            raise NotFoundError(msg)
        return chosen

    async def running(self, path: Path | None, tasks: Sequence[str]) -> list[str]:
        """Give those of the tasks that run now."""
        queue = await self.find(path)
        wanted = set(tasks)
        return [
            task.id
            for task in await self._hub.store.tasks(queue.path)
            if task.id in wanted and task.running
        ]

    async def reset(self, path: Path | None, tasks: Sequence[str]) -> None:
        """Let tasks run from the start again; what runs of them is ended first, all at once.

        Raises:
            NotFoundError: a task that is not in the queue.
            NotYoursError: one of them runs in someone else's job; nothing was done.
            ExceptionGroup: what went wrong with some of the ends, when all were tried.
        """
        hub = self._hub
        queue = await self.find(path)
        known = {task.id: task for task in await hub.store.tasks(queue.path)}
        # The store has the words for one that is not there.
        found = [known.get(task) or await self.named(queue, task) for task in tasks]
        running = [one for task in found for one in task.running]
        for one in running:
            hub.own((await hub.store.record(one.job)).job)
        idle = [task.id for task in found if not task.running]
        await hub.store.reset(queue.path, idle, Note("task.reset", f"{hub.user} resets it"))
        ends = (self._jobs.end_attempt(one.job, one.token, Cause.RESET) for one in running)
        errors = [e for e in await asyncio.gather(*ends, return_exceptions=True) if e is not None]
        await hub.queues.mirror(Path(queue.path), now=True)
        if errors:
            raise BaseExceptionGroup("some runs could not be ended", errors)

    async def prioritize(self, path: Path | None, task: str) -> None:
        """Let a task be picked before all others, once."""
        note = Note("task.prioritized", f"{self._hub.user} puts it first")
        await self._change(path, task, self._hub.store.prioritize, note)

    async def mark_done(self, path: Path | None, task: str) -> None:
        """Call a task done; what runs of it goes on to its end."""
        note = Note("task.marked_done", f"{self._hub.user} calls it done")
        await self._change(path, task, self._hub.store.mark_done, note)

    async def cleanup(self, path: Path | None) -> list[Done]:
        """Resolve attempts whose controllers are lost; gives what became of each such job."""
        hub = self._hub
        queue = await self.find(path)
        done = []
        for record in await hub.store.records(deleted=True):
            here = any(attempt.queue == queue.path for attempt in record.attempts)
            if not here or hub.liveness(record) in (Liveness.ALIVE, Liveness.ELSEWHERE):
                continue
            try:
                hub.own(record.job)
                async with hub.acting(record, to_end=True) as ctx:
                    stale = await end_attempts(
                        ctx, Cause.STALE, only=lambda attempt: attempt.queue == queue.path
                    )
            except HeldError:
                continue  # A controller came back meanwhile: it looks after them.
            except (JobmanError, OSError) as error:
                done.append(Done(record.job.id, None, error=error))
                continue
            if stale:
                names = ", ".join(str(attempt.task) for attempt in stale)
                done.append(Done(record.job.id, None, f"released {names}"))
        await hub.queues.mirror(Path(queue.path), now=True)
        return done

    async def _change(
        self,
        path: Path | None,
        task: str,
        change: Callable[[str, str, Note], Awaitable[None]],
        note: Note,
    ) -> None:
        """Change one task of a queue, in the store and in what people read."""
        queue = await self.find(path)
        await self.named(queue, task)
        await change(queue.path, task, note)
        await self._hub.queues.mirror(Path(queue.path), now=True)

    async def _workers(self, queue: Queue) -> list[JobView]:
        """Give the jobs that take tasks from a queue."""
        records = [
            record
            for record in await self._hub.store.records()
            if record.job.queue == queue.path and record.job.desired is not Desired.CANCELLED
        ]
        await self._hub.look_around(records)
        return [job_view(record, self._hub.liveness(record)) for record in records]

    async def named(self, queue: Queue, task: str) -> Task:
        """Give a task by its id.

        Raises:
            NotFoundError: there is none; where another may have been meant the words name it.
        """
        store = self._hub.store
        try:
            return await store.task(queue.path, task)
        except NotFoundError:
            near = nearest(task, [each.id for each in await store.tasks(queue.path)])
            if near is None:
                raise
        msg = f"no task {task!r} in {queue.path}: did you mean {near}?"
        raise NotFoundError(msg)
