"""Steps that run on hosts, whoever began them."""

import re
from typing import Final

from jobman_core.command import Command
from jobman_core.errors import HostUnreachableError, JobmanError, UnfinishedError
from jobman_core.interfaces.host import Host
from jobman_core.models.attempt import AttemptRef
from jobman_core.models.slice import Slice
from jobman_core.run.context import JobContext
from jobman_core.run.hosts import on_each

#: Seconds between TERM and KILL.
_GRACE: Final = 5.0
#: Seconds for a host to say which steps run there.
_LIST_LIMIT: Final = 20.0
#: Lists what runs of steps on a host; their names there begin so.
_LIVE: Final = (
    'for step in .jobman/attempts/step-*; do [ ! -d "$step" ] || [ -e "$step/final" ] || '
    'printf "jobman-step %s\\n" "${step##*/}"; done'
)
_LIVE_TOKEN: Final = re.compile(rb"^jobman-step (step-[\w.-]+)$", re.MULTILINE)


async def live_steps(host: Host) -> list[str]:
    """Give the tokens of the steps that have no end on record on a host.

    Raises:
        HostUnreachableError: no answer.
    """
    listed = await host.run(Command(("sh", "-c", _LIVE), transient=True), limit=_LIST_LIMIT)
    return sorted({token.decode("ascii") for token in _LIVE_TOKEN.findall(listed.stdout)})


async def end_steps(ctx: JobContext, slice_: Slice) -> None:
    """End whatever prepares hosts, on all of them.

    Raises:
        UnfinishedError: a host does not answer.
    """

    async def end(host: Host) -> None:
        for token in await live_steps(host):
            ref = AttemptRef(token, ctx.lease.epoch, (host.index,))
            for done in (await ctx.runner(slice_).end(ref, grace=_GRACE)).values():
                if not done.confirmed:
                    raise HostUnreachableError(f"host {host.index}: {done.detail}")

    await ctx.guard()
    for error in (await on_each(ctx.hosts(slice_), end)).values():
        if isinstance(error, JobmanError):
            raise UnfinishedError(f"what prepares hosts may still run: {error}") from error
