"""Reports of a home: what was used in a span of time, and how one day went."""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import attrs

from jobman_core.billing import bill_of, check_split
from jobman_core.errors import InvalidInputError
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.billing import Bill, Charges, Lacking
from jobman_core.models.slice import Slice
from jobman_core.models.status import JobStatus
from jobman_core.models.usage import Day, IdleSlice, Usage, Used
from jobman_core.prices import tariff_of
from jobman_core.usage import day_of, hourly_cost, usage_of
from jobman_core.views import status_of_record

#: A slice that has been idle for less is most likely between two tasks.
IDLE_AFTER: Final = timedelta(minutes=10)
_BUSY: Final = (JobStatus.RUNNING, JobStatus.PREPARING)


class Reports:
    """Says what was used, for one person or for all."""

    def __init__(self, hub: Hub, *, zone: str | None = None) -> None:
        """Keep the home, and whose days it is asked for; None: those of its settings' zone."""
        self._hub = hub
        self._name = zone or hub.settings.time_zone
        self._zone = ZoneInfo(self._name) if self._name else None
        self._tariff = tariff_of(hub.settings)

    async def usage(
        self, since: datetime, until: datetime, *, by: str, user: str | None = None
    ) -> Usage:
        """Say what was used in a span of time, of everybody or of one user."""
        used = await self._hub.store.used(since, until)
        if user is not None:
            used = attrs.evolve(
                used,
                slices=tuple(slice_ for slice_ in used.slices if slice_.user == user),
                runs=tuple(run for run in used.runs if run.user == user),
            )
        return await self._add_up(used, since, until, by)

    async def bill(self, since: datetime, until: datetime, *, by: str) -> Bill | Lacking:
        """Say what clouds charged in a span of time; of one whose books are lacking, what is."""
        check_split(since, until, by)
        clouds = map(self._hub.backends.cloud, self._hub.plugins.names("cloud"))
        asked = [cloud for cloud in clouds if cloud.bills]
        if not asked:
            msg = "no cloud is installed that says what it charges: pip install jobman-gcp"
            raise InvalidInputError(msg)
        # A zone without a name is known by how far it is from UTC.
        zone = self._name or f"{since:%z}"[:3] + ":" + f"{since:%z}"[3:5]
        found = await asyncio.gather(*(cloud.costs(since, until, zone) for cloud in asked))
        known = [each for each in found if isinstance(each, Charges)]
        for each in found:
            if isinstance(each, Lacking) and not known:
                return each
        return bill_of(known, since, until, by=by)

    async def day(self, day: date) -> Day:
        """Say how one day of the home went, and what stands idle now."""
        since, until = (moment.astimezone(self._zone) for moment in day_of(day, self._zone))
        used = await self._hub.store.used(since, until)
        return Day(
            day=day,
            zone=self._name or since.tzname() or "UTC",
            users=await self._add_up(used, since, until, "user"),
            accelerators=await self._add_up(used, since, until, "accelerator"),
            idle=tuple(await self.idle()),
            reaped=tuple(event.text for event in used.reaped),
        )

    async def _add_up(self, used: Used, since: datetime, until: datetime, by: str) -> Usage:
        # A year of a large home takes seconds, for which nobody else is to wait.
        return await asyncio.to_thread(
            usage_of,
            used,
            since,
            until,
            by=by,
            tariff=self._tariff,
            now=self._hub.clock.now(),
            zone=self._zone,
        )

    async def idle(self) -> Sequence[IdleSlice]:
        """Give the slices that cost and have been idle for long, the longest first."""
        hub = self._hub
        records = await hub.store.records()
        await hub.look_around(records)
        found = []
        for record in records:
            slice_ = record.slice
            if slice_ is None or not slice_.costs or slice_.withdrawn or record.attempts:
                continue
            if status_of_record(record, hub.liveness(record))[0] in _BUSY:
                continue
            since = await self._idle_since(slice_)
            if hub.clock.now() - since >= IDLE_AFTER:
                found.append(self._idle_slice(record, slice_, since))
        return sorted(found, key=lambda idle: idle.since)

    async def _idle_since(self, slice_: Slice) -> datetime:
        """Say when the last attempt on a slice ended; where there was none, when it was ready."""
        attempts = await self._hub.store.attempts(job=slice_.job)
        ends = [
            attempt.ended_at
            for attempt in attempts
            if attempt.generation == slice_.generation and attempt.ended_at is not None
        ]
        return max([slice_.ready_at or slice_.requested_at, *ends])

    def _idle_slice(self, record: JobRecord, slice_: Slice, since: datetime) -> IdleSlice:
        job, what = record.job, slice_.request
        return IdleSlice(
            job=job.id,
            user=job.user,
            name=job.name,
            accelerator=what.accelerator,
            zone=what.zone,
            since=since,
            cost_per_hour=hourly_cost(what, self._tariff),
        )
