"""One home, opened: its store and backends, and who acts. What everything of the app shares."""

import asyncio
import contextlib
import copy
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import (
    ConfigError,
    JobmanError,
    NotFoundError,
    NotYoursError,
    nearest,
)
from jobman_core.group import is_mine
from jobman_core.home import Home
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.job import HoldMode, Job, JobSpec
from jobman_core.models.lease import Lease, Liveness
from jobman_core.models.settings import Settings
from jobman_core.models.task import QueueDefinition
from jobman_core.run.lease import PATIENCE, Tenure, Terms, liveness_of

# What only acts, and is not needed to look, is imported when it is used.
if TYPE_CHECKING:
    from jobman_core.backends import Backends
    from jobman_core.config.surroundings import Surroundings
    from jobman_core.plugins import Plugins
    from jobman_core.queue.service import QueueService
    from jobman_core.run.context import JobContext
    from jobman_core.run.scribe import Scribe
    from jobman_core.ssh import Links

_log = logging.getLogger(__name__)


@attrs.define(slots=False)
class Hub:
    """A home that is open, and the person who acts in it."""

    home: Home
    #: The home's UUID.
    home_id: str
    user: str
    settings: Settings
    store: Store
    clock: Clock
    find_plugins: "Callable[[], Plugins]"
    #: Reads a tasks file.
    read_tasks: Callable[[Path], QueueDefinition]
    #: Gets what controllers in this process say.
    echo: Callable[[str], None] | None = None
    #: Why the home cannot be written, when somebody last looked; empty: nothing was seen.
    hindrance: str = ""

    @cached_property
    def plugins(self) -> "Plugins":
        """All that is installed."""
        return self.find_plugins()

    @cached_property
    def backends(self) -> "Backends":
        """The backends of this home."""
        from jobman_core.backends import Backends

        return Backends(self.plugins, self.home.root, self.home_id, self.clock, self.settings)

    @cached_property
    def queues(self) -> "QueueService":
        """The queues of this home."""
        from jobman_core.queue.service import QueueService

        return QueueService(self.store, self.home, self.clock, self.read_tasks)

    @cached_property
    def scribe(self) -> "Scribe":
        """What writes logs."""
        from jobman_core.run.scribe import Scribe

        return Scribe()

    @cached_property
    def links(self) -> "Links":
        """The connections to hosts that are reached by SSH."""
        from jobman_core.ssh import Links

        return Links()

    async def aclose(self) -> None:
        """Let go of the clouds that were used, and of the store."""
        # Only if they were used: to close is no reason to load them.
        if "backends" in vars(self):
            await self.backends.aclose()
        if "scribe" in vars(self):
            await self.scribe.aclose()
        await self.store.aclose()

    @property
    def terms(self) -> Terms:
        """How long leases hold."""
        return Terms(self.settings.lease, self.settings.beat)

    def liveness(self, record: JobRecord) -> Liveness:
        """Say what is known of a job's controller.

        While nobody can write, nobody can beat either: a process that lives is believed then.
        """
        terms = Terms(math.inf, self.terms.beat) if self.hindrance else self.terms
        return liveness_of(record.holder, self.clock.monotonic(), terms)

    async def look_around(self, records: Iterable[JobRecord] = ()) -> None:
        """See whether the home can be written now.

        A controller of these whose beat is late is a reason to try, for as long as a person waits.
        """
        now, late = self.clock.monotonic(), 2 * self.terms.beat
        holders = [record.holder[1] for record in records if record.holder]
        suspect = any(now - controller.beat > late for controller in holders)
        self.hindrance = await self.store.hindrance(patience=PATIENCE if suspect else None)

    def acting_as(self, user: str, *, admin: bool) -> "Hub":
        """Give the same home, with all that is open in it, for somebody else.

        Args:
            user: who acts.
            admin: they may act on everybody's jobs, whatever the settings say.
        """
        # What is made when it is first used must be there by now, to be the same for both.
        _ = self.backends, self.queues, self.scribe, self.links
        other = copy.copy(self)
        other.user = user
        admins = (*self.settings.admins, user) if admin else self.settings.admins
        # What the one who opened it says for themselves is not said for everybody.
        other.settings = attrs.evolve(self.settings, admins=admins, own_notify=None)
        return other

    def own(self, job: Job) -> None:
        """Raise NotYoursError unless the job is the actor's, or the actor an admin."""
        if job.user != self.user and self.user not in self.settings.admins:
            msg = f"job {job.id} belongs to {job.user}: ask them, or an admin of this home"
            raise NotYoursError(msg)

    def holds(self, job: Job) -> bool:
        """Tell whether a job's files are this account's: no other one can be its controller.

        Where a group shares a home, what is not made by this account may say anything.
        """
        try:
            return not self.home.shared or is_mine(self.home.job(job.user, job.id))
        except FileNotFoundError:
            return job.user == self.user

    def hold(self, job: Job) -> None:
        """Raise NotYoursError unless this account can be the job's controller."""
        if not self.holds(job):
            msg = (
                f"job {job.id} belongs to {job.user}, and runs with their account and their keys "
                f"alone: ask them, or do it as them (`sudo -u {job.user}`)"
            )
            raise NotYoursError(msg)

    def surroundings(self) -> "Surroundings":
        """Give what job files are read against."""
        from jobman_core.config.surroundings import Surroundings

        return Surroundings(
            self.home,
            self.plugins,
            self.settings,
            home_id=self.home_id,
            clock=self.clock,
        )

    async def resolve(self, text: str) -> str:
        """Give the full id of a job that is named by it, or by its last digits where unique.

        Raises:
            NotFoundError: no such job, or several.
        """
        ids = await self.store.job_ids()
        if text in ids:
            return text
        found = [job for job in ids if text.isdigit() and job.endswith(text)]
        if text.isdigit() and (full := text.zfill(6)) in ids:
            return full
        if len(found) == 1:
            return found[0]
        if found:
            msg = f"{text!r} fits jobs {', '.join(found[:5])}: write more digits"
        else:
            near = await self._meant(text, ids)
            hint = f"did you mean {near}?" if near else "`jobman list` shows those there are"
            msg = f"no job {text!r} in {self.home.root}: {hint}"
        raise NotFoundError(msg)

    async def _meant(self, text: str, ids: Sequence[str]) -> str | None:
        """Give the id of the job that was probably meant, by its id or its name."""
        if text.isdigit():
            # As it was written: the zeros in front of a short one would make it like any other.
            return nearest(text, ids)
        names = {record.job.name: record.job.id for record in await self.store.records()}
        near = nearest(text, names)
        return names[near] if near is not None else None

    async def record(self, text: str) -> JobRecord:
        """Give all facts about a job that is named by its id or last digits."""
        return await self.store.record(await self.resolve(text))

    @contextlib.asynccontextmanager
    async def tenure(self) -> AsyncIterator[Tenure]:
        """Be a controller for the length of a block."""
        async with Tenure(self.store, self.clock, self.terms) as tenure:
            yield tenure

    @contextlib.asynccontextmanager
    async def acting(
        self,
        record: JobRecord,
        *,
        tenure: Tenure | None = None,
        in_session: bool = False,
        to_end: bool = False,
    ) -> "AsyncIterator[JobContext]":
        """Hold a job's lease, and act for it, for the length of a block.

        Args:
            record: the job.
            tenure: this process as a controller, where it is one already.
            in_session: what is said goes to the session's log by itself.
            to_end: only to look, or to end what there is: that needs no readable snapshot.

        Raises:
            HeldError: a live controller has it.
            ConfigError: its snapshot was edited into something with faults.
        """
        async with contextlib.AsyncExitStack() as stack:
            if tenure is None:
                tenure = await stack.enter_async_context(self.tenure())
            hung = self.liveness(record) is Liveness.HUNG
            lease = await stack.enter_async_context(tenure.lease(record))
            if hung:
                await self._mend(record.job)
            # Some milliseconds of YAML, which other jobs of the process are not to wait for.
            around = self.surroundings()
            spec = await asyncio.to_thread(self.spec, record.job, around, to_end=to_end)
            yield self._context(record.job, spec, lease, tenure, in_session=in_session)

    async def _mend(self, job: Job) -> None:
        """See to the other jobs of a process that was killed because it hung."""
        try:
            await self.backends.session(job.session).mend()
        except JobmanError as error:
            _log.warning("jobs that shared a process with job %s have none now: %s", job.id, error)

    def spec(self, job: Job, around: "Surroundings", *, to_end: bool = False) -> JobSpec:
        """Give what a job is; to end it, no more than the store knows where its file is bad.

        Raises:
            ConfigError: its snapshot was edited into something with faults.
            NotYoursError: its files are another account's.
        """
        # YAML is too slow to import for commands that only look.
        from jobman_core.config.job import load_snapshot

        try:
            self.hold(job)
            return load_snapshot(self.home.config(job.user, job.id), around)
        except (ConfigError, NotYoursError):
            if not to_end:
                raise
            return JobSpec(job.name, "", HoldMode(), ())

    def _context(
        self, job: Job, spec: JobSpec, lease: Lease, tenure: Tenure, *, in_session: bool
    ) -> "JobContext":
        """Put together what acts for a job under a lease."""
        from jobman_core.run.context import JobContext
        from jobman_core.run.journal import Journal

        logs = self.home.logs(job.user, job.id)
        journal = Journal(logs, self.clock, self.scribe, self.echo, own_log=not in_session)
        return JobContext(
            job=job,
            spec=spec,
            lease=lease,
            tenure=tenure,
            store=self.store,
            cloud=self.backends.cloud(job.cloud),
            home=self.home,
            clock=self.clock,
            journal=journal,
            scribe=self.scribe,
            plugins=self.plugins,
            queues=self.queues,
            environment=self.backends.environment(spec.env_type),
            storages=self.backends.storages(spec.sections),
            links=self.links,
            reaches_hosts=self.holds(job),
            stuck_after=self.settings.stuck_after,
        )
