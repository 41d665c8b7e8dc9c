"""Jobs from the outside: started, stopped, given back; with their controller or without."""

import asyncio
import contextlib
import logging
import os
import shutil
from typing import Final

from jobman_core.errors import (
    HeldError,
    InvalidInputError,
    JobmanError,
    NotFoundError,
    StaleLeaseError,
    UnfinishedError,
)
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobRecord, Note
from jobman_core.models.job import Desired, EndingKind, Step
from jobman_core.models.lease import Liveness
from jobman_core.models.outcome import Cause
from jobman_core.models.slice import SlicePhase
from jobman_core.models.view import Done
from jobman_core.run.attempt import GRACE, STOP_LIMIT
from jobman_core.run.controller import Controller
from jobman_core.run.slices import Slices
from jobman_core.run.wind_down import end_attempts, wind_down
from jobman_core.starting import Starter, session_name
from jobman_core.views import status_of_record

#: Seconds for a live controller to carry out an order.
ORDER_LIMIT: Final = STOP_LIMIT + GRACE + 20.0
#: Seconds between two looks whether it has.
LOOK_EVERY: Final = 0.05

_log = logging.getLogger(__name__)
_VERBS: Final = {
    Desired.RUNNING: "starts",
    Desired.STOPPED: "stops",
    Desired.CANCELLED: "cancels",
    Desired.DELETED: "deletes",
}


class Jobs:
    """What can be done to jobs."""

    def __init__(self, hub: Hub) -> None:
        """Keep the home."""
        self._hub = hub
        self._starter = Starter(hub)

    # -- starting --------------------------------------------------------------------------

    async def resume(self, job: str) -> Done:
        """Start a job that should run and does not; a controller that hangs is replaced."""
        hub = self._hub
        record = await self._own(job)
        job = record.job.id
        running = record.job.desired is Desired.RUNNING
        if running and hub.liveness(record) is Liveness.ALIVE:
            return await self._done(job, "it runs already")
        ending = record.job.ending
        if ending and ending.kind is EndingKind.DONE and record.job.queue is None:
            return await self._done(job, f"it is done; `jobman reboot {job}` runs it again")
        if _unfinished(record):
            await self._carry_out(job)
        try:
            await self._starter.start(job)
        except HeldError:
            # Somebody else resumed it at the same moment.
            if hub.liveness(await hub.store.record(job)) is not Liveness.ALIVE:
                raise
            return await self._done(job, "it runs already")
        return await self._done(job)

    async def unattended(self) -> list[str]:
        """Give the jobs without a live controller that should run, or have wishes open."""
        hub = self._hub
        jobs = []
        for record in await hub.store.records(deleted=True):
            job = record.job
            mine = job.user == hub.user or hub.user in hub.settings.admins
            if not mine or hub.liveness(record) is Liveness.ALIVE:
                continue
            wanted = job.desired is Desired.RUNNING and job.ending is None
            if wanted or _unfinished(record):
                jobs.append(job.id)
        return jobs

    async def bring_back(self, job: str) -> Done:
        """Do for one unattended job what is open: drive it on, or carry out the wish."""
        record = await self._hub.record(job)
        if not _unfinished(record):
            return await self.resume(job)
        await self._carry_out(record.job.id)
        return await self._done(record.job.id)

    async def finish_wishes(self) -> None:
        """Go on with stops and deletes that nobody could finish when they were asked for."""
        hub = self._hub
        for record in await hub.store.records(deleted=True):
            if not _unfinished(record) or hub.liveness(record) is Liveness.ALIVE:
                continue
            try:
                await self._wind_down(record)
            except JobmanError as error:
                # It stays on the books; this job's own work is not to wait for it.
                if hub.echo is not None:
                    hub.echo(f"job {record.job.id} cannot be given back yet: {error}")

    async def ask_clouds(self) -> None:
        """Look at the slices of jobs that nobody watches now, and write down what they are."""
        hub = self._hub
        for record in await hub.store.records():
            slice_, driven = record.slice, hub.liveness(record)
            # A controller that lives looks all the time; one that hangs is not ours to replace.
            if slice_ is None or not slice_.held or driven not in (Liveness.NONE, Liveness.DEAD):
                continue
            try:
                async with hub.acting(record, to_end=True) as ctx:
                    await Slices(ctx, hub.clock.sleep).look(slice_)
            except JobmanError as error:
                _log.warning("the slice of job %s cannot be looked at: %s", record.job.id, error)

    # -- driving ---------------------------------------------------------------------------

    async def drive(
        self, job: str, *, in_session: bool, set_up: bool = True, force: bool = False
    ) -> None:
        """Be a job's controller until it is over.

        Raises:
            HeldError: a live controller has it.
        """
        del force  # Nothing on the hosts is marked as prepared yet, so all of it is always done.
        hub = self._hub
        record = await hub.store.record(job)
        async with hub.acting(record, in_session=in_session) as ctx:
            await hub.store.add_event(
                Note("controller.started", f"process {os.getpid()} drives it"), job=job
            )
            try:
                await Controller(ctx, await ctx.record()).drive(set_up=set_up)
            except StaleLeaseError:
                raise
            except Exception as error:
                # Whatever it was, people look for it in `list` and `show` first.
                why = f"its controller failed: {type(error).__name__}: {error}"
                await hub.store.set_step(ctx.lease, Step.NONE, why)
                await hub.store.add_event(Note("controller.failed", why), job=job)
                raise

    async def run_here(self, job: str, *, set_up: bool, force: bool) -> None:
        """Drive a job in this process, in the foreground."""
        hub = self._hub
        record = await self._own(job)
        job = record.job.id
        if hub.liveness(record) in (Liveness.ALIVE, Liveness.ELSEWHERE):
            msg = f"job {job} has a live controller: `jobman logs -f {job}` follows it"
            raise HeldError(msg)
        await self._starter.take_in_edits(record)
        note = Note("job.started", f"{hub.user} runs it in the foreground")
        await hub.store.set_desired(job, Desired.RUNNING, note)
        await self.drive(job, in_session=False, set_up=set_up, force=force)

    # -- ending ----------------------------------------------------------------------------

    async def stop(self, job: str) -> Done:
        """End what runs; a slice that is ready stays, and costs."""
        return await self._order(job, Desired.STOPPED)

    async def cancel(self, job: str) -> Done:
        """End what runs, and give the slice back."""
        return await self._order(job, Desired.CANCELLED)

    async def delete(self, job: str) -> Done:
        """End what runs, give the slice back, and take the job off the list."""
        return await self._order(job, Desired.DELETED)

    async def clean(self, job: str) -> Done:
        """Delete a job, and remove its folder; task logs stay."""
        done = await self._order(job, Desired.DELETED)
        record = await self._hub.store.record(done.id)
        folder = self._hub.home.job(record.job.user, record.job.id)
        if folder.exists():
            await asyncio.to_thread(shutil.rmtree, folder)
        return done

    async def reboot(self, job: str) -> Done:
        """Stop a job and start it again, with its file as it stands now."""
        record = await self._own(job)
        # A fault in the file is found before anything is ended.
        self._starter.read_edits(record.job)
        for attempt in record.attempts:
            await self._hub.store.ask_end(attempt.token, Cause.REBOOTED)
        await self._order(record.job.id, Desired.STOPPED)
        await self._starter.start(record.job.id)
        return await self._done(record.job.id)

    async def requeue(self, job: str) -> Done:
        """Let a queue worker give its task back, and take another if there is one."""
        hub = self._hub
        record = await self._own(job)
        job = record.job.id
        if record.job.queue is None:
            msg = f"job {job} takes no tasks from a queue: `jobman reboot {job}` starts it again"
            raise InvalidInputError(msg)
        tasks = [attempt.task for attempt in record.attempts]
        for attempt in record.attempts:
            await hub.store.set_avoid(job, attempt.task)
            await self.end_attempt(job, attempt.token, Cause.REQUEUED)
        record = await hub.store.record(job)
        if hub.liveness(record) is not Liveness.ALIVE:
            await self._starter.start(job)
        given = ", ".join(str(task) for task in tasks)
        return await self._done(job, f"gave back {given}" if given else "it had no task")

    async def end_attempt(self, job: str, token: str, cause: str) -> None:
        """End one attempt, by its live controller or without one, and return when it is over."""
        hub = self._hub
        await hub.store.ask_end(token, cause)
        deadline = hub.clock.monotonic() + ORDER_LIMIT
        while True:
            record = await hub.store.record(job)
            live = [attempt for attempt in record.attempts if attempt.token == token]
            if not live:
                return
            if hub.liveness(record) is not Liveness.ALIVE:
                with contextlib.suppress(HeldError):
                    async with hub.acting(record, to_end=True) as ctx:
                        await end_attempts(ctx, live, cause)
                    return
            if hub.clock.monotonic() >= deadline:
                msg = f"job {job} has not ended its attempt yet: the wish stays on the books"
                raise UnfinishedError(msg)
            await hub.clock.sleep(LOOK_EVERY * 2)

    async def _own(self, job: str, *, deleted: bool = False) -> JobRecord:
        """Give a job that the actor may act on; one that was deleted only where that is no matter.

        Raises:
            NotFoundError: no such job, or it was deleted.
            NotYoursError: it is someone else's.
        """
        record = await self._hub.record(job)
        self._hub.own(record.job)
        if record.job.desired is Desired.DELETED and not deleted:
            msg = f"job {record.job.id} was deleted: create it anew"
            raise NotFoundError(msg)
        return record

    async def _order(self, job: str, desired: Desired) -> Done:
        hub = self._hub
        record = await self._own(job, deleted=desired is Desired.DELETED)
        job = record.job.id
        if record.job.desired is not desired:
            note = Note(f"job.{desired}", f"{hub.user} {_VERBS[desired]} it")
            await hub.store.set_desired(job, desired, note)
        await self._carry_out(job)
        return await self._done(job)

    async def _carry_out(self, job: str) -> None:
        """See to it that what is wanted of a job, other than running, is so."""
        hub = self._hub
        deadline = hub.clock.monotonic() + ORDER_LIMIT
        while True:
            record = await hub.store.record(job)
            if hub.liveness(record) is not Liveness.ALIVE:
                with contextlib.suppress(HeldError):
                    await self._wind_down(record)
                    break
            if hub.clock.monotonic() >= deadline:
                msg = (
                    f"the controller of job {job} has not carried it out yet: "
                    "the wish stays on the books"
                )
                raise UnfinishedError(msg)
            await hub.clock.sleep(LOOK_EVERY)
        session = hub.backends.session(record.job.session)
        if session.missing() is None:
            await session.end(session_name(job))

    async def _wind_down(self, record: JobRecord) -> None:
        """Do without a controller what it would have done; where nothing is left, nothing."""
        current = record.slice
        if not record.attempts and not record.withdrawing and not (current and current.held):
            return
        async with self._hub.acting(record, to_end=True) as ctx:
            await wind_down(ctx)

    async def _done(self, job: str, note: str = "") -> Done:
        record = await self._hub.store.record(job)
        status, reason = status_of_record(record, self._hub.liveness(record))
        return Done(job, status, note or reason)


def _unfinished(record: JobRecord) -> bool:
    """Tell whether an order to end a job has not been carried out to the end."""
    job, slice_ = record.job, record.slice
    if job.desired is Desired.RUNNING and job.ending is None:
        return False
    # A stop keeps a slice only if it is ready.
    stopped = job.desired is Desired.STOPPED and slice_ is not None and slice_.held
    return bool(
        record.attempts
        or record.withdrawing
        or (stopped and slice_ is not None and slice_.phase is not SlicePhase.READY)
    )
