"""What a facade does with jobs."""

import asyncio
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jobman_core.app.opening import Opening
from jobman_core.clock import to_text
from jobman_core.errors import InvalidInputError, NotFoundError
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.listing import JobView
from jobman_core.models.slice import SlicePhase
from jobman_core.views import job_view

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.interfaces.host import Entry
    from jobman_core.models.view import Checked, Created, Done, JobDetail, Plan, Solved
    from jobman_core.run.host_step import Marks


#: How many of a job's newest events and attempts ``show`` gives.
_EVENTS: Final = 200


class JobsPart(Opening):
    """Creating jobs, looking at them, and steering them."""

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
        return JobDetail(
            job=job_view(record, hub.liveness(record)),
            slice=record.slice,
            hosts=hosts,
            attempts=tuple(await hub.store.attempts(job=record.job.id)),
            events=tuple(await hub.store.newest_events(record.job.id, _EVENTS)),
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
        from jobman_core.notifiers import notifying

        hub = await self._ready()
        job = await hub.resolve(job)
        jobs = await self._jobs()
        async with notifying(hub):
            await jobs.run_here(job, set_up=not cmd_only, again=_again(force, force_prefix))
        return await self._view(job)

    async def drive(self, job: str) -> None:
        """Be a job's controller in its session."""
        from jobman_core.notifiers import notifying

        jobs = await self._jobs()
        wishes = asyncio.create_task(jobs.finish_wishes())
        try:
            async with notifying(await self._ready()):
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
        from jobman_core.notifiers import notifying
        from jobman_core.process import Roster
        from jobman_core.shared import SharedController

        hub = await self._ready()
        jobs = await self._jobs()
        roster = Roster.of_home(self.home, os.getuid())
        settings = SharedSettings(**hub.settings.backend("session", "shared"))
        async with notifying(hub):
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
        hub.hold(record.job)
        # Who is in a session can end what runs there.
        hub.own(record.job)
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
        hub.hold(found)
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
