"""The runner that works wherever there are hosts: a small shell agent on each of them.

What the agent does and how it answers stands in ``agent.sh``.
"""

import asyncio
import hashlib
import re
import secrets
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from functools import cache
from importlib.resources import files
from typing import Final

import attrs

from jobman_core.clock import Clock
from jobman_core.command import Command, is_variable
from jobman_core.errors import (
    CommandFailedError,
    HostUnreachableError,
    InvalidInputError,
    JobmanError,
    StaleLeaseError,
)
from jobman_core.interfaces.host import EndReport, Host, Runner
from jobman_core.models.attempt import AttemptRef, HostReport, HostState, LaunchPlan
from jobman_core.run.hosts import first_error, on_each

#: Most bytes of output in one answer.
MOST: Final = 4 * 2**20
#: A reader that is farther behind than this is moved on, to so far before the end.
FAR_BEHIND: Final = 64 * 2**20
RESUME_BEFORE_END: Final = MOST

#: Seconds that the agent waits for something to tell of.
_WAIT: Final = 45.0
#: Seconds for an answer that nobody waits for on the host, where a lock is given up after 40.
_ANSWER: Final = 55.0
#: Seconds between two looks for output: at first, while it flows, while there is none. Who follows
#: a log sees a line no later than two seconds after it was written, the way to there included.
_QUIET_FIRST, _QUIET_FLOWING, _QUIET_IDLE = 0.2, 1.0, 1.4
_RETRY_FIRST, _RETRY_MOST = 0.5, 5.0
_GOES_ON: Final = (
    HostState.LAUNCHING,
    HostState.RUNNING,
    HostState.ENDING,
    HostState.SILENT,
)

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")


@attrs.frozen
class _Answer:
    word: str
    fields: tuple[str, ...]
    data: bytes


@cache
def agent_script() -> bytes:
    """Give the agent, as it is put on hosts."""
    return files("jobman_core.run").joinpath("agent.sh").read_bytes()


@cache
def _agent_path() -> str:
    return f".jobman/agent-{hashlib.sha256(agent_script()).hexdigest()[:16]}"


class AgentRunner(Runner):
    """Keeps attempts on hosts, by the agent on each of them."""

    def __init__(self, hosts: Sequence[Host], clock: Clock) -> None:
        """Take charge of the hosts of a slice; nothing is sent yet."""
        self._hosts = {host.index: host for host in hosts}
        self._clock = clock

    async def launch(self, attempt: AttemptRef, plan: LaunchPlan) -> None:
        """Start an attempt on all its hosts; see :meth:`Runner.launch`.

        Raises:
            InvalidInputError: an environment variable that a program cannot be given.
            StaleLeaseError: a host has seen a newer epoch.
            HostUnreachableError: hosts did not answer.
            CommandFailedError: a host refused.
        """
        contents = {index: _content(plan, index) for index in attempt.hosts}

        async def start(host: Host) -> None:
            parts = contents[host.index]
            facts = host.facts
            details = (
                *(str(attempt.epoch), plan.command.cwd or "", " ".join(facts.devices)),
                *(facts.device_lock, *(str(len(part)) for part in parts)),
                *("1" if plan.stays else "0", "--", *facts.ender),
            )
            await self._ask(
                host, "launch", attempt.token, details, stdin=b"".join(parts), transient=False
            )

        results = await on_each(self._chosen(attempt), start)
        for kind in (StaleLeaseError, JobmanError):
            some = {i: r for i, r in results.items() if isinstance(r, kind)}
            if error := first_error(some):
                raise error

    async def poll(self, attempt: AttemptRef) -> Mapping[int, HostReport]:
        """Ask every host at once what it knows of an attempt."""
        results = await on_each(self._chosen(attempt), lambda host: self._look(host, attempt.token))
        return {
            index: _silent(index, 0, result) if isinstance(result, JobmanError) else result
            for index, result in results.items()
        }

    async def follow(
        self, attempt: AttemptRef, offsets: Mapping[int, int]
    ) -> AsyncGenerator[HostReport, None]:
        """Yield reports of all hosts as they come; see :meth:`Runner.follow`."""
        queue: asyncio.Queue[tuple[HostReport, asyncio.Event] | None] = asyncio.Queue()

        async def feed(host: Host) -> None:
            reports = self._follow_host(host, attempt.token, offsets.get(host.index, 0))
            async with aclosing(reports):
                async for report in reports:
                    # One report a host: a slow reader holds the hosts back and not the memory.
                    taken = asyncio.Event()
                    queue.put_nowait((report, taken))
                    await taken.wait()

        async def feed_all() -> None:
            async with asyncio.TaskGroup() as group:
                for host in self._chosen(attempt):
                    group.create_task(feed(host))

        feeder = asyncio.create_task(feed_all())
        feeder.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (item := await queue.get()) is not None:
                report, taken = item
                yield report
                taken.set()
            await feeder
        finally:
            feeder.cancel()
            await asyncio.wait([feeder])

    async def end(self, attempt: AttemptRef, *, grace: float) -> Mapping[int, EndReport]:
        """End an attempt on all its hosts; see :meth:`Runner.end`.

        Raises:
            StaleLeaseError: a host has seen a newer epoch.
        """

        async def end(host: Host) -> EndReport:
            details = (str(attempt.epoch), _milliseconds(grace), "--", *host.facts.ender)
            answer = await self._ask(
                host, "end", attempt.token, details, limit=2 * grace + _ANSWER, transient=True
            )
            left = int(answer.fields[1])
            detail = f"{left} processes are left" if left else answer.fields[0]
            known = answer.fields[2] == "1"
            return EndReport(host.index, confirmed=left == 0, detail=detail, known=known)

        results = await on_each(self._chosen(attempt), end)
        stale = {i: r for i, r in results.items() if isinstance(r, StaleLeaseError)}
        if error := first_error(stale):
            raise error
        return {
            index: EndReport(index, confirmed=False, detail=str(result))
            if isinstance(result, JobmanError)
            else result
            for index, result in results.items()
        }

    def _chosen(self, attempt: AttemptRef) -> list[Host]:
        return [self._hosts[index] for index in attempt.hosts]

    async def _follow_host(
        self, host: Host, token: str, offset: int
    ) -> AsyncGenerator[HostReport, None]:
        """Yield one host's reports, until it has ended and all its output up to then was given."""
        quiet, retry = _QUIET_FIRST, _RETRY_FIRST
        end: int | None = None
        while True:
            try:
                report = await self._look(host, token, offset, most=MOST, wait=_WAIT, quiet=quiet)
            except (HostUnreachableError, CommandFailedError) as error:
                yield _silent(host.index, offset, error)
                await self._clock.sleep(self._clock.jitter(retry))
                retry = min(retry * 2, _RETRY_MOST)
                continue
            retry = _RETRY_FIRST
            yield report
            offset = report.offset + len(report.data)
            if report.state not in _GOES_ON:
                # What is left behind may write on for ever; the program's own output is told.
                end = report.size if end is None else end
                if offset >= end:
                    return
            if report.size - offset > FAR_BEHIND:
                offset = report.size - RESUME_BEFORE_END
            quiet = min(quiet * 1.5, _QUIET_FLOWING) if report.data else _QUIET_IDLE

    async def _look(
        self,
        host: Host,
        token: str,
        offset: int = 0,
        *,
        most: int = 0,
        wait: float = 0,
        quiet: float = 0,
    ) -> HostReport:
        times = (_milliseconds(seconds) for seconds in (wait, quiet, _QUIET_IDLE))
        details = (str(offset), str(most), *times)
        answer = await self._ask(host, "poll", token, details, limit=wait + _ANSWER, transient=True)
        state, code, size, _, length = answer.fields
        if len(answer.data) < int(length):
            raise HostUnreachableError("the answer was cut off: its output is asked for again")
        return HostReport(
            host.index,
            HostState(state),
            code=None if code == "-" else int(code),
            offset=offset,
            data=answer.data[: int(length)],
            size=int(size),
        )

    async def _ask(
        self,
        host: Host,
        verb: str,
        token: str,
        details: tuple[str, ...],
        *,
        transient: bool,
        stdin: bytes = b"",
        limit: float = _ANSWER,
    ) -> _Answer:
        """Call the agent; put it there first where it is missing."""
        if not _TOKEN.fullmatch(token):
            raise InvalidInputError(f"{token!r} cannot name an attempt")
        nonce = f"jobman-{secrets.token_hex(8)}"
        own = "1" if host.facts.own_machine else "0"
        argv = ("sh", _agent_path(), verb, nonce, token, host.facts.boot_id_file, own, *details)
        command = Command(argv, stdin=stdin, transient=transient)
        done = await host.run(command, limit=limit)
        answer = _find_answer(nonce, done.stdout)
        if answer is None:
            await host.put(agent_script(), _agent_path(), mode=0o700)
            done = await host.run(command, limit=limit)
            answer = _find_answer(nonce, done.stdout)
        if answer is None:
            raise CommandFailedError(
                f"the agent gave no answer, it ended with {done.code} ({done.tail()}): "
                "the host needs sh, bash, coreutils, grep, sed, findutils and util-linux"
            )
        if answer.word == "error":
            kind, text = answer.fields[0], " ".join(answer.fields[1:])
            raise (StaleLeaseError if kind == "stale" else CommandFailedError)(text)
        return answer


def _find_answer(nonce: str, said: bytes) -> _Answer | None:
    """Read an answer out of what a host said; None: there is none in it."""
    _, mark, rest = said.partition(f"\n{nonce} ".encode())
    line, newline, data = rest.partition(b"\n")
    if not mark or not newline:
        return None
    word, *fields = line.decode("utf-8", "replace").split(" ")
    return _Answer(word, tuple(fields), data)


def _silent(index: int, offset: int, error: JobmanError) -> HostReport:
    return HostReport(index, HostState.SILENT, offset=offset, size=offset, detail=str(error))


def _milliseconds(seconds: float) -> str:
    return str(round(seconds * 1000))


def _content(plan: LaunchPlan, index: int) -> tuple[bytes, bytes, bytes, bytes]:
    """Give script, environment, argv and standard input, as the agent reads them."""
    env = {**plan.command.env, **plan.host_env.get(index, {})}
    for name in env:
        if not is_variable(name) or name.startswith("_jobman"):
            raise InvalidInputError(
                f"environment: {name!r} cannot be the name of a variable for a program: "
                "use letters, digits and '_', and none of the shell's own"
            )
    items = (*env.values(), *plan.command.argv)
    if any("\0" in item for item in items):
        raise InvalidInputError("environment or command: no value can hold a NUL character")
    return (
        _encode(plan.script),
        b"".join(_encode(f"{name}={value}\0") for name, value in env.items()),
        b"".join(_encode(f"{item}\0") for item in plan.command.argv),
        plan.command.stdin,
    )


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
