"""What a facade tells of costs, and does about them."""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from jobman_core.app.opening import Opening
from jobman_core.interfaces.backend import Context

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from pathlib import Path

    from jobman_core.doctor.plugins import Installed
    from jobman_core.models.billing import Bill, Lacking
    from jobman_core.models.checkup import Examined
    from jobman_core.models.quota import Quota
    from jobman_core.models.reap import KeptSlice, Reaped
    from jobman_core.models.storage import BucketSize, Tell
    from jobman_core.models.usage import Day, Usage


class ReportsPart(Opening):
    """What was used, what is held, and what is of no use any more."""

    async def usage(
        self, since: datetime, until: datetime, *, by: str = "user", mine: bool = False
    ) -> "Usage":
        """Say what was used in a span of time.

        Args:
            since: the first moment.
            until: the first moment that is not part of it.
            by: the split: ``user``, ``accelerator``, ``job``, ``task`` or ``day``.
            mine: only what the actor's own jobs used.

        Raises:
            InvalidInputError: there is no such split, or the span ends before it begins.
        """
        from jobman_core.reports import Reports

        user = self.user if mine else None
        return await Reports(await self._ready()).usage(since, until, by=by, user=user)

    async def day(self, day: date, *, zone: str | None = None) -> "Day":
        """Give one day of the home, and what stands idle now.

        Args:
            day: which.
            zone: whose day it is, like ``Europe/Paris``; None: that of the home's settings.
        """
        from jobman_core.reports import Reports

        return await Reports(await self._ready(), zone=zone).day(day)

    async def billing(
        self, since: datetime, until: datetime, *, by: str = "service"
    ) -> "Bill | Lacking":
        """Say what clouds charged in a span of time; what is lacking where nobody can say.

        Args:
            since: the first moment.
            until: the first moment that is not part of it.
            by: the split: ``day``, ``service`` or ``user``.

        Raises:
            InvalidInputError: there is no such split, the span ends before it begins, settings are
                wrong, or no cloud is installed that has books.
            CloudError: they could not be read.
        """
        from jobman_core.reports import Reports

        return await Reports(await self._ready()).bill(since, until, by=by)

    async def chart(self, usage: "Usage") -> bytes:
        """Draw a usage report (PNG).

        Raises:
            InvalidInputError: matplotlib is not installed.
        """
        from jobman_core.chart import draw

        return await asyncio.to_thread(draw, usage)

    async def bill_chart(self, bill: "Bill") -> bytes:
        """Draw a bill (PNG).

        Raises:
            InvalidInputError: matplotlib is not installed.
        """
        from jobman_core.chart import draw

        return await asyncio.to_thread(draw, bill)

    async def reap(
        self,
        *,
        dry_run: bool = False,
        all: bool = False,  # noqa: A002 - the setting's own word
    ) -> "Reaped":
        """Delete what is dead, as the lab's ``reap`` section says; the first look only notes.

        Args:
            dry_run: look, note and tell; delete nothing.
            all: what this home did not make is deleted too, whatever that section says.

        Raises:
            HeldError: another process has been reaping in this home for long.
            NotYoursError: the home has admins, and only they delete what it did not make.
        """
        from jobman_core.reaper import Reaper

        return await Reaper(await self._ready()).reap(dry_run=dry_run, everything=all)

    async def keep(self, kept: Sequence["KeptSlice"]) -> Sequence[str]:
        """Ask again for those of the slices that have died; gives what was done, a line each.

        To be called again and again: each time does what is due.
        """
        from jobman_core.keep.keeper import Keeper

        hub = await self._ready()
        keeper = Keeper(
            hub.store, hub.backends.cloud, hub.home_id, hub.user, hub.clock, hub.settings.project
        )
        return await keeper.keep(kept)

    async def quota(self) -> "Quota":
        """Say what the accounts of this home hold, dead things too, and how much they may.

        Asked are the zones of the accounts, those where this home has had slices or keeps some
        alive, and those of the settings' ``reap.places``. What others hold there counts as well.
        """
        from jobman_core.quota import Accounts
        from jobman_core.territory import accounts_of, zones_of

        hub = await self._ready()
        zones = await zones_of(hub)
        accounts = await accounts_of(hub, zones)
        return await Accounts(hub.backends.cloud, hub.clock).quota(zones, accounts)

    async def storage(
        self, buckets: Sequence[str] = (), *, exact: bool = False, tell: "Tell | None" = None
    ) -> "Sequence[BucketSize]":
        """Say what buckets hold, the largest first; where that cannot be known, why not.

        Args:
            buckets: which; none: all of the account, and those that jobs of this home mount.
            exact: count every object, by top-level folder, instead of asking for yesterday's sum.
            tell: hears what is known of a bucket so far, while its objects are counted.

        Raises:
            InvalidInputError: no storage is installed that knows.
        """
        from jobman_core.storage_report import sizes_of

        return await sizes_of(await self._ready(), buckets, exact=exact, tell=tell)

    async def doctor(
        self,
        files: "Sequence[Path]" = (),
        plugins: "Sequence[Installed]" = (),
        *,
        offline: bool = False,
    ) -> "Sequence[Examined]":
        """Look at all that jobman needs, of the machine, this home and its accounts.

        There need be no home, and nothing is made of one that is not there.

        Args:
            files: job files that are to be run.
            plugins: those of a front end.
            offline: nothing of a network is asked.
        """
        from jobman_core.doctor import Doctor

        doctor = Doctor(
            self._home,
            self.user,
            self._clock,
            self.plugins_loaded,
            self._make_store(Context(self.home, "", self._clock)),
            self._settings,
            self._ready,
        )
        return await doctor.examine(files, plugins, offline=offline)
