"""Hosts that do not answer while an attempt runs on them."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, TypeVar

from jobman_core.errors import HostUnreachableError, StoreError
from jobman_core.models.job import Step
from jobman_core.models.outcome import Cause, Outcome, interrupted
from jobman_core.run.context import JobContext
from jobman_core.run.watch import Watch

#: Seconds between two tries to reach hosts that are silent.
RETRY_EVERY: Final = 2.0
#: Seconds between two looks whether hosts have been silent for too long.
_LOOK_EVERY: Final = 2.0
#: Seconds for which the cloud is looked at that often, too: it tells of a loss later than hosts do.
HURRY_FOR: Final = 10.0

_T = TypeVar("_T")


class SilentTooLongError(Exception):
    """Hosts were silent for longer than the job allows."""


async def until_heard(
    ctx: JobContext,
    watch: Watch,
    action: Callable[[], Awaitable[_T]],
    tell: Callable[[str], Awaitable[None]],
) -> _T:
    """Act until all hosts answer, for as long as they may be silent under a READY node.

    Args:
        ctx: the job.
        watch: looks at the slice meanwhile.
        action: what to do; it may be done again and again.
        tell: lets people see what it waits for; empty: it goes on.

    Raises:
        SilentTooLongError: they were silent for longer.
    """
    since: float | None = None
    while True:
        await ctx.guard()
        try:
            done = await action()
        except HostUnreachableError as error:
            now = ctx.clock.monotonic()
            since = now if since is None else since
            if watch.silence(since) >= ctx.spec.unreachable_timeout:
                raise SilentTooLongError(str(error)) from error
            await watch.tell_of_silence(since, str(error))
            ctx.journal.retrying(f"{error}; looks at the slice, and tries again")
            await tell(str(error))
            watch.look_now()
            await ctx.clock.sleep(RETRY_EVERY)
        else:
            if since is not None:
                await tell("")
            return done


class Silence:
    """Which hosts of an attempt do not answer, since when, and what people are told of it."""

    def __init__(self, ctx: JobContext, watch: Watch) -> None:
        """Take all hosts for ones that answer.

        Args:
            ctx: the job.
            watch: looks at the slice meanwhile.
        """
        self._ctx = ctx
        self._watch = watch
        #: By host: seconds of the monotonic clock, and what is wrong.
        self._hosts: dict[int, tuple[float, str]] = {}
        #: Since when there is any.
        self._since = 0.0
        self._begun = asyncio.Event()
        self._told: tuple[str, datetime | None] = ("", None)

    async def begins(self, host: int, why: str) -> None:
        """Take in that a host does not answer."""
        self._watch.look_now()
        if not self._hosts:
            self._since = self._ctx.clock.monotonic()
        if host not in self._hosts:
            told = f"host {host} does not answer: {why}"
            named = why if why.startswith(f"host {host} ") else told
            self._hosts[host] = self._ctx.clock.monotonic(), named
            self._begun.set()
            self._ctx.journal.job(told)
            await self._tell_of_hosts()

    async def ends(self, host: int) -> None:
        """Take in that a host answers."""
        if self._hosts.pop(host, None) is not None:
            await self._tell_of_hosts()

    async def too_long(self) -> Outcome:
        """Return once a host has been silent under a READY node for longer than is allowed."""
        clock, allowed = self._ctx.clock, self._ctx.spec.unreachable_timeout
        while True:
            await self._begun.wait()
            self._begun.clear()
            while self._hosts:
                host, (since, _) = min(self._hosts.items(), key=lambda item: item[1])
                if self._watch.silence(since) >= allowed:
                    why = f"host {host} was silent for {allowed:g} s"
                    return interrupted(Cause.UNREACHABLE, why)
                await self._watch.tell_of_silence(self._since, self._in_words())
                if clock.monotonic() - since < HURRY_FOR:
                    self._watch.look_now()
                await clock.sleep(min(_LOOK_EVERY, allowed))

    async def tell(self, why: str, *, until: datetime | None = None) -> None:
        """Let people see what an attempt waits for, and until when; empty: it goes on."""
        if (why, until) == self._told:
            return
        self._told = why, until
        # Whether a program is followed does not depend on whether anybody can be told.
        with contextlib.suppress(StoreError):
            await self._ctx.store.set_step(self._ctx.lease, Step.EXECUTE, why, until=until)

    async def _tell_of_hosts(self) -> None:
        await self.tell(self._in_words())

    def _in_words(self) -> str:
        if not self._hosts:
            return ""
        first, *others = sorted(self._hosts)
        also = f" (nor does host {', '.join(map(str, others))})" if others else ""
        return f"{self._hosts[first][1]}{also}"
