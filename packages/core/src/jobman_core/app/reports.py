"""What a facade tells of costs, and does about them."""

import asyncio
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from jobman_core.app.opening import Opening

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.models.reap import Holding, KeptSlice, Reaped
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

    async def chart(self, usage: "Usage") -> bytes:
        """Draw a usage report (PNG).

        Raises:
            InvalidInputError: matplotlib is not installed.
        """
        from jobman_core.chart import draw

        return await asyncio.to_thread(draw, usage)

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

    async def quota(self) -> Sequence["Holding"]:
        """Say what the accounts of this home hold, dead things too, by zone and family.

        Asked are the zones where this home has had slices, or keeps some alive, and those of the
        settings' ``reap.places``. What others hold there counts as well.
        """
        from jobman_core.quota import Accounts
        from jobman_core.territory import zones_of

        hub = await self._ready()
        return await Accounts(hub.backends.cloud, hub.clock).holdings(await zones_of(hub))
