"""What is done on hosts before they are given back."""

from typing import Final

from jobman_core.interfaces.host import Host
from jobman_core.models.slice import Slice, SlicePhase
from jobman_core.run.context import JobContext
from jobman_core.run.hosts import first_error, on_each, run_checked

#: Seconds for a host to let go of what is mounted there: what was written may still be on its way.
LIMIT: Final = 60.0


async def let_go(ctx: JobContext, slice_: Slice) -> None:
    """Unmount storage on hosts that are there; what cannot be is told, and keeps nobody waiting."""
    if slice_.phase is not SlicePhase.READY or slice_.lost_at is not None:
        return
    commands = [command for storage in ctx.storages for command in storage.unmount(ctx.spec)]
    if not commands:
        return

    async def unmount(host: Host) -> None:
        for command in commands:
            await run_checked(host, command, limit=LIMIT, what="letting go")

    await ctx.guard(LIMIT)
    if error := first_error(await on_each(ctx.hosts(slice_), unmount)):
        ctx.journal.tpu(f"storage is given back with its slice as it is: {error}")
