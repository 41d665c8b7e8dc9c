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
from jobman_core.interfaces.store import JobRecord, Store
from jobman_core.models.attempt import Attempt, AttemptRef
from jobman_core.models.job import Job, JobSpec
from jobman_core.models.lease import Lease
from jobman_core.models.slice import Observation, Slice, Unknown
from jobman_core.plugins import Plugins
from jobman_core.queue.service import QueueService
from jobman_core.run.agent import AgentRunner
from jobman_core.run.journal import Journal
from jobman_core.run.lease import Tenure

#: Seconds that an action on a host or a cloud may take; a lease must outlast it.
ACTION_LIMIT: Final = 60.0

_T = TypeVar("_T")


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
    plugins: Plugins
    queues: QueueService
    #: Of the job's ``env_type``.
    environment: Environment | None = None
    _runners: dict[int, Runner] = attrs.field(factory=dict, init=False)

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
        """
        await self.guard()
        await self._in_time(self.cloud.create(slice_.identity, slice_.request))

    async def observe(self, slice_: Slice) -> Observation:
        """Look at a slice; a cloud that does not answer in time says nothing about it."""
        try:
            return await self._in_time(self.cloud.observe(slice_.identity))
        except TransientCloudError as error:
            return Unknown(str(error))

    async def delete(self, slice_: Slice) -> None:
        """Ask the cloud for the end of a slice.

        Raises:
            TransientCloudError: also where there was no answer in time.
        """
        await self.guard()
        await self._in_time(self.cloud.delete(slice_.identity))

    async def _in_time(self, asked: Coroutine[Any, Any, _T]) -> _T:
        """Wait for a cloud's answer, for as long as an action may take on the job's own clock."""
        answer = asyncio.ensure_future(asked)
        limit = asyncio.ensure_future(self.clock.sleep(ACTION_LIMIT))
        try:
            await asyncio.wait((answer, limit), return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
        finally:
            limit.cancel()
            answer.cancel()
        msg = f"cloud {self.cloud.name!r} gave no answer within {ACTION_LIMIT:g} s"
        raise TransientCloudError(msg)

    def hosts(self, slice_: Slice) -> Sequence[Host]:
        """Give the way to a slice's hosts."""
        return self.cloud.hosts(slice_)

    def runner(self, slice_: Slice) -> Runner:
        """Give what keeps attempts on a slice: its own runner, else the agent on its hosts."""
        runner = self._runners.get(slice_.generation)
        if runner is None:
            runner = self.cloud.runner(slice_) or AgentRunner(self.hosts(slice_), self.clock)
            self._runners[slice_.generation] = runner
        return runner

    def ref(self, attempt: Attempt, hosts: Sequence[int] = ()) -> AttemptRef:
        """Name an attempt to the hosts' agents, under this controller's epoch."""
        return AttemptRef(attempt.token, self.lease.epoch, tuple(hosts or attempt.hosts))
