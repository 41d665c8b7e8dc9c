"""What everything that acts for one job needs."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Final, TypeVar

import attrs

from jobman_core.clock import Clock
from jobman_core.errors import TransientCloudError
from jobman_core.home import Home
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import Host, Runner
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.storage import Storage
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.attempt import Attempt, AttemptRef
from jobman_core.models.job import Job, JobSpec
from jobman_core.models.lease import Lease
from jobman_core.models.settings import Settings
from jobman_core.models.slice import HostInfo, Observation, Slice, Unknown
from jobman_core.plugins import Plugins
from jobman_core.queue.service import QueueService
from jobman_core.run.agent import AgentRunner
from jobman_core.run.journal import Journal
from jobman_core.run.lease import Tenure
from jobman_core.run.patience import in_time
from jobman_core.run.questions import problems_of
from jobman_core.run.scribe import Scribe
from jobman_core.ssh import Access, Links, hosts_of, public_keys

#: Seconds that an action on a host or a cloud may take; a lease must outlast it.
ACTION_LIMIT: Final = 60.0

_T = TypeVar("_T")

#: A generation and its hosts: a machine that was started again may have another address.
_Machines = tuple[int, tuple[HostInfo, ...]]


@attrs.define
class JobContext:
    """One job, the lease to act for it, and the backends that do so."""

    job: Job
    spec: JobSpec
    lease: Lease
    tenure: Tenure
    store: Store
    cloud: Cloud
    home: Home
    clock: Clock
    journal: Journal
    scribe: Scribe
    plugins: Plugins
    queues: QueueService
    #: Of the job's ``env_type``.
    environment: Environment | None = None
    #: Those that have a section in the job's file.
    storages: Sequence[Storage] = ()
    #: The connections to hosts that are reached by SSH; those of one process are shared.
    links: Links = attrs.field(factory=Links)
    #: The hosts let this account in: not those of another one's job, in a home that both share.
    reaches_hosts: bool = True
    #: Hosts are prepared, and looked at, before work; else they are taken as they are.
    set_up: bool = True
    #: Seconds without a slice after which people are told that the job is stuck.
    stuck_after: float = Settings().stuck_after
    #: What checks found last that was not mended, by generation and host: it is told once.
    troubles: dict[tuple[int, int], frozenset[str]] = attrs.field(factory=dict, init=False)
    _problems: Sequence[HostProblem] | None = attrs.field(default=None, init=False)
    _runners: dict[_Machines, Runner] = attrs.field(factory=dict, init=False)
    _hosts: dict[_Machines, Sequence[Host]] = attrs.field(factory=dict, init=False)

    async def record(self) -> JobRecord:
        """Read all facts about the job."""
        record = await self.store.record(self.job.id)
        self.job = record.job
        return record

    async def guard(self, seconds: float = ACTION_LIMIT) -> None:
        """Make sure that an action of so many seconds may be begun.

        Raises:
            StaleLeaseError: it may not: someone else acts for the job now.
        """
        await self.tenure.guard(self.lease, seconds)

    async def create(self, slice_: Slice) -> None:
        """Ask the cloud for a slice.

        Raises:
            TransientCloudError: also where there was no answer in time: it may be on its way.
            PermanentCloudError: also where there is no key that its hosts could let in.
        """
        await self.guard()
        request = self.whole(slice_).request
        if self.cloud.hosts(slice_) is None:
            keys = await public_keys(self._access, self.links)
            request = attrs.evolve(request, public_keys=(*request.public_keys, *keys))
        await self._in_time(self.cloud.create(slice_.identity, request))

    async def observe(self, slice_: Slice) -> Observation:
        """Look at a slice; a cloud that does not answer in time says nothing about it."""
        try:
            return await self._in_time(self.cloud.observe(slice_.identity))
        except TransientCloudError as error:
            return Unknown(str(error))

    async def see(
        self, slice_: Slice, *, than: float, every: float
    ) -> tuple[Observation | None, float]:
        """Give what a look at a slice's whole zone says of it, and when that look began.

        None: nothing, which proves nothing: it takes a look at the slice itself.

        Args:
            slice_: of a cloud that is looked at so.
            than: the look is newer than that: seconds of the monotonic clock.
            every: seconds between two looks.
        """
        return await self.tenure.zones.see(self.cloud, slice_.identity, than=than, every=every)

    async def delete(self, slice_: Slice) -> None:
        """Ask the cloud for the end of a slice.

        Raises:
            TransientCloudError: also where there was no answer in time.
        """
        await self.guard()
        await self._in_time(self.cloud.delete(slice_.identity))

    async def _in_time(self, asked: Coroutine[Any, Any, _T]) -> _T:
        """Wait for a cloud's answer, for as long as an action may take on the job's own clock."""
        return await in_time(asked, self.clock, ACTION_LIMIT, f"cloud {self.cloud.name!r}")

    def whole(self, slice_: Slice) -> Slice:
        """Give a slice with the options of its request, of which the store keeps next to nothing.

        What the job's file does not ask for any more stays as the store has it.
        """
        index = slice_.request.among(self.spec.candidates)
        return (
            slice_ if index is None else attrs.evolve(slice_, request=self.spec.candidates[index])
        )

    def hosts(self, slice_: Slice) -> Sequence[Host]:
        """Give the way to a slice's hosts."""
        key = (slice_.generation, slice_.hosts)
        hosts = self._hosts.get(key)
        if hosts is None:
            job = self.job
            path = self.home.known_hosts(job.user, job.id, slice_.generation)
            hosts = hosts_of(self.cloud, self.whole(slice_), self._access, path, self.links)
            self._hosts[key] = hosts
        return hosts

    @property
    def _access(self) -> Access:
        return Access.of_job(self.job.user, self.spec)

    def runner(self, slice_: Slice) -> Runner:
        """Give what keeps attempts on a slice: its own runner, else the agent on its hosts."""
        key = (slice_.generation, slice_.hosts)
        runner = self._runners.get(key)
        if runner is None:
            runner = self.cloud.runner(self.whole(slice_)) or AgentRunner(
                self.hosts(slice_), self.clock
            )
            self._runners[key] = runner
        return runner

    async def problems(self) -> Sequence[HostProblem]:
        """Give all that can be wrong on the job's hosts; what plugins say of that is asked once."""
        if self._problems is None:
            self._problems = await asyncio.to_thread(
                problems_of, self.spec, self.environment, self.storages, self.plugins
            )
        return self._problems

    def ref(self, attempt: Attempt, hosts: Sequence[int] = ()) -> AttemptRef:
        """Name an attempt to the hosts' agents, under this controller's epoch."""
        return AttemptRef(attempt.token, self.lease.epoch, tuple(hosts or attempt.hosts))
