"""The jobs of a home: controllers that were lost, long waits, and what costs for nothing."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from jobman_core.config.identities import WITHOUT_SSH
from jobman_core.doctor.asking import ask_all
from jobman_core.doctor.keys import key_of
from jobman_core.errors import ConfigError
from jobman_core.hub import Hub
from jobman_core.interfaces.store import JobRecord
from jobman_core.jobs import Jobs
from jobman_core.models.checkup import Checkup, Health
from jobman_core.models.job import Desired, Job
from jobman_core.models.lease import Liveness
from jobman_core.models.quota import Holding
from jobman_core.models.reap import Fate, Reaped
from jobman_core.models.status import JobStatus
from jobman_core.models.usage import IdleSlice
from jobman_core.quota import Accounts
from jobman_core.reaper import Reaper
from jobman_core.reports import Reports
from jobman_core.run.stuck import waiting_since
from jobman_core.ssh import Access
from jobman_core.territory import accounts_of, zones_of
from jobman_core.views import job_view

#: So many jobs, or slices, are named.
_NAMED: Final = 8
#: So many jobs have their files read, the newest.
_READ: Final = 200
_HOUR: Final = timedelta(hours=1)


async def jobs(hub: Hub, *, offline: bool) -> Sequence[Checkup]:
    """Look at all of it; nothing is noted.

    Args:
        hub: the home.
        offline: no cloud may be asked.
    """
    records = await hub.store.records()
    await hub.look_around(records)
    return await ask_all(
        ("controllers", _controllers(hub, records)),
        ("long waits", _waits(hub, records)),
        ("idle slices", _idle(hub)),
        ("job files", _files(hub, records)),
        *(() if offline else (("orphans", _orphans(hub)), ("quota", _quota(hub)))),
    )


async def _controllers(hub: Hub, records: Sequence[JobRecord]) -> Sequence[Checkup]:
    hung = {r.job.id for r in records if hub.liveness(r) is Liveness.HUNG}
    return judge_controllers(await Jobs(hub).unattended(), hung)


def judge_controllers(unattended: Sequence[str], hung: set[str]) -> Sequence[Checkup]:
    """Say which jobs nobody drives, though they should run or be brought to their end.

    Args:
        unattended: all of them.
        hung: those whose controllers are there, and give no sign of life.
    """
    name = "controllers"
    if not unattended:
        return [Checkup.well(name, "every job that should have one does")]
    lost = [job for job in unattended if job not in hung]
    found = []
    for which, what in ((lost, "lost"), ([j for j in unattended if j in hung], "hung")):
        if which:
            remedy = f"run `jobman resume {which[0] if len(which) == 1 else '--all'}`"
            found.append(Checkup.broken(name, f"{_named(which)}: {what}", remedy))
    return found


async def _waits(hub: Hub, records: Sequence[JobRecord]) -> Checkup:
    now, waits = hub.clock.now(), {}
    for record in records:
        if job_view(record, hub.liveness(record)).status is not JobStatus.QUEUEING:
            continue
        events = await hub.store.events(job=record.job.id, limit=1_000_000)
        if (since := waiting_since(events)) is not None:
            waits[record.job.id] = now - since
    return judge_waits(waits, timedelta(seconds=hub.settings.stuck_after))


def judge_waits(waits: Mapping[str, timedelta], long: timedelta) -> Checkup:
    """Say which jobs have waited long for a slice."""
    name = "long waits"
    late = sorted(job for job, wait in waits.items() if wait >= long)
    if not late:
        return Checkup.well(name, f"no job has waited {long / _HOUR:g} h for a slice")
    told = f"{_named(late)}: no slice for {max(waits[j] for j in late) / _HOUR:.0f} h"
    remedy = f"`jobman show {late[0]}` says why; tpu.zones can name more zones"
    return Checkup.doubt(name, told, remedy)


async def _idle(hub: Hub) -> Checkup:
    return judge_idle(await Reports(hub).idle(), hub.clock.now())


def judge_idle(idle: Sequence[IdleSlice], now: datetime) -> Checkup:
    """Say which slices cost though nothing runs on them, the longest idle first."""
    name = "idle slices"
    if not idle:
        return Checkup.well(name, "none costs for nothing")
    jobs_ = [one.job for one in idle]
    hours = (now - idle[0].since) / _HOUR
    told = f"{_named(jobs_)}: nothing has run there for up to {hours:.1f} h, and they cost"
    return Checkup.doubt(name, told, f"run `jobman cancel {' '.join(jobs_[:_NAMED])}`")


async def _files(hub: Hub, records: Sequence[JobRecord]) -> Sequence[Checkup]:
    wanted = [record.job for record in records if record.job.desired is Desired.RUNNING]
    bad, keys = await asyncio.to_thread(_read, hub, wanted[-_READ:])
    found = [*bad, *[await key_of(key, hub.links) for key in sorted(keys, key=str)]]
    wrong = [each for each in found if each.health is not Health.WELL]
    return wrong or [Checkup.well("job files", "those of jobs that should run have no faults")]


def _read(hub: Hub, jobs_: Sequence[Job]) -> tuple[Sequence[Checkup], set[Path | None]]:
    """Read what jobs are started with; give the faults of that, and the key that each names."""
    bad: list[Checkup] = []
    around, keys = hub.surroundings(), set[Path | None]()
    for job in jobs_:
        try:
            spec = hub.spec(job, around)
        except ConfigError as error:
            remedy = f"correct it, then run `jobman resume {job.id}`"
            bad += [Checkup.broken("job files", str(fault), remedy) for fault in error.faults]
        else:
            if job.cloud != WITHOUT_SSH:
                keys.add(Access.of_job(job.user, spec).private_key)
    return bad, keys


async def _orphans(hub: Hub) -> Sequence[Checkup]:
    return judge_orphans(await Reaper(hub).look())


def judge_orphans(found: Reaped) -> Sequence[Checkup]:
    """Say what stands at the clouds and is of no use to any job."""
    name = "orphans"
    unseen = [
        Checkup.unknown(name, f"zone {zone} could not be looked at: {why}")
        for zone, why in found.unseen
    ]
    dead = [each for each in found.found if each.fate is not Fate.KEPT]
    ours = [each.name for each in dead if each.ours]
    others = [each.name for each in dead if not each.ours]
    if ours:
        told = f"{_named(ours)}: this home's, of no use, and it costs or holds quota"
        remedy = "run `jobman reap`, and again after some minutes"
        return [Checkup.broken(name, told, remedy), *unseen]
    if others:
        told = f"{_named(others)}: dead, of another home, and it holds quota"
        return [Checkup.doubt(name, told, "`jobman reap --all` deletes it too"), *unseen]
    if unseen or not found.looked:
        return unseen
    return [Checkup.well(name, f"none in {', '.join(found.looked[:_NAMED])}")]


async def _quota(hub: Hub) -> Checkup | None:
    zones = await zones_of(hub)
    if not zones:
        return None
    accounts = Accounts(hub.backends.cloud, hub.clock)
    return judge_quota((await accounts.quota(zones, await accounts_of(hub, zones))).holdings)


def judge_quota(holdings: Sequence[Holding]) -> Checkup | None:
    """Say which limits on chips are reached; None: nobody knows of any.

    Args:
        holdings: of all that the accounts hold, by zone.
    """
    name = "quota"
    full = [each for each in holdings if each.is_full]
    if not full:
        limited = any(each.limit is not None for each in holdings)
        return Checkup.well(name, "no limit on chips is reached") if limited else None
    told = _named([f"{x.family} {x.pricing} in {x.limited_in or x.zone}" for x in full])
    dead = sum(each.dead for each in full)
    if dead:
        told += f": {dead} chips of that are held by what is dead"
        return Checkup.doubt(name, f"the limit is reached of {told}", "run `jobman reap`")
    remedy = "`jobman quota` shows who holds what; tpu.zones can name more zones"
    return Checkup.doubt(name, f"the limit is reached of {told}", remedy)


def _named(words: Sequence[str]) -> str:
    more = len(words) - _NAMED
    return ", ".join([*words[:_NAMED], *([f"and {more} more"] if more > 0 else [])])
