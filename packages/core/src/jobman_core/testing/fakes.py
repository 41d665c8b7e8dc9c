"""Stand-ins that pass the same contracts as what they stand for, with time and chance in hand."""

import asyncio
import heapq
import itertools
import os
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

import attrs

from jobman_core.command import Command, Exit
from jobman_core.errors import (
    CloudError,
    CommandFailedError,
    HeldError,
    HostUnreachableError,
    InvalidInputError,
    PermanentCloudError,
    StaleLeaseError,
    StockoutError,
    TransientCloudError,
)
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.cloud import Cloud, Listed
from jobman_core.interfaces.host import EndReport, Host, HostFacts, Runner
from jobman_core.models.accelerator import Accelerator
from jobman_core.models.attempt import AttemptRef, HostReport, HostState, LaunchPlan
from jobman_core.models.billing import Charges, Lacking
from jobman_core.models.quota import Allowances
from jobman_core.models.slice import (
    Absent,
    HostInfo,
    Observation,
    Present,
    Slice,
    SliceIdentity,
    SlicePhase,
    SliceRequest,
    Unknown,
)


class FakeClock:
    """Time that stands still until a test moves it on.

    With ``auto`` whoever sleeps moves it on himself, at once, so that nobody ever waits.
    """

    def __init__(self, *, auto: bool = False, start: datetime | None = None) -> None:
        self._start = start or datetime(2026, 1, 1, tzinfo=UTC)
        self._elapsed = 0.0
        self._auto = auto
        self._numbers = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        #: Every sleep that was asked for, in seconds.
        self.slept: list[float] = []

    def now(self) -> datetime:
        """Give the wall clock's time."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Give the seconds so far, from an arbitrary number on."""
        return 1000.0 + self._elapsed

    def jitter(self, seconds: float) -> float:
        """Leave a delay as it is."""
        return seconds

    async def sleep(self, seconds: float) -> None:
        """Wait until somebody has moved the time on by so much."""
        self.slept.append(seconds)
        if self._auto:
            self._elapsed += max(0.0, seconds)
        if self._auto or seconds <= 0:
            await asyncio.sleep(0)
            return
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._numbers), future))
        await future

    def shift_wall(self, seconds: float) -> None:
        """Set the wall clock by so much, either way, as people and NTP do; no time passes."""
        self._start += timedelta(seconds=seconds)

    @property
    def sleepers(self) -> int:
        """How many wait now."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def advance(self, seconds: float) -> None:
        """Move the time on; sleepers wake one after the other, each at its own moment."""
        until = self._elapsed + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= until:
            due, _, future = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            if not future.done():
                future.set_result(None)
            await settle()
        self._elapsed = until


async def settle() -> None:
    """Let all tasks run until they wait for something."""
    for _ in range(20):
        await asyncio.sleep(0)


class FakeHost(Host):
    """A folder in which commands run as they are, with nobody to look after them."""

    def __init__(self, index: int, home: Path, *, facts: HostFacts | None = None) -> None:
        self.index = index
        self.home = home
        self.facts = facts or HostFacts(own_machine=False)
        #: Why it does not answer; None: it does.
        self.away: str | None = None
        #: What was run, in order.
        self.ran: list[Command] = []
        home.mkdir(parents=True, exist_ok=True)

    async def run(self, command: Command, *, limit: float) -> Exit:
        """Run a command; what it leaves behind may hold its output open until the limit."""
        self._answer()
        self.ran.append(command)
        line = ("sh", "-c", 'cd "./$1" || exit 127; shift; exec "$@"', "sh", command.cwd or ".")
        process = await asyncio.create_subprocess_exec(
            *line,
            *command.argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.home,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), **command.env},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(limit):
                out, err = await process.communicate(command.stdin)
        except TimeoutError as error:
            raise HostUnreachableError(f"host {self.index} gave no answer in time") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        self._answer()
        code = process.returncode or 0
        return Exit(code if code >= 0 else 128 - code, out, err)

    async def put(self, content: bytes, path: str, *, mode: int = 0o600) -> None:
        """Write a file, whole or not at all."""
        self._answer()
        target = self.home / path
        aside = target.with_name(f".{target.name}.new")
        try:
            for folder in reversed(target.relative_to(self.home).parents):
                (self.home / folder).mkdir(mode=0o700, exist_ok=True)
            aside.write_bytes(content)
            aside.chmod(mode)
            aside.replace(target)
        except OSError as error:
            raise CommandFailedError(f"cannot write {path}: {error.strerror}") from error

    def _answer(self) -> None:
        if self.away is not None:
            raise HostUnreachableError(f"host {self.index} cannot be reached: {self.away}")


@attrs.define
class FakeProgram:
    """One attempt on one host of a :class:`FakeFleet`."""

    state: HostState
    plan: LaunchPlan | None = None
    code: int | None = None
    log: bytes = b""


class FakeFleet:
    """The hosts of a slice as a :class:`FakeRunner` sees them; tests make things happen here.

    Programs are understood as far as lines of ``echo TEXT``, ``exit CODE`` and ``sleep …`` go:
    the last one never ends by itself.
    """

    def __init__(self) -> None:
        self.programs: dict[tuple[str, int], FakeProgram] = {}
        self.epochs: dict[int, int] = {}
        #: Attempts that were ended where they had never been started.
        self.strangers: set[tuple[str, int]] = set()
        #: Hosts that do not answer, and why.
        self.silent: dict[int, str] = {}
        #: The same of hosts whose silence nobody can tell from work: they are waited for for ever.
        self.hung: set[int] = set()
        self._changed = asyncio.Event()

    def program(self, token: str, host: int) -> FakeProgram:
        """Give what a host knows of an attempt."""
        return self.programs.get((token, host), FakeProgram(HostState.NONE))

    def say(self, token: str, host: int, text: bytes) -> None:
        """Let a program write."""
        self.programs[token, host].log += text
        self.changed()

    def finish(self, token: str, host: int, code: int) -> None:
        """Let a program end."""
        program = self.programs[token, host]
        program.state, program.code = HostState.DONE, code
        self.changed()

    def lose(self, host: int | None = None) -> None:
        """Let all programs vanish without a record, on one host or on all."""
        for (_, index), program in self.programs.items():
            if host in (None, index) and program.state is HostState.RUNNING:
                program.state = HostState.LOST
        self.changed()

    def silence(self, host: int, why: str = "no route to host") -> None:
        """Let a host give no answer any more."""
        self.silent[host] = why
        self.changed()

    def speak(self, host: int) -> None:
        """Let a host answer again."""
        self.silent.pop(host, None)
        self.changed()

    def changed(self) -> None:
        """Wake all who follow."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def change(self) -> None:
        """Wait until something happens."""
        await self._changed.wait()

    def start(self, token: str, host: int, plan: LaunchPlan) -> None:
        """Start a program, and run it as far as it goes."""
        program = self.programs[token, host] = FakeProgram(HostState.RUNNING, plan)
        # What prepares a host goes well.
        lines = () if plan.stays else plan.script.splitlines()
        for line in (*lines, "exit 0"):
            word, _, rest = line.strip().partition(" ")
            if word == "echo":
                program.log += rest.encode() + b"\n"
            elif word == "sleep":
                break
            elif word == "exit":
                program.state, program.code = HostState.DONE, int(rest)
                break
        self.changed()

    def check_epoch(self, host: int, epoch: int) -> None:
        """Refuse an order under an older epoch than the newest."""
        if epoch < self.epochs.get(host, 0):
            raise StaleLeaseError(f"host {host}: epoch {self.epochs[host]} was seen here")
        self.epochs[host] = epoch


class FakeRunner(Runner):
    """A runner with no hosts at all."""

    def __init__(self, fleet: FakeFleet | None = None) -> None:
        self.fleet = fleet or FakeFleet()

    async def launch(self, attempt: AttemptRef, plan: LaunchPlan) -> None:
        """Start an attempt; hosts that are silent are named."""
        silent = [host for host in attempt.hosts if host in self.fleet.silent]
        for host in attempt.hosts:
            if host in self.fleet.silent:
                continue
            self.fleet.check_epoch(host, attempt.epoch)
            known = self.fleet.program(attempt.token, host)
            if known.state is HostState.ENDED:
                raise CommandFailedError(f"host {host}: attempt {attempt.token} was ended")
            if known.state is HostState.NONE:
                self.fleet.start(attempt.token, host, plan)
        if silent:
            raise HostUnreachableError(f"host {silent[0]}: {self.fleet.silent[silent[0]]}")

    async def poll(self, attempt: AttemptRef) -> Mapping[int, HostReport]:
        """Ask all hosts."""
        return {host: self._report(attempt.token, host, None) for host in attempt.hosts}

    async def follow(
        self, attempt: AttemptRef, offsets: Mapping[int, int]
    ) -> AsyncGenerator[HostReport, None]:
        """Yield reports whenever there is something new."""
        told: dict[int, HostReport] = {}
        at = {host: offsets.get(host, 0) for host in attempt.hosts}
        open_ = set(attempt.hosts)
        while open_:
            for host in sorted(open_):
                report = self._report(attempt.token, host, at[host])
                # One that is silent is told of anew whenever it was tried again.
                silent = report.state is HostState.SILENT
                known = host in told and told[host].state is report.state and not silent
                if report.data or not known:
                    told[host] = report
                    at[host] += len(report.data)
                    if report.state not in (HostState.RUNNING, HostState.SILENT):
                        open_.discard(host)
                    yield report
            if not any(self._is_news(attempt.token, host, at[host], told) for host in open_):
                if not open_:
                    return
                await self.fleet.change()

    async def end(self, attempt: AttemptRef, *, grace: float) -> Mapping[int, EndReport]:
        """End an attempt at once, unless a host hangs."""
        del grace
        while self.fleet.hung.intersection(attempt.hosts):
            await self.fleet.change()
        return {host: self._end(attempt, host) for host in attempt.hosts}

    def _end(self, attempt: AttemptRef, host: int) -> EndReport:
        if host in self.fleet.silent:
            return EndReport(host, confirmed=False, detail=self.fleet.silent[host])
        self.fleet.check_epoch(host, attempt.epoch)
        program = self.fleet.program(attempt.token, host)
        if program.state is HostState.NONE:
            self.fleet.strangers.add((attempt.token, host))
        if program.state is not HostState.DONE:
            program.state = HostState.ENDED
        self.fleet.programs[attempt.token, host] = program
        self.fleet.changed()
        known = (attempt.token, host) not in self.fleet.strangers
        return EndReport(host, confirmed=True, detail=program.state.value, known=known)

    def _is_news(self, token: str, host: int, at: int, told: Mapping[int, HostReport]) -> bool:
        report = self._report(token, host, at)
        return bool(report.data) or told[host].state is not report.state

    def _report(self, token: str, host: int, at: int | None) -> HostReport:
        if host in self.fleet.silent:
            detail = self.fleet.silent[host]
            return HostReport(host, HostState.SILENT, offset=at or 0, size=at or 0, detail=detail)
        program = self.fleet.program(token, host)
        return HostReport(
            host,
            program.state,
            code=program.code,
            offset=at or 0,
            data=b"" if at is None else program.log[at:],
            size=len(program.log),
        )


@attrs.frozen
class LateRefusal:
    """What a request comes to after a :class:`FakeCloud` has taken it on."""

    error: CloudError
    #: Something is left that has to be deleted.
    husk: bool = False


@attrs.define
class FakeSlice:
    """One slice of a :class:`FakeCloud`."""

    identity: SliceIdentity
    request: SliceRequest
    ready_at: float
    fleet: FakeFleet = attrs.field(factory=FakeFleet)
    #: What a test set; None: CREATING, then READY.
    forced: tuple[SlicePhase, str] | None = None
    #: What it comes to instead of being ready.
    failure: LateRefusal | None = None
    #: Its health, and whatever else people should know.
    detail: str = ""
    #: What people reach its hosts by; None: some addresses.
    ips: Sequence[str] | None = None
    #: No two slices have the same, whatever they are called.
    uid: str = attrs.field(factory=lambda: secrets.token_hex(4))


class FakeCloud(Cloud):
    """A cloud in memory, whose every answer can be set."""

    name = "fake"
    default_zone: ClassVar[str | None] = None
    bills: ClassVar[bool] = True

    def __init__(
        self,
        context: Context,
        *,
        capacity: Mapping[str, int] | None = None,
        provisioning: float = 0.0,
        hosts: Callable[[Slice], Sequence[Host]] | None = None,
    ) -> None:
        super().__init__(context)
        self.capacity = dict(capacity or {})
        self.provisioning = provisioning
        self.slices: dict[str, FakeSlice] = {}
        #: The next calls of create raise these, one after the other.
        self.refusals: deque[CloudError] = deque()
        #: The next requests that are taken on come to these, once they would be ready.
        self.late: deque[LateRefusal] = deque()
        #: Seconds for which a request is on the wire: whoever asks gets no answer, and the cloud
        #: knows nothing of it before.
        self.wire = 0.0
        self._on_the_wire: list[tuple[float, SliceIdentity, SliceRequest]] = []
        #: Why nothing is known of any slice; None: all is.
        self.unknown: str | None = None
        #: Why no zone can be listed; None: all can.
        self.unlisted: str | None = None
        #: What its books say.
        self.charged: Charges | Lacking = Charges((), "fake books")
        #: The zones that it says there are, and how much may be held in them.
        self.known_zones: tuple[str, ...] = ()
        self.allowed = Allowances()
        #: What was asked of it: ``create NAME``, ``delete NAME``.
        self.calls: list[str] = []
        #: Each look at one slice, by its name, and each list, by its zone.
        self.looks: list[str] = []
        self.lists: list[str] = []
        self._hosts = hosts

    def force(self, name: str, phase: SlicePhase, state: str) -> None:
        """Let a slice be in a state."""
        self.slices[name].forced = (phase, state)

    def vanish(self, name: str) -> None:
        """Let a slice be gone, without anybody's asking."""
        self.slices.pop(name).fleet.lose()

    async def create(self, identity: SliceIdentity, request: SliceRequest) -> None:
        """Take a request on."""
        self.calls.append(f"create {identity.name}")
        if self.refusals:
            raise self.refusals.popleft()
        if self.wire:
            self._on_the_wire.append((self._monotonic() + self.wire, identity, request))
            raise TransientCloudError("no answer in time")
        self._take_on(identity, request)

    async def observe(self, identity: SliceIdentity) -> Observation:
        """Look at a slice."""
        self.looks.append(identity.name)
        self._receive()
        if self.unknown is not None:
            return Unknown(self.unknown)
        found = self.slices.get(identity.name)
        if found is None:
            return Absent()
        nothing = self._nothing_left(found)
        return self._present(found) if nothing is None else Absent(nothing)

    async def delete(self, identity: SliceIdentity) -> None:
        """Remove a slice at once, unless it is going by itself."""
        self.calls.append(f"delete {identity.name}")
        self._receive()
        found = self.slices.get(identity.name)
        if found is None:
            return
        self._check_labels(identity)
        if found.forced is None or found.forced[0] is not SlicePhase.LOSING:
            self.vanish(identity.name)

    async def list_slices(self, zone: str, project: str = "") -> Sequence[Listed]:
        """List a zone."""
        del project
        self.lists.append(zone)
        self._receive()
        if self.unlisted is not None:
            raise TransientCloudError(self.unlisted)
        return [
            Listed(
                name,
                zone,
                self._present(found),
                found.uid,
                found.request.accelerator,
                found.request.pricing,
            )
            for name, found in sorted(self.slices.items())
            if found.request.zone == zone and self._nothing_left(found) is None
        ]

    async def zones(self, project: str = "") -> Sequence[str]:
        """Give what the test gave."""
        del project
        if self.unlisted is not None:
            raise TransientCloudError(self.unlisted)
        return self.known_zones

    async def allowances(self, zones: Sequence[str], project: str = "") -> Allowances:
        """Give what the test gave, of those zones."""
        del project
        chips = tuple(each for each in self.allowed.chips if set(each.zones) & {*zones})
        return attrs.evolve(self.allowed, chips=chips)

    def hosts(self, slice_: Slice) -> Sequence[Host]:
        """Give what the test gave."""
        return self._hosts(slice_) if self._hosts else ()

    def runner(self, slice_: Slice) -> Runner | None:
        """Give a runner in memory, unless the test gave hosts for the agent."""
        if self._hosts:
            return None
        found = self.slices.get(slice_.identity.name)
        return FakeRunner(found.fleet if found else FakeFleet())

    async def preempt(self, identity: SliceIdentity) -> None:
        """Take a slice away."""
        found = self.slices.get(identity.name)
        if found is None:
            raise InvalidInputError(f"no slice {identity.name}: nothing to preempt")
        found.forced = (SlicePhase.LOST, "PREEMPTED")
        found.fleet.lose()

    async def costs(self, since: datetime, until: datetime, zone: str) -> Charges | Lacking:
        """Give what a test wrote into the books, of those days."""
        del zone
        if isinstance(self.charged, Lacking):
            return self.charged
        days = [each for each in self.charged.charges if since.date() <= each.day < until.date()]
        return attrs.evolve(self.charged, charges=days)

    def _take_on(self, identity: SliceIdentity, request: SliceRequest) -> None:
        try:
            Accelerator.parse(request.accelerator)
        except ValueError as error:
            raise PermanentCloudError(str(error)) from error
        known = self.slices.get(identity.name)
        if known is not None and self._nothing_left(known) is None:
            self._check_labels(identity)
            return
        if sum(1 for _ in self._taking(request.zone)) >= self.capacity.get(request.zone, 10**6):
            raise StockoutError(f"no capacity in zone {request.zone!r}: take another")
        failure = self.late.popleft() if self.late else None
        ready_at = self._monotonic() + self.provisioning
        self.slices[identity.name] = FakeSlice(identity, request, ready_at, failure=failure)

    def _receive(self) -> None:
        """Take on the requests that were on the wire for long enough."""
        now = self._monotonic()
        due = [sent for sent in self._on_the_wire if sent[0] <= now]
        self._on_the_wire = [sent for sent in self._on_the_wire if sent[0] > now]
        for _, identity, request in due:
            self._take_on(identity, request)

    def _monotonic(self) -> float:
        return self.context.clock.monotonic()

    def _failed(self, found: FakeSlice) -> LateRefusal | None:
        return found.failure if self._monotonic() >= found.ready_at else None

    def _nothing_left(self, found: FakeSlice) -> CloudError | None:
        """Give why a request came to nothing of which nothing is left."""
        failure = self._failed(found)
        return failure.error if failure is not None and not failure.husk else None

    def _taking(self, zone: str) -> Iterator[FakeSlice]:
        for found in self.slices.values():
            husk = found.forced is not None and found.forced[0] is SlicePhase.LOST
            if found.request.zone == zone and not husk and self._failed(found) is None:
                yield found

    def _check_labels(self, identity: SliceIdentity) -> None:
        if self.slices[identity.name].identity.labels != identity.labels:
            raise HeldError(f"slice {identity.name} is not ours: choose another name")

    def _present(self, found: FakeSlice) -> Present:
        labels, failure = found.identity.labels, self._failed(found)
        if found.forced is not None:
            phase, state = found.forced
        elif failure is not None:
            return Present(SlicePhase.LOST, "FAILED", labels=labels, refusal=failure.error)
        elif self._monotonic() >= found.ready_at:
            phase, state = SlicePhase.READY, "READY"
        else:
            phase, state = SlicePhase.PENDING, "CREATING"
        ips = found.ips or [f"10.0.0.{index + 1}" for index in range(found.request.hosts)]
        infos = tuple(HostInfo(index, ip) for index, ip in enumerate(ips))
        hosts = infos if phase is SlicePhase.READY else ()
        return Present(phase, state, hosts, labels, found.detail)


class FakeZoneCloud(FakeCloud):
    """One whose zones are looked at as a whole."""

    looks_by_zone: ClassVar[bool] = True
