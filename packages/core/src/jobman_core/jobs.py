"""Jobs from the outside: started, stopped, given back; with their controller or without."""

import asyncio
import contextlib
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobman_core.edits import Change, Edits
from jobman_core.errors import (
    HeldError,
    HostUnreachableError,
    InvalidInputError,
    JobmanError,
    NotFoundError,
    NotYoursError,
    StaleLeaseError,
    UnfinishedError,
)
from jobman_core.group import owner_of
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobRecord, Note
from jobman_core.models.job import Desired, EndingKind, Job, Step
from jobman_core.models.lease import Liveness
from jobman_core.models.outcome import Cause
from jobman_core.models.slice import SlicePhase
from jobman_core.models.view import Done
from jobman_core.run.attempt import GRACE, STOP_LIMIT
from jobman_core.run.controller import Controller
from jobman_core.run.host_step import Marks
from jobman_core.run.lease import Tenure
from jobman_core.run.prepare import forget
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
        self._edits = Edits(hub)

    # -- starting --------------------------------------------------------------------------

    async def resume(
        self,
        job: str,
        *,
        again: Marks | None = None,
        reload: bool = False,
        agreed: bool = False,
    ) -> Done:
        """Start a job that should run and does not, with its file as it stands now.

        Args:
            job: its id.
            again: which steps of preparing its hosts are done again, though they stand.
            reload: with the file that it was created from, as that stands now.
            agreed: what the job :meth:`loses <losses>` by its edited file may go.

        Raises:
            ConfigError: the file has faults.
            InvalidInputError: the job would lose something, and nobody agreed to that.
        """
        hub = self._hub
        record = await self._own(job)
        job = record.job.id
        await hub.look_around([record])
        if _to_run(record.job) and hub.liveness(record) is Liveness.ALIVE:
            if reload:
                msg = f"job {job} runs already: `jobman reboot {job} --reload` starts it afresh"
                raise InvalidInputError(msg)
            hint = ""
            if again is not None:
                option = "--force" if again is Marks.ALL else "--force-prefix"
                hint = f": `jobman reboot {job} {option}` starts it afresh"
            elif self._edits.hash_of_edited(record.job) is not None:
                hint = f": `jobman reboot {job}` takes its edited file in"
            return await self._done(job, f"it runs already{hint}")
        change = await self._edits.read(record, reload=reload)
        ending = record.job.ending
        if change is None and ending and ending.kind is EndingKind.DONE and not record.job.queue:
            return await self._done(job, f"it is done; `jobman reboot {job}` runs it again")
        _check_agreed(job, change, agreed=agreed)
        if change is not None and change.misfit:
            await self._give_back(job, change.misfit)
        notes = await self._take_in(job, change)
        return await self._resume(job, again, notes=notes)

    async def _take_in(self, job: str, change: Change | None) -> Sequence[str]:
        """Let a change count from now on; give what the user should know besides."""
        record = await self._hub.store.record(job)
        if change is not None:
            await self._edits.take_in(record, change)
        return (*(change.notes if change else ()), *self._edits.news(record.job))

    async def _resume(
        self, job: str, again: Marks | None = None, *, notes: Sequence[str] = ()
    ) -> Done:
        """Start a job on what it has; a controller that hangs is replaced."""
        hub = self._hub
        record = await self._own(job)
        driven = hub.liveness(record) is Liveness.ALIVE
        if driven and _to_run(record.job):
            return await self._done(job, "it runs already")
        if driven or _unfinished(record):
            # A controller that is on its way out is in nobody's way for long.
            wanted = await self._carry_out(job, record.job.desired)
            if wanted not in (record.job.desired, Desired.RUNNING):
                raise _overtaken(job, wanted)
        await self._forget(job, again)
        try:
            await self._starter.start(job)
        except HeldError:
            # Somebody else resumed it at the same moment.
            record = await hub.store.record(job)
            if not _to_run(record.job) or hub.liveness(record) is not Liveness.ALIVE:
                raise
            return await self._done(job, "it runs already")
        return await self._done(job, notes=notes)

    async def _forget(self, job: str, again: Marks | None) -> None:
        """Let steps on the hosts of a job's slice count as not done."""
        if again is None:
            return
        async with self._hub.acting(await self._hub.store.record(job)) as ctx:
            slice_ = (await ctx.record()).slice
            if slice_ is not None and slice_.phase is SlicePhase.READY and not slice_.withdrawn:
                try:
                    await forget(ctx, slice_, again)
                except HostUnreachableError as error:
                    how = f"`jobman resume {job}` starts it on what is prepared there"
                    msg = f"{error}; job {job} was not started, and its slice costs: {how}"
                    raise HostUnreachableError(msg) from error

    async def unattended(self) -> list[str]:
        """Give the jobs without a live controller that should run, or have wishes open."""
        hub = self._hub
        jobs = []
        records = await hub.store.records(deleted=True)
        await hub.look_around(records)
        for record in records:
            job = record.job
            mine = job.user == hub.user or hub.user in hub.settings.admins
            if not mine or hub.liveness(record) is Liveness.ALIVE:
                continue
            if _unfinished(record) or (_to_run(job) and hub.holds(job)):
                jobs.append(job.id)
        return jobs

    async def bring_back(self, job: str) -> Done:
        """Do for one unattended job what is open: drive it on, or carry out the wish."""
        record = await self._hub.record(job)
        await self._hub.look_around([record])
        if not _unfinished(record):
            # Nobody is there to be asked: it goes on with the slice that it has.
            change = await self._edits.read(record)
            return await self._resume(record.job.id, notes=change.unasked if change else ())
        await self._carry_out(record.job.id, record.job.desired)
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
                    # What it was before the lease was taken may have changed since.
                    slice_ = (await ctx.record()).slice
                    if slice_ is not None and slice_.held:
                        slices = Slices(ctx, hub.clock.sleep)
                        # One list for all of a zone, where its cloud gives one.
                        await slices.note(slice_, await slices.glance(slice_, 0.0))
            except JobmanError as error:
                _log.warning("the slice of job %s cannot be looked at: %s", record.job.id, error)

    # -- driving ---------------------------------------------------------------------------

    async def drive(
        self,
        job: str,
        *,
        in_session: bool,
        tenure: Tenure | None = None,
        set_up: bool = True,
    ) -> None:
        """Be a job's controller until it is over.

        Args:
            job: its id.
            in_session: what is said goes to the session's log by itself.
            tenure: this process as a controller, where it is one already.
            set_up: prepare the hosts first; else they are taken as they are.

        Raises:
            HeldError: a live controller has it.
        """
        hub = self._hub
        record = await hub.store.record(job)
        async with hub.acting(record, tenure=tenure, in_session=in_session) as ctx:
            record = await ctx.record()
            if record.job.desired is Desired.RUNNING and record.job.ending is not None:
                # Its end came between the wish for a controller and this one's beginning.
                await wind_down(ctx)
                return
            await hub.store.add_event(
                Note("controller.started", f"process {os.getpid()} drives it"), job=job
            )
            try:
                ctx.set_up = set_up
                await Controller(ctx, record).drive()
            except StaleLeaseError:
                raise
            except Exception as error:
                # Whatever it was, people look for it in `list` and `show` first.
                why = f"its controller failed: {type(error).__name__}: {error}"
                await hub.store.set_step(ctx.lease, Step.NONE, why)
                await hub.store.add_event(Note("controller.failed", why), job=job)
                raise

    async def run_here(self, job: str, *, set_up: bool, again: Marks | None) -> None:
        """Drive a job in this process, in the foreground."""
        hub = self._hub
        record = await self._own(job)
        job = record.job.id
        if hub.liveness(record) in (Liveness.ALIVE, Liveness.ELSEWHERE):
            msg = f"job {job} has a live controller: `jobman logs -f {job}` follows it"
            raise HeldError(msg)
        change = await self._edits.read(record)
        if change is not None:
            await self._edits.take_in(record, change)
            if hub.echo is not None:
                for line in change.unasked:
                    hub.echo(f"note: {line}")
        await self._forget(job, again)
        note = Note("job.started", f"{hub.user} runs it in the foreground")
        await hub.store.set_desired(job, Desired.RUNNING, note)
        await self.drive(job, in_session=False, set_up=set_up)

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
        await asyncio.to_thread(self._remove, folder, record.job)
        return done

    def _remove(self, folder: Path, job: Job) -> None:
        """Remove a job's folder, if it is there.

        Raises:
            NotYoursError: only another account can.
        """
        shared = self._hub.home.shared
        for place in (folder.parent, folder) if shared else ():
            if place.is_symlink():
                what = f"{place} is a link that {owner_of(place) or job.user} laid: remove it"
                raise NotYoursError(f"job {job.id} is deleted, but {what}")
        try:
            # Where others may lay links, none is followed to it, now or a moment later.
            links = os.O_NOFOLLOW if shared else 0
            above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | links)
        except FileNotFoundError:
            return
        try:
            shutil.rmtree(folder.name, dir_fd=above)
        except FileNotFoundError:
            return
        except PermissionError as error:
            if not shared:
                raise
            how = f"its folder {folder} is for {job.user} to remove, or for root"
            raise NotYoursError(f"job {job.id} is deleted, but {how}") from error
        finally:
            os.close(above)

    async def reboot(
        self,
        job: str,
        *,
        again: Marks | None = None,
        reload: bool = False,
        agreed: bool = False,
    ) -> Done:
        """Stop a job and start it again, with its file as it stands now; see :meth:`resume`.

        Raises:
            ConfigError: the file has faults; the job goes on as it was.
            InvalidInputError: the job would lose something, and nobody agreed to that.
        """
        record = await self._own(job)
        # Whatever is wrong is found before anything is ended.
        change = await self._edits.read(record, reload=reload)
        if change is None:
            # A plugin that it needs may be gone since.
            await asyncio.to_thread(self._hub.spec, record.job, self._hub.surroundings())
        self._edits.check_session(change.draft.session if change else record.job.session)
        _check_agreed(record.job.id, change, agreed=agreed)
        for attempt in record.attempts:
            await self._hub.store.ask_end(attempt.token, Cause.REBOOTED)
        if change is not None and change.misfit:
            await self._give_back(record.job.id, change.misfit)
        else:
            await self._order(record.job.id, Desired.STOPPED)
        notes = await self._take_in(record.job.id, change)
        await self._forget(record.job.id, again)
        await self._starter.start(record.job.id)
        return await self._done(record.job.id, notes=notes)

    async def losses(self, job: str, *, reload: bool = False) -> Sequence[str]:
        """Give what a job would lose by its edited file at a start, to be read after its id."""
        change = await self._edits.read(await self._own(job), reload=reload)
        return change.losses if change else ()

    async def requeue(self, job: str) -> Done:
        """Let a queue worker give its task back, and take another if there is one."""
        hub = self._hub
        record = await self._own(job)
        job = record.job.id
        if record.job.queue is None:
            msg = f"job {job} takes no tasks from a queue: `jobman reboot {job}` starts it again"
            raise InvalidInputError(msg)
        if hub.liveness(record) is not Liveness.ALIVE:
            hub.hold(record.job)
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
            if all(attempt.token != token for attempt in record.attempts):
                return
            if hub.liveness(record) is not Liveness.ALIVE:
                with contextlib.suppress(HeldError):
                    async with hub.acting(record, to_end=True) as ctx:
                        await end_attempts(ctx, cause, only=lambda a: a.token == token)
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

    async def _give_back(self, job: str, misfit: str) -> None:
        """End what runs, and give back a slice that a job does not ask for any more."""
        await self._order(job, Desired.CANCELLED, f"gives its slice back, as {misfit}")

    async def _order(self, job: str, desired: Desired, doing: str = "") -> Done:
        hub = self._hub
        record = await self._own(job, deleted=desired is Desired.DELETED)
        job = record.job.id
        if record.job.desired is not desired:
            note = Note(f"job.{desired}", f"{hub.user} {doing or f'{_VERBS[desired]} it'}")
            await hub.store.set_desired(job, desired, note)
        wanted = await self._carry_out(job, desired)
        if wanted is not desired:
            raise _overtaken(job, wanted)
        return await self._done(job)

    async def _carry_out(self, job: str, desired: Desired) -> Desired:
        """See to it that what is wanted of a job is so; gives what is, if that was overtaken."""
        hub = self._hub
        deadline = hub.clock.monotonic() + ORDER_LIMIT
        while True:
            record = await hub.store.record(job)
            if record.job.desired is not desired:
                return record.job.desired
            if hub.liveness(record) is not Liveness.ALIVE:
                with contextlib.suppress(HeldError):
                    await self._wind_down(record)
                    break
            if hub.clock.monotonic() >= deadline:
                _, why = status_of_record(record, hub.liveness(record))
                msg = (
                    f"the controller of job {job} has not carried it out yet "
                    f"({why or 'it gives no reason'}): the wish stays on the books"
                )
                raise UnfinishedError(msg)
            await hub.clock.sleep(LOOK_EVERY)
        session = hub.backends.session(record.job.session)
        # Another account's is ended by its controller, once that has no more to do.
        if hub.holds(record.job) and session.missing() is None:
            await session.end(session_name(job))
        return desired

    async def _wind_down(self, record: JobRecord) -> None:
        """Do without a controller what it would have done; where nothing is left, nothing."""
        current = record.slice
        left = record.attempts or record.withdrawing or (current and current.held)
        # One that hangs may be about to ask for a slice.
        if not left and self._hub.liveness(record) in (Liveness.NONE, Liveness.DEAD):
            return
        async with self._hub.acting(record, to_end=True) as ctx:
            # Before the lease was taken it may have been resumed.
            if not _to_run((await ctx.record()).job):
                await wind_down(ctx)

    async def _done(self, job: str, note: str = "", *, notes: Sequence[str] = ()) -> Done:
        record = await self._hub.store.record(job)
        status, reason = status_of_record(record, self._hub.liveness(record))
        return Done(job, status, note or reason, notes=tuple(notes))


def _check_agreed(job: str, change: Change | None, *, agreed: bool) -> None:
    if change is not None and change.losses and not agreed:
        msg = f"job {job} {'; it '.join(change.losses)}: add --yes if it may"
        raise InvalidInputError(msg)


def _to_run(job: Job) -> bool:
    """Tell whether a job is wanted running and has not come to its end."""
    return job.desired is Desired.RUNNING and job.ending is None


def _overtaken(job: str, wanted: Desired) -> UnfinishedError:
    msg = f"job {job} is wanted {wanted} by now: another command came after this one"
    return UnfinishedError(msg)


def _unfinished(record: JobRecord) -> bool:
    """Tell whether an order to end a job has not been carried out to the end."""
    job, slice_ = record.job, record.slice
    if _to_run(job):
        return False
    # A stop keeps a slice only if it is ready.
    stopped = job.desired is Desired.STOPPED and slice_ is not None and slice_.held
    return bool(
        record.attempts
        or record.withdrawing
        or (stopped and slice_ is not None and slice_.phase is not SlicePhase.READY)
    )
