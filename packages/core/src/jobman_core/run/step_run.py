"""One try of a step on its hosts: it outlives the link and the controller, as attempts do."""

import asyncio
import contextlib
import hashlib
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, Final, Protocol, TypeVar

import attrs

from jobman_core.command import Command
from jobman_core.errors import (
    CommandFailedError,
    HostUnreachableError,
)
from jobman_core.interfaces.host import HostFacts
from jobman_core.models.attempt import SCRIPT, AttemptRef, HostReport, HostState, LaunchPlan
from jobman_core.run.context import JobContext
from jobman_core.run.host_step import HostStep
from jobman_core.run.output import OutputFile
from jobman_core.run.silence import SilentTooLongError
from jobman_core.run.watch import Watch
from jobman_core.run.work import surroundings

#: What a command ends with that met something that passes (``EX_TEMPFAIL``, sysexits.h).
MAY_PASS: Final = 75
#: Seconds between two tries to follow a step where something hinders it.
_RETRY_EVERY: Final = 2.0
#: Seconds between TERM and KILL.
_GRACE: Final = 5.0

_UNDER_WAY: Final = (HostState.LAUNCHING, HostState.RUNNING, HostState.ENDING)
#: Nobody knows how it ended, and nobody ordered that.
_GONE: Final = (HostState.LOST, HostState.NONE)
_T = TypeVar("_T")


class Heard(Protocol):
    """Does something until hosts answer, for as long as they may be silent."""

    async def __call__(self, action: Callable[[], Awaitable[_T]]) -> _T:
        """Do it."""


@attrs.frozen
class Ended:
    """How a step ended on one host."""

    #: None: nobody knows, or it was ended.
    code: int | None
    #: Its last words.
    tail: str
    #: Why there is no code.
    why: str = ""
    #: Nothing was wrong there: it was ended because another host's failed.
    spared: bool = False
    #: Its processes are gone and nobody ended them: the host was started again, say.
    lost: bool = False

    @property
    def may_pass(self) -> bool:
        """Tell whether another try may go better."""
        return self.lost or self.code == MAY_PASS


class StepRun:
    """Runs a step on hosts, or goes on with it where it runs already."""

    def __init__(
        self, ctx: JobContext, watch: Watch, step: HostStep, hosts: Sequence[int], heard: Heard
    ) -> None:
        """Keep what it acts with."""
        self._ctx = ctx
        self._watch = watch
        self._step = step
        self._hosts = tuple(hosts)
        self._heard = heard
        self._outputs: dict[int, OutputFile] = {}
        #: Where it was over before it was gone on with: that may be from before the host was
        #: started again.
        self.over_before: tuple[int, ...] = ()

    async def run(self) -> Mapping[int, Ended]:
        """Give how it ended on each host. Where it fails for good on one, the others are ended.

        Raises:
            SilentTooLongError: hosts were silent for longer than the job allows.
        """
        ctx = self._ctx
        ref, fresh = await self._heard(self._try)
        for host in self._hosts:
            output = await ctx.scribe.do(partial(self._output, host, fresh=fresh))
            self._outputs[host] = output
            if output.stuck:
                ctx.journal.job(output.stuck)
        if not fresh:
            ctx.journal.job(f"{self._step.title}: goes on")
        plan = self._plan()
        try:
            # Where it was launched before nothing happens.
            await self._heard(lambda: ctx.runner(self._watch.slice).launch(ref, plan))
        except CommandFailedError:
            # One host refused: where it was started nobody waits for its end.
            await ctx.guard()
            await ctx.runner(self._watch.slice).end(ref, grace=_GRACE)
            raise
        last = await self._follow(ref)
        return {host: self._ended(host, last) for host in self._hosts}

    async def _try(self) -> tuple[AttemptRef, bool]:
        """Name the try that is under way on the hosts, else a new one; tell if it is new."""
        ctx, slice_, step = self._ctx, self._watch.slice, self._step
        what = f"{ctx.job.id} {slice_.generation} {step.key} {step.content}"
        stem = f"step-{hashlib.sha256(what.encode()).hexdigest()[:24]}"
        for number in itertools.count(1):
            ref = AttemptRef(f"{stem}-{number}", ctx.lease.epoch, self._hosts)
            reports = await ctx.runner(slice_).poll(ref)
            for report in reports.values():
                if report.state is HostState.SILENT:
                    msg = f"host {report.host} does not answer: {report.detail}"
                    raise HostUnreachableError(msg)
            states = {report.state for report in reports.values()}
            if states == {HostState.NONE}:
                return ref, True
            if states.intersection(_UNDER_WAY):
                over = (host for host, r in reports.items() if r.state not in _UNDER_WAY)
                self.over_before = tuple(over)
                return ref, False
        raise AssertionError

    def _output(self, host: int, *, fresh: bool) -> OutputFile:
        job = self._ctx.job
        path = self._ctx.home.step_log(job.user, job.id, self._step.key, host)
        if fresh:
            # What cannot be removed cannot be written either, which the copy bears.
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        return OutputFile(path)

    def _plan(self) -> LaunchPlan:
        step, slice_ = self._step, self._watch.slice
        facts = {host.index: host.facts for host in self._ctx.hosts(slice_)}
        everywhere = range(len(slice_.hosts))
        env = surroundings(self._ctx.job.id, slice_, everywhere)
        argv = ("bash", SCRIPT, step.key, step.content, "0" if step.required else "1")
        return LaunchPlan(
            _script(),
            Command(argv, env=env, stdin=step.wired(step.env)),
            {index: _of_host(index, facts.get(index, HostFacts())) for index in everywhere},
            stays=True,
        )

    # -- following -------------------------------------------------------------------------

    async def _follow(self, ref: AttemptRef) -> Mapping[int, HostReport]:
        """Wait for the end everywhere, or for too long; give the last report of each host.

        Where the job needs the step, the first end that is bad for good is enough.
        """
        last: dict[int, HostReport] = {}
        async with _together({host: self._follow_host(ref, host) for host in ref.hosts}) as tasks:
            bell = asyncio.ensure_future(self._bell())
            pending = {bell, *tasks.values()}
            try:
                while pending - {bell} and not bell.done():
                    _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                    last |= {h: task.result() for h, task in tasks.items() if task.done()}
                    if self._step.required and any(map(_is_bad, last.values())):
                        break
            finally:
                bell.cancel()
        if left := tuple(host for host in ref.hosts if host not in last):
            await self._heard(partial(self._end, attrs.evolve(ref, hosts=left)))
        return last

    async def _bell(self) -> None:
        if self._step.limit is None:
            await asyncio.get_running_loop().create_future()
        else:
            await self._ctx.clock.sleep(self._step.limit)

    async def _follow_host(self, ref: AttemptRef, host: int) -> HostReport:
        """Copy the output of one host until the end; give the report of that."""
        ctx, output = self._ctx, self._outputs[host]
        silent_since: float | None = None
        while True:
            last: HostReport | None = None
            runner = ctx.runner(self._watch.slice)
            reports = runner.follow(attrs.evolve(ref, hosts=(host,)), {host: output.offset})
            async with contextlib.aclosing(reports):
                async for report in reports:
                    if report.state is HostState.SILENT:
                        silent_since = silent_since or ctx.clock.monotonic()
                        await self._bear(report, silent_since)
                        if ctx.runner(self._watch.slice) is not runner:
                            break
                        continue
                    silent_since, last = None, report
                    was_stuck = output.stuck
                    await ctx.scribe.do(partial(output.write, report.offset, report.data))
                    if output.stuck:
                        if output.stuck != was_stuck:
                            ctx.journal.job(output.stuck)
                        # The same is asked for again later; the step waits for no disk here.
                        break
            if last is not None and last.state not in _UNDER_WAY:
                return attrs.evolve(last, data=b"")
            await ctx.clock.sleep(_RETRY_EVERY)

    async def _bear(self, report: HostReport, since: float) -> None:
        """Take in that a host does not answer.

        Raises:
            SilentTooLongError: for longer than the job allows.
        """
        ctx, step = self._ctx, self._step
        why = f"host {report.host} does not answer while {step.title} runs there: {report.detail}"
        ctx.journal.retrying(why)
        self._watch.look_now()
        await self._watch.tell_of_silence(since, why)
        if self._watch.silence(since) >= ctx.spec.unreachable_timeout:
            raise SilentTooLongError(why)

    def _ended(self, host: int, last: Mapping[int, HostReport]) -> Ended:
        tail = self._outputs[host].tail.decode("utf-8", "replace")
        if host not in last:
            spared = self._step.required and any(map(_is_bad, last.values()))
            why = "" if spared else f"took longer than {self._step.limit:g} s"
            return Ended(None, tail, why, spared=spared)
        report = last[host]
        if report.code is None:
            lost = report.state in _GONE
            why = "its processes are gone without a record" if lost else "it was ended"
            return Ended(None, tail, why, lost=lost)
        return Ended(report.code, tail)

    async def _end(self, ref: AttemptRef) -> None:
        runner = self._ctx.runner(self._watch.slice)
        for end in (await runner.end(ref, grace=_GRACE)).values():
            if not end.confirmed:
                raise HostUnreachableError(f"host {end.host} has not confirmed: {end.detail}")


def _is_bad(report: HostReport) -> bool:
    """Tell whether a step that ended so does not pass."""
    return report.code not in (0, MAY_PASS) and report.state not in _GONE


@cache
def _script() -> str:
    return files("jobman_core.run").joinpath("step.sh").read_text(encoding="utf-8")


def _of_host(index: int, facts: HostFacts) -> Mapping[str, str]:
    return {"JOBMAN_WORKER_ID": str(index), "JOBMAN_BOOT_ID_FILE": facts.boot_id_file}


@contextlib.asynccontextmanager
async def _together(bodies: Mapping[int, Any]) -> AsyncIterator[Mapping[int, "asyncio.Task[Any]"]]:
    """Run coroutines side by side for the length of a block; none outlives it."""
    tasks = {key: asyncio.ensure_future(body) for key, body in bodies.items()}
    try:
        yield tasks
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
