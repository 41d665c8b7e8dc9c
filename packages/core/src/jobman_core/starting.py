"""Starting a job: its edits taken in, its session started, and its controller seen to begin."""

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from jobman_core.command import Command
from jobman_core.edits import Edits
from jobman_core.errors import CommandFailedError, HeldError, NotFoundError
from jobman_core.group import opener
from jobman_core.home import make_inside
from jobman_core.hub import Hub
from jobman_core.interfaces.session import SessionStart
from jobman_core.interfaces.store import Note
from jobman_core.models.job import Desired, Job, Step
from jobman_core.models.lease import Liveness
from jobman_core.run.lease import end_hung

_log = logging.getLogger(__name__)

#: Seconds for a controller to take its lease after its session started.
START_LIMIT: Final = 10.0
#: How many begin at the same time: each may be a process of its own.
_AT_ONCE: Final = 8
#: Seconds between two looks whether it has.
LOOK_EVERY: Final = 0.05


class Starter:
    """Starts jobs."""

    def __init__(self, hub: Hub) -> None:
        """Keep the home."""
        self._hub = hub
        self._edits = Edits(hub)

    async def start(self, job: str) -> Job:
        """Want a job running, and start its controller in its session.

        Raises:
            CommandFailedError: the session died at once; the message has its last words.
            HeldError: a live controller has it.
        """
        hub = self._hub
        async with self._starting(job):
            record = await hub.store.record(job)
            liveness = hub.liveness(record)
            if liveness in (Liveness.ALIVE, Liveness.ELSEWHERE):
                msg = f"job {job} has a live controller: `jobman stop {job}` ends it"
                raise HeldError(msg)
            if liveness is Liveness.HUNG and record.holder is not None:
                # It may have more jobs than this one: its session must not take it for alive.
                await end_hung(hub.store, record.holder[1])
            record = await self._edits.take_in(record)
            note = Note("job.started", f"{hub.user} starts it")
            await hub.store.set_desired(job, Desired.RUNNING, note)
            await self._start_session(record.job)
        return (await hub.store.record(job)).job

    async def start_all(self, jobs: Sequence[str]) -> None:
        """Start several jobs, some at a time.

        Raises:
            JobmanError: the first that went wrong, after all were tried.
        """
        turns = asyncio.Semaphore(_AT_ONCE)

        async def start(job: str) -> None:
            async with turns:
                await self.start(job)

        starts = await asyncio.gather(*map(start, jobs), return_exceptions=True)
        for failure in starts:
            if failure is not None:
                raise failure

    async def _start_session(self, job: Job) -> None:
        hub = self._hub
        session = hub.backends.session(job.session)
        if missing := session.missing():
            raise CommandFailedError(missing)
        log = hub.home.logs(job.user, job.id) / "job.log"
        make_inside(log.parent)
        # What the session makes of it would be read by those alone whom a umask lets.
        os.close(opener(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT))
        start = SessionStart(
            session_name(job.id),
            Command((sys.executable, "-m", "jobman_core", str(hub.home.root), job.id)),
            log,
            hub.home.root,
            dict(os.environ),
            job.id,
        )
        try:
            await session.start(start)
            await self._see_it_begin(job, log)
        except CommandFailedError as error:
            await self._say_why_dead(job.id, str(error))
            raise

    async def _see_it_begin(self, job: Job, log: Path) -> None:
        """Return once the controller has the lease, or had it, or takes long.

        Raises:
            CommandFailedError: its session died before.
        """
        hub = self._hub
        session = hub.backends.session(job.session)
        deadline = hub.clock.monotonic() + START_LIMIT
        while hub.clock.monotonic() < deadline:
            alive = await session.alive(session_name(job.id))
            if (await hub.store.record(job.id)).job.epoch > job.epoch:
                return
            if not alive:
                msg = f"the session of job {job.id} ended before it did anything: {last_words(log)}"
                raise CommandFailedError(msg)
            await hub.clock.sleep(LOOK_EVERY)
        said = f"`jobman logs --controller {job.id}` shows what it does"
        _log.warning("the controller of job %s takes long to begin: %s", job.id, said)

    async def _say_why_dead(self, job: str, why: str) -> None:
        """Leave the reason where ``show`` and ``list`` look for it."""
        hub = self._hub
        record = await hub.store.record(job)
        with contextlib.suppress(HeldError):
            async with hub.tenure() as tenure, tenure.lease(record) as lease:
                await hub.store.set_step(lease, Step.NONE, why)
        await hub.store.add_event(Note("session.died", why), job=job)

    @contextlib.asynccontextmanager
    async def _starting(self, job: str) -> AsyncIterator[None]:
        """Let one process at a time start a job's session."""
        import portalocker

        record = await self._hub.store.record(job)
        self._hub.hold(record.job)
        folder = self._hub.home.job(record.job.user, job)
        if not folder.is_dir():
            msg = f"job {job} has no folder {folder}: it was cleaned; create it anew"
            raise NotFoundError(msg)
        path = folder / ".start.lock"
        lock = portalocker.Lock(path, timeout=START_LIMIT * 2, fail_when_locked=False)
        try:
            await asyncio.to_thread(lock.acquire)
        except portalocker.LockException as error:
            msg = f"another command has been starting job {job} for long: wait for it, or end it"
            raise HeldError(msg) from error
        try:
            yield
        finally:
            lock.release()


def session_name(job: str) -> str:
    """Give the name of a job's session."""
    return f"job-{job}"


def last_words(log: Path) -> str:
    """Give the end of a log, for an error on one line."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return f"{log} cannot be read ({error.strerror})"
    said = [line.strip() for line in lines[-3:] if line.strip()]
    return " | ".join(said) or f"{log} is empty"
