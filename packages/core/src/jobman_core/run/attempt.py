"""One attempt: launched or adopted, followed to its outcome, and proved to be over."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import attrs

from jobman_core.errors import (
    CommandFailedError,
    HostUnreachableError,
    InvalidInputError,
    UnfinishedError,
)
from jobman_core.interfaces.host import EndReport, Runner
from jobman_core.models.attempt import Attempt, AttemptRef, HostReport, HostState
from jobman_core.models.job import Desired
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind, interrupted
from jobman_core.models.slice import Slice, SlicePhase, Unknown
from jobman_core.run.context import JobContext
from jobman_core.run.decide import by_loss, ended_on, false_success, judge, succeeded
from jobman_core.run.meta import MetaFile
from jobman_core.run.orders import Orders
from jobman_core.run.output import OutputFile
from jobman_core.run.outside import end_outside
from jobman_core.run.race import race
from jobman_core.run.set_up import SetUp
from jobman_core.run.silence import RETRY_EVERY, Silence, SilentTooLongError, until_heard
from jobman_core.run.slices import Slices
from jobman_core.run.watch import Watch
from jobman_core.run.work import Work, plan_of

#: Seconds between TERM and KILL.
GRACE: Final = 10.0
#: Seconds to fetch, or to write, what is left of an attempt that is over.
DRAIN_LIMIT: Final = 30.0
#: Seconds for which a stop waits for hosts that are silent.
STOP_LIMIT: Final = 60.0
#: The same, where the slice is to go anyway: its absence is proof as well.
SHORT_LIMIT: Final = 20.0
#: Somebody ordered the end, whose outcome is not on record: it goes on there, or nowhere.
_ORDERED: Final = (HostState.ENDING, HostState.ENDED)

_T = TypeVar("_T")


class AttemptRun:
    """Drives one attempt on one slice. Whoever comes next can go on from any point."""

    def __init__(
        self,
        ctx: JobContext,
        slices: Slices,
        slice_: Slice,
        attempt: Attempt,
    ) -> None:
        """Keep what it acts with."""
        self._ctx = ctx
        #: Heard while it runs; None where its end is wanted already.
        self._orders: Orders | None = None
        self._patience = STOP_LIMIT
        self._slices = slices
        self._watch = Watch(slices, slice_, ctx)
        self._last_there = slice_
        self.attempt = attempt
        self._exits: dict[int, int | None] = {}
        self._lost: dict[int, str] = {}
        self._outputs: dict[int, OutputFile] = {}
        self._meta = MetaFile(ctx, slice_)
        self._silence = Silence(ctx, self._watch)

    @property
    def slice(self) -> Slice:
        """The slice, as last seen."""
        return self._watch.slice

    @property
    def _runner(self) -> Runner:
        """The way to its hosts, wherever they are now; once it is gone, where they were last."""
        return self._ctx.runner(self._there)

    @property
    def _there(self) -> Slice:
        if self.slice.hosts:
            self._last_there = self.slice
        return self._last_there

    async def run(self, work: Work, orders: Orders) -> Outcome:
        """Launch or adopt it; give the outcome, with proof that nothing of it runs any more.

        Raises:
            StaleLeaseError: someone else acts for the job now; the attempt is theirs.
            UnfinishedError: its end was asked for, and cannot be proved now.
        """
        self._orders = orders
        there = len(self.slice.hosts)
        hosts = self.attempt.hosts or work.workers.pick(there)
        if not hosts:
            detail = f"the slice has {there} hosts, none of those asked for"
            return Outcome(OutcomeKind.FAILED, Cause.SETUP_FAILED, (), detail)
        self.attempt = attrs.evolve(self.attempt, hosts=hosts)
        await self._open_outputs(work)
        return await self._finish(work, await self._first_end(work, orders))

    async def end(self, work: Work, cause: str, *, patience: float = STOP_LIMIT) -> Outcome:
        """End an attempt that nobody follows.

        Args:
            work: what it runs.
            cause: why it ends.
            patience: seconds to wait for hosts that are silent.

        Raises:
            UnfinishedError: that cannot be proved now.
        """
        self._patience = patience
        await self._open_outputs(work)
        return await self._finish(work, interrupted(cause))

    async def make_up(self, work: Work, outcome: Outcome) -> None:
        """Write what this machine's disk did not take; the hosts have it for a while yet."""
        clock = self._ctx.clock
        deadline = clock.monotonic() + DRAIN_LIMIT
        while self._copies_stand or self._meta.owed:
            if clock.monotonic() >= deadline:
                self._ctx.journal.job(f"what attempt {self.attempt.number} left is not all here")
                return
            if self._copies_stand:
                await self._drain()
            await self._meta.write(work, self.attempt, outcome)
            if self._copies_stand or self._meta.owed:
                await clock.sleep(RETRY_EVERY)

    @property
    def _copies_stand(self) -> bool:
        return any(output.stuck for output in self._outputs.values())

    async def _open_outputs(self, work: Work) -> None:
        # Behind all that an earlier run on this attempt may still have to write.
        for host in self.attempt.hosts:
            opened = await self._ctx.scribe.do(partial(OutputFile, work.log(host)))
            self._outputs[host] = opened
            if opened.stuck:
                self._ctx.journal.job(opened.stuck)

    async def _finish(self, work: Work, outcome: Outcome) -> Outcome:
        outcome = await self._settle(outcome)
        self.attempt = attrs.evolve(self.attempt, ended_at=self._ctx.clock.now())
        await self._meta.write(work, self.attempt, outcome)
        return outcome

    async def _first_end(self, work: Work, orders: Orders) -> Outcome:
        """Run until the program ends, the slice is lost, or someone wants it ended."""
        body = asyncio.create_task(self._launch_and_follow(work))
        lost = asyncio.create_task(self._watch.lost())
        asked = asyncio.create_task(orders.end_of(self.attempt.token))
        silent = asyncio.create_task(self._silence.too_long())
        async with race(body, lost, asked, silent):
            if body.done():
                return body.result()
            if lost.done():
                return by_loss(None, lost.result())
            if asked.done():
                return interrupted(asked.result())
            return silent.result()

    # -- launch ----------------------------------------------------------------------------

    async def _launch_and_follow(self, work: Work) -> Outcome:
        try:
            reports = await self._retried(self._reached)
            if ended := [host for host, r in reports.items() if r.state in _ORDERED]:
                return ended_on(ended[0])
            fresh = [host for host, r in reports.items() if r.state is HostState.NONE]
            if len(fresh) < len(reports):
                self._ctx.journal.job(f"adopts attempt {self.attempt.number} of {work.label}")
            if fresh:
                await self._launch(work, fresh)
        except (CommandFailedError, InvalidInputError) as error:
            return await self._setup_failed(str(error))
        except SilentTooLongError as error:
            return interrupted(Cause.UNREACHABLE, str(error))
        return await self._follow()

    async def _launch(self, work: Work, fresh: Sequence[int]) -> None:
        """Start it on every host; where it was started before nothing happens.

        Args:
            work: what to run.
            fresh: the hosts that do not know it yet: only those get its code.
        """
        ctx = self._ctx
        await ctx.store.save_attempt(ctx.lease, self.attempt)
        commit = await SetUp(ctx, self._watch, self._silence.tell).make(work, self.attempt, fresh)
        if commit != self.attempt.commit:
            self.attempt = attrs.evolve(self.attempt, commit=commit)
            await ctx.store.save_attempt(ctx.lease, self.attempt)
        plan = plan_of(work, self.attempt, ctx.spec, self.slice, ctx.environment)
        await self._retried(lambda: self._runner.launch(self._ref(), plan))
        self.attempt = attrs.evolve(self.attempt, started_at=ctx.clock.now())
        await ctx.store.save_attempt(ctx.lease, self.attempt)
        await self._meta.write(work, self.attempt, None)
        names = ", ".join(map(str, self.attempt.hosts))
        ctx.journal.job(f"runs {work.label}, attempt {self.attempt.number}, on hosts {names}")

    async def _reached(self) -> Mapping[int, HostReport]:
        """Give answers of all hosts; while one is silent the others cannot be judged."""
        reports = await self._runner.poll(self._ref())
        for report in reports.values():
            if report.state is HostState.SILENT:
                msg = f"host {report.host} does not answer: {report.detail}"
                raise HostUnreachableError(msg)
        return reports

    async def _retried(self, action: Callable[[], Awaitable[_T]]) -> _T:
        """Act until all hosts answer."""
        return await until_heard(self._ctx, self._watch, action, self._silence.tell)

    # -- follow ----------------------------------------------------------------------------

    async def _follow(self) -> Outcome:
        """Copy the output and wait for what the hosts' records add up to."""
        while True:
            offsets = {host: output.offset for host, output in self._outputs.items()}
            runner = self._runner
            reports = runner.follow(self._ref(), offsets)
            async with contextlib.aclosing(reports):
                outcome = await self._read(reports, runner)
            if outcome is not None:
                return outcome
            # The copies stand still (a full disk here), or hosts are elsewhere by now: ask again
            # from where they are.
            await self._ctx.clock.sleep(RETRY_EVERY)

    async def _read(
        self, reports: AsyncGenerator[HostReport, None], runner: Runner
    ) -> Outcome | None:
        async for report in reports:
            if report.state is HostState.SILENT:
                await self._silence.begins(report.host, report.detail)
                if self._runner is not runner:
                    return None
                continue
            await self._silence.ends(report.host)
            outcome = await self._hear(report) or await self._verdict_on_running(report)
            if outcome is not None:
                return outcome
            if self._outputs[report.host].stuck:
                return None
        return None

    async def _hear(self, report: HostReport) -> Outcome | None:
        """Take in one report; give the outcome once they add up to one."""
        output = self._outputs[report.host]
        was_stuck = output.stuck
        if report.data or was_stuck:
            await self._ctx.scribe.do(partial(output.write, report.offset, report.data))
        if output.stuck and output.stuck != was_stuck:
            self._ctx.journal.job(output.stuck)
        match report.state:
            case HostState.DONE:
                self._exits.setdefault(report.host, report.code)
            case HostState.LOST:
                self._lost.setdefault(report.host, "its processes are gone without a record")
            case HostState.NONE:
                self._lost.setdefault(report.host, "it has no trace of the attempt")
            case HostState.ENDED | HostState.ENDING:
                return self._judged() or ended_on(report.host)
            case _:
                pass
        return self._judged()

    def _judged(self) -> Outcome | None:
        tails = {
            host: output.tail.decode("utf-8", "replace") for host, output in self._outputs.items()
        }
        return judge(self._exits, self._lost, len(self.attempt.hosts), tails)

    async def _verdict_on_running(self, report: HostReport) -> Outcome | None:
        """Ask plugins whether a program that goes on has failed all the same."""
        if not report.data:
            return None
        verdict = await self._ctx.plugins.judge(
            "jobman_classify_running",
            expect=(Outcome,),
            refuse=partial(false_success, success=False),
            attempt=self.attempt,
            host=report.host,
            tail=self._outputs[report.host].tail.decode("utf-8", "replace"),
        )
        return attrs.evolve(verdict[1], cause=f"plugin:{verdict[0]}", exits=()) if verdict else None

    # -- the end ---------------------------------------------------------------------------

    async def _settle(self, outcome: Outcome) -> Outcome:
        """Prove that nothing of the attempt runs any more, and give the final outcome.

        A program that ended by itself on every host before it was told to keeps its own outcome.
        """
        if outcome.kind is not OutcomeKind.SUCCEEDED:
            # A bad end may be all that is seen of a slice's loss: programs die of their peers'.
            self._watch.slice, _ = await self._slices.look(self._watch.slice)
        if self._watch.slice.phase is SlicePhase.LOST:
            return by_loss(outcome, self._watch.slice)
        if outcome.cause == Cause.UNREACHABLE:
            await self._replace_slice("its hosts are silent")
            return outcome
        if not await self._prove_end():
            return by_loss(outcome, self._watch.slice)
        await self._drain()
        judged = self._judged()
        if self._watch.slice.lost_at is not None and not succeeded(judged):
            return by_loss(outcome, self._watch.slice)
        if judged is None or judged.cause not in {Cause.EXITED, outcome.cause}:
            return outcome
        return await self._verdict_on_exit(judged) if judged.cause == Cause.EXITED else judged

    async def _prove_end(self) -> bool:
        """End what runs on every host; where one is silent the cloud's word is proof as well.

        Tells whether the hosts are still there to be asked.
        """
        ctx = self._ctx
        since = in_sight = ctx.clock.monotonic()
        while True:
            await ctx.guard()
            ends = await self._ordered_ends()
            if ends is None:
                return False
            if self.attempt.started_at and not all(end.known for end in ends.values()):
                # A host on which it was started and that has no trace of it can prove nothing.
                await self._replace_slice("a host has lost all trace of the attempt")
                return False
            open_ends = [end for end in ends.values() if not end.confirmed]
            if not open_ends:
                return True
            seen, look = await self._slices.look(self._watch.slice)
            self._watch.slice = seen
            if seen.phase is SlicePhase.LOST:
                return False
            why = f"host {open_ends[0].host} has not confirmed the end: {open_ends[0].detail}"
            now = ctx.clock.monotonic()
            waited = now - since
            # Beside a cloud that is silent too, silence proves nothing.
            in_sight = now if isinstance(look, Unknown) else in_sight
            desired = self._orders.desired if self._orders else None
            unwanted = desired in (Desired.CANCELLED, Desired.DELETED) and waited >= SHORT_LIMIT
            if unwanted or now - in_sight >= ctx.spec.unreachable_timeout:
                await self._replace_slice("its hosts are silent")
                return False
            if desired is not Desired.RUNNING and waited >= self._patience:
                raise UnfinishedError(why)
            ctx.journal.job(why)
            await ctx.clock.sleep(RETRY_EVERY)

    async def _ordered_ends(self) -> Mapping[int, EndReport] | None:
        """Order the end on every host; None: the slice was lost before all had answered.

        A machine that is gone lets one wait for as long as a command may take.
        """
        ends = asyncio.create_task(self._end_everywhere())
        lost = asyncio.create_task(self._seen_lost())
        async with race(ends, lost):
            return ends.result() if ends.done() else lost.result()

    async def _end_everywhere(self) -> Mapping[int, EndReport]:
        """End its processes, then what its environment has of it elsewhere on the hosts."""
        ends = await self._runner.end(self._ref(), grace=GRACE)
        return await end_outside(self._ctx, self._ctx.hosts(self._there), self.attempt, ends)

    async def _seen_lost(self) -> None:
        """Return once the cloud proves that nothing runs on the slice any more."""
        while self._watch.slice.phase is not SlicePhase.LOST:
            await self._ctx.clock.sleep(RETRY_EVERY)
            self._watch.slice, _ = await self._slices.look(self._watch.slice)

    async def _replace_slice(self, why: str) -> None:
        """Give back a slice whose hosts prove nothing: its absence is the proof that is left."""
        self._ctx.journal.tpu(f"gives back {self._watch.slice.identity.name}: {why}")
        self._watch.slice = await self._slices.give_back(self._watch.slice, self._ctx.clock.sleep)

    async def _drain(self) -> None:
        """Fetch what the programs had said before they ended; what cannot be had is let go."""
        offsets = {host: output.offset for host, output in self._outputs.items()}
        reports = self._runner.follow(self._ref(), offsets)
        try:
            async with asyncio.timeout(DRAIN_LIMIT), contextlib.aclosing(reports):
                async for report in reports:
                    if report.state is not HostState.SILENT:
                        await self._hear(report)
        except TimeoutError:
            self._ctx.journal.job("the rest of the output could not be fetched in time")

    async def _verdict_on_exit(self, judged: Outcome) -> Outcome:
        """Let plugins judge what the exits mean; a non-zero exit stays a failure."""
        verdict = await self._ctx.plugins.judge(
            "jobman_classify_exit",
            expect=(Outcome,),
            refuse=partial(false_success, success=judged.kind is OutcomeKind.SUCCEEDED),
            attempt=self.attempt,
            exits=judged.exits,
        )
        if verdict is None:
            return judged
        return attrs.evolve(verdict[1], cause=f"plugin:{verdict[0]}", exits=judged.exits)

    async def _setup_failed(self, why: str) -> Outcome:
        """Say in the output, where people look first, why nothing ran."""
        first = self._outputs[self.attempt.hosts[0]]
        note = f"[jobman: set-up failed: {why}]\n".encode()
        await self._ctx.scribe.do(partial(first.write, first.offset, note))
        return Outcome(OutcomeKind.FAILED, Cause.SETUP_FAILED, (), f"set-up failed: {why}")

    def _ref(self) -> AttemptRef:
        return self._ctx.ref(self.attempt)
