"""Preparing the hosts of a slice: what stands there already is not done again."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from importlib.resources import files
from typing import Final, Protocol, TypeVar

from jobman_core.clock import in_seconds
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.store import Note
from jobman_core.models.slice import Slice
from jobman_core.run.context import JobContext
from jobman_core.run.host_step import HostStep, Marks
from jobman_core.run.hosts import on_all, run_checked
from jobman_core.run.silence import until_heard
from jobman_core.run.step_run import Ended, StepRun
from jobman_core.run.watch import Watch

#: Seconds that a host may take to say which steps stand, on top of what their checks may take.
LOOK_LIMIT: Final = 20.0
#: Seconds for one check of what was done.
CHECK_LIMIT: Final = 10
#: How often a step is tried that may pass, and the seconds between two tries, growing.
TRIES: Final = 6
FIRST_PAUSE: Final = 5.0
LONGEST_PAUSE: Final = 60.0

#: What ``stands.sh`` says of each step.
_SAID: Final = re.compile(rb"^jobman-step (stands|failed|missing|gone)$", re.MULTILINE)
#: What ``step.sh`` says of the command that did not end well.
_COMMAND: Final = re.compile(r"\[jobman: (`.*` ended with \d+)\]")
_LINES: Final = 5
#: What scripts of plugins say themselves; in brackets it may go on from the lines before.
_OURS: Final = re.compile(r"^jobman: (.*)$|^\[jobman: (.*)\]$")
#: The marks to be forgotten, as a pattern.
_FORGET: Final = "cd .jobman/ready 2> /dev/null || exit 0; rm -f -- $1"
_STANDS: Final = files("jobman_core.run").joinpath("stands.sh").read_text(encoding="utf-8")

_T = TypeVar("_T")


class Tell(Protocol):
    """Lets people see what takes time, and until when where that is known."""

    async def __call__(self, why: str, *, until: datetime | None = None) -> None:
        """Say it."""


class StepFailedError(CommandFailedError):
    """A step went wrong on a host, and trying again does not help."""

    def __init__(self, message: str, step: HostStep) -> None:
        """Name it."""
        super().__init__(message)
        self.step = step


class _GoneError(Exception):
    """A step is gone from a host, and with it perhaps what was done there before."""


class Preparation:
    """Brings hosts of one slice to where work can begin."""

    def __init__(self, ctx: JobContext, watch: Watch, tell: Tell) -> None:
        """Keep what it acts with.

        Args:
            ctx: the job.
            watch: looks at the slice meanwhile.
            tell: lets people see what takes time.
        """
        self._ctx = ctx
        self._watch = watch
        self._tell = tell
        self._doing = ""

    async def make(self, steps: Sequence[HostStep], hosts: Sequence[int] | None = None) -> None:
        """Do the steps that do not stand, in turn, each on all of its hosts at once.

        Without any the hosts are only reached.

        Args:
            steps: what is to be done.
            hosts: where, as far as a step's own workers go; None: on all of the slice.

        Raises:
            StepFailedError: one that is required went wrong.
            SilentTooLongError: hosts were silent for longer than the job allows.
        """
        wanted = range(len(self._watch.slice.hosts)) if hosts is None else hosts
        for step in steps:
            await self._see_workers(step)
        for tries_left in reversed(range(TRIES)):
            await self._say("reaches its hosts")
            seen = await self._heard(partial(self._look, steps, wanted))
            try:
                for step in steps:
                    await self._tell_of_failed(step, seen)
                    if todo := _open(step, seen):
                        await self._do(step, todo, last=not tries_left)
            except _GoneError as error:
                await pause_told(self._ctx, self._tell, str(error), FIRST_PAUSE)
            else:
                return

    async def _see_workers(self, step: HostStep) -> None:
        """See that a step has a host to run on: one that has none has not gone well.

        Raises:
            StepFailedError: it has none, and is required.
        """
        there = len(self._watch.slice.hosts)
        if there and not step.on(there):
            why = f"{step.title}: the slice has {there} hosts, none of those asked for"
            error = StepFailedError(why, step)
            if step.required:
                raise error
            await self._pass_over(error)

    async def _say(self, doing: str) -> None:
        self._doing = doing
        await self._tell(doing)

    async def _heard(self, action: Callable[[], Awaitable[_T]]) -> _T:
        async def tell(why: str) -> None:
            await self._tell(why or self._doing)

        return await until_heard(self._ctx, self._watch, action, tell)

    async def _look(
        self, steps: Sequence[HostStep], wanted: Sequence[int]
    ) -> Mapping[int, Mapping[str, bytes]]:
        """Ask all hosts at once, in one round trip each, how each step stands there."""
        there = len(self._watch.slice.hosts)
        on = {index: [step for step in steps if index in step.on(there)] for index in wanted}
        hosts = [host for host in self._ctx.hosts(self._watch.slice) if host.index in on]
        seen = await on_all(hosts, lambda host: _look_on(host, on[host.index]))
        # Where only the runner gets, nobody can say what stands.
        return {i: seen.get(i, dict.fromkeys((step.key for step in on[i]), b"gone")) for i in on}

    async def _tell_of_failed(
        self, step: HostStep, seen: Mapping[int, Mapping[str, bytes]]
    ) -> None:
        """Tell where a step is passed over; when it failed there may have been no controller."""
        hosts = [host for host, states in seen.items() if states.get(step.key) == b"failed"]
        if step.required or not hosts:
            return
        ctx = self._ctx
        note = Note(
            "step.failed", f"{step.title} failed on {named(hosts)}; the job goes on without it"
        )
        ctx.journal.job(note.text)
        events = await ctx.store.events(job=ctx.job.id)
        if not any(event.kind == note.kind and step.title in event.text for event in events):
            await ctx.store.add_event(note, job=ctx.job.id)

    async def _do(self, step: HostStep, hosts: Sequence[int], *, last: bool) -> None:
        ctx = self._ctx
        began = ctx.clock.monotonic()
        try:
            await self._until_done(step, hosts, last=last)
        except StepFailedError as error:
            if step.required:
                raise
            await self._pass_over(error)
        else:
            took = ctx.clock.monotonic() - began
            ctx.journal.job(f"{step.title}: done on {named(hosts)} in {took:.0f} s")

    async def _pass_over(self, error: StepFailedError) -> None:
        note = Note("step.failed", f"{error}; the job goes on without it")
        self._ctx.journal.job(note.text)
        await self._ctx.store.add_event(note, job=self._ctx.job.id)

    async def _until_done(self, step: HostStep, hosts: Sequence[int], *, last: bool) -> None:
        """Run a step, and again on hosts where it met something that may pass.

        Args:
            step: what to run.
            hosts: where.
            last: hosts where it is lost are not looked at anew.

        Raises:
            StepFailedError: it did not pass, or something else was wrong.
            _GoneError: it was lost on a host, which may have been started again.
        """
        pause, bad = FIRST_PAUSE, dict[int, Ended]()
        for tries_left in reversed(range(TRIES)):
            await self._say(f"{step.title} on {named(hosts)}")
            run = StepRun(self._ctx, self._watch, step, hosts, self._heard)
            ends = await run.run()
            failed = {h: end for h, end in ends.items() if end.code != 0 and not end.spared}
            bad |= {h: end for h, end in failed.items() if not end.may_pass or (last and end.lost)}
            passing = {h: end for h, end in failed.items() if h not in bad}
            if not passing or not tries_left or (bad and step.required):
                if bad or failed:
                    raise StepFailedError(_why(step, bad | failed), step)
                if not (hosts := await self._not_standing(step, run.over_before)):
                    return
                continue
            why = _why(step, passing)
            if any(end.lost for end in passing.values()):
                if bad:
                    await self._pass_over(StepFailedError(_why(step, bad), step))
                raise _GoneError(why)
            await pause_told(self._ctx, self._tell, why, pause)
            pause, hosts = min(pause * 2, LONGEST_PAUSE), tuple(passing)

    async def _not_standing(self, step: HostStep, hosts: Sequence[int]) -> Sequence[int]:
        if not hosts:
            return ()
        return _open(step, await self._heard(partial(self._look, [step], hosts)))


async def pause_told(ctx: JobContext, tell: Tell, why: str, pause: float) -> None:
    """Wait for some seconds before something is tried again, and let people see why."""
    delay = ctx.clock.jitter(pause)
    ctx.journal.job(f"{why}; tries again in {delay:.0f} s")
    await tell(why, until=in_seconds(ctx.clock, delay))
    await ctx.clock.sleep(delay)


def _open(step: HostStep, seen: Mapping[int, Mapping[str, bytes]]) -> Sequence[int]:
    """Give the hosts on which a step is to be done."""
    fine = (b"stands",) if step.required else (b"stands", b"failed")
    return [host for host, said in seen.items() if said.get(step.key, fine[0]) not in fine]


async def _look_on(host: Host, steps: Sequence[HostStep]) -> Mapping[str, bytes]:
    """Ask one host; give by key how steps stand there."""
    limit = LOOK_LIMIT + CHECK_LIMIT * sum(bool(step.check) for step in steps)
    argv = ("bash", "-c", _STANDS, "bash", host.facts.boot_id_file, str(CHECK_LIMIT))
    items = (
        item
        for step in steps
        for item in (step.key, step.content, str(len(step.check)), *step.check)
    )
    stdin = b"".join(item.encode("utf-8", "surrogateescape") + b"\0" for item in items)
    answer = await host.run(Command(argv, stdin=stdin, transient=True), limit=limit)
    said = _SAID.findall(answer.stdout)
    if len(said) != len(steps):
        raise CommandFailedError(
            f"the look at what was prepared ended with {answer.code} ({answer.tail()}): "
            "the host needs bash and coreutils"
        )
    return {step.key: state for step, state in zip(steps, said, strict=True)}


async def forget(ctx: JobContext, slice_: Slice, marks: Marks) -> None:
    """Let steps count as not done on a slice, so that they are done again.

    Raises:
        HostUnreachableError: a host did not answer.
        CommandFailedError: a host refused.
    """

    async def remove(host: Host) -> None:
        command = Command(("sh", "-c", _FORGET, "sh", marks), transient=True)
        await run_checked(host, command, limit=LOOK_LIMIT, what="forgetting what was prepared")

    await ctx.guard()
    await on_all(ctx.hosts(slice_), remove)


def _why(step: HostStep, failed: Mapping[int, Ended]) -> str:
    """Say in one line which host, step and command went wrong, with the last lines."""
    lowest = min(failed, key=lambda host: (failed[host].may_pass, host))
    others = sorted(host for host in failed if host != lowest)
    also = f" (failed too: host {', '.join(map(str, others))})" if others else ""
    lines = [line.strip() for line in failed[lowest].tail.splitlines() if line.strip()]
    command = _COMMAND.fullmatch(lines[-1]) if lines else None
    if command is not None:
        lines.pop()
    if lines and lines[-1].startswith("jobman: "):
        # What it says itself is the reason; what came before is what it tried.
        del lines[:-1]
    what = failed[lowest].why or (command[1] if command else f"ended with {failed[lowest].code}")
    said = " | ".join(_OURS.sub(r"\1\2", line) for line in lines[-_LINES:])
    return f"host {lowest}: {step.title}: {what}{also}{f': {said}' if said else ''}"


def named(hosts: Sequence[int]) -> str:
    """Name hosts for people, in few words."""
    few = ", ".join(map(str, hosts))
    together = len(hosts) > 2 and hosts[-1] - hosts[0] == len(hosts) - 1  # noqa: PLR2004
    return f"host{'s' * (len(hosts) > 1)} {f'{hosts[0]}-{hosts[-1]}' if together else few}"
