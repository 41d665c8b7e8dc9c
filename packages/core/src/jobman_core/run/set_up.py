"""What an attempt needs on its hosts before it is launched: checked, its environment, its code."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import attrs

from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.host import Host
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Step
from jobman_core.models.task import Code, Repo
from jobman_core.packing import Archive, kept, of_run
from jobman_core.run.check_up import check_up, is_due
from jobman_core.run.checkout import MayPassError, checkout
from jobman_core.run.context import JobContext
from jobman_core.run.prepare import FIRST_PAUSE, LONGEST_PAUSE, TRIES, Preparation, Tell, pause_told
from jobman_core.run.shipping import ship
from jobman_core.run.silence import until_heard
from jobman_core.run.steps import environment_step, is_own
from jobman_core.run.watch import Watch
from jobman_core.run.work import Work

#: Seconds that code may take to get to a host.
CODE_LIMIT: Final = 1800.0

_T = TypeVar("_T")


class SetUp:
    """Makes hosts of a slice that was prepared fit for one attempt."""

    def __init__(self, ctx: JobContext, watch: Watch, tell: Tell) -> None:
        """Keep what it acts with.

        Args:
            ctx: the job.
            watch: looks at the slice meanwhile.
            tell: lets people see which host it waits for; empty: none.
        """
        self._ctx = ctx
        self._watch = watch
        self._tell = tell

    async def make(self, work: Work, attempt: Attempt, hosts: Sequence[int]) -> str | None:
        """Bring all that an attempt needs; what is there may be brought again.

        Args:
            work: what it runs.
            attempt: a commit that it has was chosen by a controller that was lost half way.
            hosts: where it was not started yet.

        Returns:
            the commit that was checked out, where it runs one.

        Raises:
            CommandFailedError: something cannot be brought, or a host is not fit for anything.
            InvalidInputError: a file that it needs cannot be used.
            SilentTooLongError: hosts were silent for longer than the job allows.
        """
        if self._ctx.set_up:
            if await is_due(self._ctx, self._watch.slice, hosts):
                await self._heard(lambda: check_up(self._ctx, self._watch.slice, hosts))
            await self._make_environment(work, hosts)
        if work.code is not None:
            await self._ship(work.code, attempt, hosts)
        if work.repo is None or work.workdir is None:
            return attempt.commit
        repo = attrs.evolve(work.repo, branch=attempt.commit or work.repo.branch)
        return await self._check_out(hosts, repo, work.workdir)

    async def _heard(self, action: Callable[[], Awaitable[_T]]) -> _T:
        return await until_heard(self._ctx, self._watch, action, self._tell)

    async def _make_environment(self, work: Work, hosts: Sequence[int]) -> None:
        """See that the environment that a task names is there; the job's own is."""
        ctx = self._ctx
        if ctx.environment is None or is_own(ctx.environment, ctx.spec, work.env):
            return
        step = await asyncio.to_thread(environment_step, ctx.environment, ctx.spec, work.env)
        if step.key == ctx.environment.name:
            return
        tell = partial(ctx.store.set_step, ctx.lease, Step.PREPARE)
        await Preparation(ctx, self._watch, tell).make([step], hosts)
        await ctx.store.set_step(ctx.lease, Step.EXECUTE, "")

    async def _check_out(self, hosts: Sequence[int], repo: Repo, workdir: str) -> str:
        """Check out, and again where a network or a server is away: that is no task's failure."""
        pause = FIRST_PAUSE

        async def bring() -> str:
            return await checkout(self._hosts(hosts), repo, workdir, limit=CODE_LIMIT)

        for tries_left in reversed(range(TRIES)):
            try:
                commit = await self._heard(bring)
            except MayPassError as error:
                if not tries_left:
                    raise
                await pause_told(self._ctx, self._tell, str(error), pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                await self._tell("")
                return commit
        raise AssertionError

    async def _ship(self, code: Code, attempt: Attempt, hosts: Sequence[int]) -> None:
        """Put a folder's code on hosts, as it was when it was packed."""
        ctx = self._ctx
        try:
            archive = await asyncio.to_thread(self._packed, code, attempt)
        except OSError as error:
            raise CommandFailedError(
                f"what {code.path} ships cannot be kept in the home ({error.strerror or error}): "
                "check its disk"
            ) from error
        ctx.journal.job(f"ships {code.path} as of snapshot {archive.snapshot[:12]}")

        async def bring() -> None:
            there = self._hosts(hosts)
            await ship(there, archive, code.workdir, limit=CODE_LIMIT, tell=ctx.journal.job)

        await self._heard(bring)

    def _packed(self, code: Code, attempt: Attempt) -> Archive:
        """Give what was packed of a job's code; that of a task is packed for its first attempt."""
        ctx = self._ctx
        if code.snapshot is not None:
            return kept(ctx.home.code(ctx.job.user, ctx.job.id), code)
        return of_run(ctx.home, attempt.run_id, code, ctx.clock.now())

    def _hosts(self, indices: Sequence[int]) -> Sequence[Host]:
        """Give the hosts, where they are by now."""
        hosts = self._ctx.hosts(self._watch.slice)
        return [hosts[index] for index in indices]
