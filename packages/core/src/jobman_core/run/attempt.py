"""One attempt: launched or adopted, followed to its outcome, and proved to be over."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import attrs

from jobman_core.clock import to_text
from jobman_core.errors import (
    CommandFailedError,
    HostUnreachableError,
    InvalidInputError,
    UnfinishedError,
)
from jobman_core.models.attempt import Attempt, AttemptRef, HostReport, HostState
from jobman_core.models.job import Desired
from jobman_core.models.outcome import Cause, Outcome, OutcomeKind, interrupted
from jobman_core.models.slice import GONE, Slice, SlicePhase
from jobman_core.models.task import Repo
from jobman_core.run.checkout import checkout
from jobman_core.run.context import JobContext
from jobman_core.run.decide import judge
from jobman_core.run.orders import Orders
from jobman_core.run.output import OutputFile
from jobman_core.run.slices import Slices, Watch
from jobman_core.run.work import Work, plan_of

#: Seconds between TERM and KILL.
GRACE: Final = 10.0
#: Seconds that a fresh clone may take.
CHECKOUT_LIMIT: Final = 1800.0
#: Seconds to fetch the rest of the output of an attempt that is over.
DRAIN_LIMIT: Final = 30.0
#: Seconds for which a stop waits for hosts that are silent.
STOP_LIMIT: Final = 60.0
#: The same, where the slice is to go anyway: its absence is proof as well.
SHORT_LIMIT: Final = 20.0
#: Seconds between two tries to reach hosts that are silent.
RETRY_EVERY: Final = 2.0


_T = TypeVar("_T")


class _SilentTooLongError(Exception):
    """Hosts were silent for longer than the job allows."""


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
        self._slice = slice_
        self._runner = ctx.runner(slice_)
        self.attempt = attempt
        self._exits: dict[int, int | None] = {}
        self._lost: dict[int, str] = {}
        self._outputs: dict[int, OutputFile] = {}
        #: Since when hosts do not answer.
        self._silent: dict[int, float] = {}

    @property
    def slice(self) -> Slice:
        """The slice, as last seen."""
        return self._watch.slice

    async def run(self, work: Work, orders: Orders) -> Outcome:
        """Launch or adopt it; give the outcome, with proof that nothing of it runs any more.

        Raises:
            StaleLeaseError: someone else acts for the job now; the attempt is theirs.
            UnfinishedError: its end was asked for, and cannot be proved now.
        """
        self._orders = orders
        hosts = self.attempt.hosts or work.workers.pick(len(self._slice.hosts))
        if not hosts:
            detail = f"the slice has {len(self._slice.hosts)} hosts, none of those asked for"
            return Outcome(OutcomeKind.FAILED, Cause.SETUP_FAILED, (), detail)
        self.attempt = attrs.evolve(self.attempt, hosts=hosts)
        self._open_outputs(work)
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
        self._open_outputs(work)
        return await self._finish(work, interrupted(cause))

    def _open_outputs(self, work: Work) -> None:
        self._outputs = {host: OutputFile(work.log(host)) for host in self.attempt.hosts}

    async def _finish(self, work: Work, outcome: Outcome) -> Outcome:
        outcome = await self._settle(outcome)
        self.attempt = attrs.evolve(self.attempt, ended_at=self._ctx.clock.now())
        self._write_meta(work, outcome)
        return outcome

    async def _first_end(self, work: Work, orders: Orders) -> Outcome:
        """Run until the program ends, the slice is lost, or someone wants it ended."""
        body = asyncio.create_task(self._launch_and_follow(work))
        lost = asyncio.create_task(self._watch.lost())
        asked = asyncio.create_task(orders.end_of(self.attempt.token))
        silent = asyncio.create_task(self._silent_too_long())
        tasks: tuple[asyncio.Task[Any], ...] = (body, lost, asked, silent)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if body.done():
                return body.result()
            if lost.done():
                return _by_loss(None, lost.result())
            if asked.done():
                return interrupted(asked.result())
            return silent.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # -- launch ----------------------------------------------------------------------------

    async def _launch_and_follow(self, work: Work) -> Outcome:
        try:
            reports = await self._retried(self._reached)
            fresh = [host for host, r in reports.items() if r.state is HostState.NONE]
            if len(fresh) < len(reports):
                self._ctx.journal.job(f"adopts attempt {self.attempt.number} of {work.label}")
            if fresh:
                await self._launch(work, fresh)
        except (CommandFailedError, InvalidInputError) as error:
            return self._setup_failed(str(error))
        except _SilentTooLongError as error:
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
        if work.repo is not None and work.workdir is not None:
            # A controller that was lost half way had chosen the commit for all hosts.
            repo = attrs.evolve(work.repo, branch=self.attempt.commit or work.repo.branch)
            commit = await self._retried(partial(self._check_out, fresh, repo, work.workdir))
            self.attempt = attrs.evolve(self.attempt, commit=commit)
            await ctx.store.save_attempt(ctx.lease, self.attempt)
        plan = plan_of(work, self.attempt, ctx.spec, self._slice, ctx.environment)
        await self._retried(lambda: self._runner.launch(self._ref(), plan))
        self.attempt = attrs.evolve(self.attempt, started_at=ctx.clock.now())
        await ctx.store.save_attempt(ctx.lease, self.attempt)
        self._write_meta(work, None)
        names = ", ".join(map(str, self.attempt.hosts))
        ctx.journal.job(f"runs {work.label}, attempt {self.attempt.number}, on hosts {names}")

    async def _check_out(self, indices: Sequence[int], repo: Repo, workdir: str) -> str:
        hosts = self._ctx.hosts(self._slice)
        return await checkout(
            [hosts[index] for index in indices], repo, workdir, limit=CHECKOUT_LIMIT
        )

    async def _reached(self) -> Mapping[int, HostReport]:
        """Give answers of all hosts; while one is silent the others cannot be judged."""
        reports = await self._runner.poll(self._ref())
        for report in reports.values():
            if report.state is HostState.SILENT:
                msg = f"host {report.host} does not answer: {report.detail}"
                raise HostUnreachableError(msg)
        return reports

    async def _retried(self, action: Callable[[], Awaitable[_T]]) -> _T:
        """Act until all hosts answer, for as long as they may be silent under a READY node.

        Raises:
            _SilentTooLongError: they were silent for longer.
        """
        clock = self._ctx.clock
        since: float | None = None
        while True:
            await self._ctx.guard()
            try:
                return await action()
            except HostUnreachableError as error:
                since = clock.monotonic() if since is None else since
                if clock.monotonic() - since >= self._ctx.spec.unreachable_timeout:
                    raise _SilentTooLongError(str(error)) from error
                self._ctx.journal.job(f"{error}; looks at the slice, and tries again")
                self._watch.look_now()
                await clock.sleep(RETRY_EVERY)

    # -- follow ----------------------------------------------------------------------------

    async def _follow(self) -> Outcome:
        """Copy the output and wait for what the hosts' records add up to."""
        while True:
            offsets = {host: output.offset for host, output in self._outputs.items()}
            reports = self._runner.follow(self._ref(), offsets)
            async with contextlib.aclosing(reports):
                outcome = await self._read(reports)
            if outcome is not None:
                return outcome
            # The copies stand still (a full disk here): ask again from where they are.
            await self._ctx.clock.sleep(RETRY_EVERY)

    async def _read(self, reports: AsyncGenerator[HostReport, None]) -> Outcome | None:
        async for report in reports:
            if report.state is HostState.SILENT:
                self._hear_silence(report)
                continue
            self._silent.pop(report.host, None)
            outcome = self._hear(report) or await self._verdict_on_running(report)
            if outcome is not None:
                return outcome
            if self._outputs[report.host].stuck:
                return None
        # Every host was followed to an end, and yet they add up to nothing: someone ended it.
        return interrupted(Cause.STOPPED, "ended on its hosts")

    def _hear(self, report: HostReport) -> Outcome | None:
        """Take in one report; give the outcome once they add up to one."""
        output = self._outputs[report.host]
        was_stuck = output.stuck
        output.write(report.offset, report.data)
        if output.stuck and output.stuck != was_stuck:
            self._ctx.journal.job(output.stuck)
        match report.state:
            case HostState.DONE:
                self._exits.setdefault(report.host, report.code)
            case HostState.LOST:
                self._lost.setdefault(report.host, "its processes are gone without a record")
            case HostState.NONE:
                self._lost.setdefault(report.host, "it has no trace of the attempt")
            case _:
                pass
        return self._judged()

    def _hear_silence(self, report: HostReport) -> None:
        if report.host not in self._silent:
            self._silent[report.host] = self._ctx.clock.monotonic()
            self._ctx.journal.job(f"host {report.host} does not answer: {report.detail}")
        self._watch.look_now()

    async def _silent_too_long(self) -> Outcome:
        """Return once a host has been silent under a READY node for longer than is allowed."""
        clock, allowed = self._ctx.clock, self._ctx.spec.unreachable_timeout
        while True:
            await clock.sleep(min(RETRY_EVERY, allowed))
            for host, since in self._silent.items():
                if clock.monotonic() - since >= allowed:
                    why = f"host {host} was silent for {allowed:g} s"
                    return interrupted(Cause.UNREACHABLE, why)

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
            refuse=partial(_false_success, success=False),
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
            return _by_loss(outcome, self._watch.slice)
        if outcome.cause == Cause.UNREACHABLE:
            await self._replace_slice("its hosts are silent")
            return outcome
        if not await self._prove_end():
            return _by_loss(outcome, self._watch.slice)
        await self._drain()
        judged = self._judged()
        if self._watch.slice.lost_at is not None and not _succeeded(judged):
            return _by_loss(outcome, self._watch.slice)
        if judged is None or judged.cause not in {Cause.EXITED, outcome.cause}:
            return outcome
        return await self._verdict_on_exit(judged) if judged.cause == Cause.EXITED else judged

    async def _prove_end(self) -> bool:
        """End what runs on every host; where one is silent the cloud's word is proof as well.

        Tells whether the hosts are still there to be asked.
        """
        ctx = self._ctx
        since = ctx.clock.monotonic()
        while True:
            await ctx.guard()
            ends = await self._runner.end(self._ref(), grace=GRACE)
            if self.attempt.started_at and not all(end.known for end in ends.values()):
                # A host on which it was started and that has no trace of it can prove nothing.
                await self._replace_slice("a host has lost all trace of the attempt")
                return False
            open_ends = [end for end in ends.values() if not end.confirmed]
            if not open_ends:
                return True
            seen, _ = await self._slices.look(self._watch.slice)
            self._watch.slice = seen
            if seen.phase is SlicePhase.LOST:
                return False
            why = f"host {open_ends[0].host} has not confirmed the end: {open_ends[0].detail}"
            waited = ctx.clock.monotonic() - since
            desired = self._orders.desired if self._orders else None
            unwanted = desired in (Desired.CANCELLED, Desired.DELETED) and waited >= SHORT_LIMIT
            if unwanted or waited >= ctx.spec.unreachable_timeout:
                await self._replace_slice("its hosts are silent")
                return False
            if desired is not Desired.RUNNING and waited >= self._patience:
                raise UnfinishedError(why)
            ctx.journal.job(why)
            await ctx.clock.sleep(RETRY_EVERY)

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
                        self._hear(report)
        except TimeoutError:
            self._ctx.journal.job("the rest of the output could not be fetched in time")

    async def _verdict_on_exit(self, judged: Outcome) -> Outcome:
        """Let plugins judge what the exits mean; a non-zero exit stays a failure."""
        verdict = await self._ctx.plugins.judge(
            "jobman_classify_exit",
            expect=(Outcome,),
            refuse=partial(_false_success, success=judged.kind is OutcomeKind.SUCCEEDED),
            attempt=self.attempt,
            exits=judged.exits,
        )
        if verdict is None:
            return judged
        return attrs.evolve(verdict[1], cause=f"plugin:{verdict[0]}", exits=judged.exits)

    def _setup_failed(self, why: str) -> Outcome:
        """Say in the output, where people look first, why nothing ran."""
        first = self._outputs[self.attempt.hosts[0]]
        first.write(first.offset, f"[jobman: set-up failed: {why}]\n".encode())
        return Outcome(OutcomeKind.FAILED, Cause.SETUP_FAILED, (), f"set-up failed: {why}")

    def _ref(self) -> AttemptRef:
        return self._ctx.ref(self.attempt)

    def _write_meta(self, work: Work, outcome: Outcome | None) -> None:
        if work.meta is None:
            return
        try:
            work.meta.parent.mkdir(parents=True, exist_ok=True)
            part = work.meta.with_suffix(".part")
            part.write_text(meta_text(work, self.attempt, self._slice, outcome), encoding="utf-8")
            part.replace(work.meta)
        except OSError as error:
            self._ctx.journal.job(f"{work.meta} cannot be written: {error.strerror}")


def _false_success(verdict: Outcome, *, success: bool) -> str:
    """Say what is wrong with a plugin's verdict; only what succeeded may be called a success."""
    false = verdict.kind is OutcomeKind.SUCCEEDED and not success
    return "it calls a success what is none" if false else ""


def _succeeded(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.kind is OutcomeKind.SUCCEEDED


def _by_loss(outcome: Outcome | None, slice_: Slice) -> Outcome:
    """Give the outcome where the slice is lost.

    A success stays one, and an end that was ordered has its own cause. All else is the loss: what
    fails while its slice goes has not failed by itself.
    """
    if outcome is not None and outcome.cause not in {Cause.EXITED, Cause.HOST_LOST}:
        return outcome
    if outcome is not None and _succeeded(outcome):
        return outcome
    cause = Cause.SLICE_GONE if slice_.state == GONE else Cause.PREEMPTED
    return interrupted(cause, f"slice {slice_.identity.name} is {slice_.state}")


def meta_text(work: Work, attempt: Attempt, slice_: Slice, outcome: Outcome | None) -> str:
    """Give what ``run_<NNN>_job<id>_meta.yaml`` holds."""
    rows: dict[str, object] = {
        "task_id": work.label,
        "run": attempt.number,
        "run_id": attempt.run_id,
        "job_id": attempt.job,
        "repo": work.repo.url if work.repo else None,
        "branch": work.repo.branch if work.repo else None,
        "commit": attempt.commit,
        "accelerator": slice_.request.accelerator,
        "zone": slice_.request.zone,
        "slice": slice_.identity.name,
        "workers": list(attempt.hosts),
        "started": to_text(attempt.started_at) if attempt.started_at else None,
        "ended": to_text(attempt.ended_at) if attempt.ended_at else None,
        "outcome": outcome.kind.value if outcome else None,
        "cause": outcome.cause if outcome else None,
        "exit_code": outcome.exit_code if outcome else None,
        "detail": outcome.detail if outcome else None,
    }
    # JSON's scalars and lists are YAML's too, whatever stands in them.
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in rows.items())
