"""``jobman solve``: all that can be wrong on a job's hosts, asked at once, and mended if wished."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence

import attrs

from jobman_core.errors import HeldError, JobmanError, NotFoundError
from jobman_core.hub import Hub
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.problem import HostProblem
from jobman_core.interfaces.store import JobRecord
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import JobSpec, Step
from jobman_core.models.lease import Liveness
from jobman_core.models.slice import Slice, SlicePhase
from jobman_core.models.view import Finding, Solved
from jobman_core.run.check_up import note_of
from jobman_core.run.hosts import on_each
from jobman_core.run.live_steps import live_steps
from jobman_core.run.problems import Found, look, mend
from jobman_core.run.questions import Around, fitting, problems_of
from jobman_core.ssh import Access, hosts_of


@attrs.frozen
class _Scene:
    """A job's slice as it stands, and what may be wrong there."""

    record: JobRecord
    slice: Slice
    spec: JobSpec
    hosts: Sequence[Host]
    problems: Sequence[HostProblem]
    #: What prepares hosts now, by host: tokens of steps.
    steps: dict[int, Sequence[str]] = attrs.field(factory=dict)

    def live(self, host: int) -> list[Attempt]:
        """Give the attempts that run on a host, or may do so in a moment."""
        return [
            attempt
            for attempt in self.record.attempts
            if attempt.generation == self.slice.generation
            and (not attempt.hosts or host in attempt.hosts)
        ]


class Solver:
    """Looks at a job's hosts, and mends what is wrong there."""

    def __init__(self, hub: Hub) -> None:
        """Act in a home."""
        self._hub = hub

    async def solve(self, job: str, *, fix: bool) -> Solved:
        """Ask all checks on all hosts, and let remedies run where that is wished.

        Raises:
            NotYoursError: only its owner mends a job's hosts.
            NotFoundError: it has no slice that is ready.
        """
        record = await self._hub.record(job)
        if fix:
            self._hub.own(record.job)
        scene = await self._scene(record)
        around: dict[int, Around] = {}

        async def ask(host: Host) -> Sequence[Found]:
            # The time that is sent along is to be compared when it arrives, not after a login.
            steps = scene.steps[host.index] = await live_steps(host)
            attempts = [attempt.token for attempt in scene.live(host.index)]
            mine = Around.of(scene.spec, self._hub.clock, live=(*attempts, *steps))
            around[host.index] = mine
            return await look(host, fitting(scene.problems, host.facts), mine)

        looks = await on_each(scene.hosts, ask)
        asked = {p.name: None for host in scene.hosts for p in fitting(scene.problems, host.facts)}
        findings: dict[int, Sequence[Finding]] = {
            index: [Finding(index, "host", str(found))]
            if isinstance(found, JobmanError)
            else [each.finding() for each in found]
            for index, found in looks.items()
        }
        if fix:
            troubled = {i: f for i, f in looks.items() if not isinstance(f, JobmanError) and f}
            findings |= await self._mend(scene, troubled, around)
        every = [finding for index in sorted(findings) for finding in findings[index]]
        return Solved(len(scene.hosts), tuple(asked), tuple(every), self._preparing(record))

    def _preparing(self, record: JobRecord) -> str:
        """Say what a job's controller does on its hosts before work, if it is at that."""
        job = record.job
        at_it = job.step is Step.PREPARE and self._hub.liveness(record) is Liveness.ALIVE
        return (job.step_reason or "prepares its hosts") if at_it else ""

    async def _scene(self, record: JobRecord) -> _Scene:
        hub, job, slice_ = self._hub, record.job, record.slice
        if slice_ is None or not slice_.held or slice_.phase is not SlicePhase.READY:
            msg = f"job {job.id} has no slice that is ready: `jobman show {job.id}` says why"
            raise NotFoundError(msg)
        spec = await asyncio.to_thread(hub.spec, job, hub.surroundings())
        backends = hub.backends
        known_hosts = hub.home.known_hosts(job.user, job.id, slice_.generation)
        access = Access.of_job(job.user, spec)
        hosts = hosts_of(backends.cloud(job.cloud), slice_, access, known_hosts, hub.links)
        environment, storages = (
            backends.environment(spec.env_type),
            backends.storages(spec.sections),
        )
        problems = await asyncio.to_thread(problems_of, spec, environment, storages, hub.plugins)
        return _Scene(record, slice_, spec, hosts, problems)

    async def _mend(
        self,
        scene: _Scene,
        troubled: Mapping[int, Sequence[Found]],
        around: Mapping[int, Around],
    ) -> dict[int, Sequence[Finding]]:
        """Run remedies on hosts, as far as no program is disturbed; tell what became of them."""
        disturb = any(
            found.problem.remedy is not None and not found.problem.gentle
            for each in troubled.values()
            for found in each
        )
        async with self._kept_from_starting(scene, wanted=disturb) as refusals:

            async def do(host: Host) -> Sequence[Finding]:
                index = host.index
                refusal = refusals[index]
                return await mend(host, troubled[index], around[index], refusal=refusal)

            ends = await on_each([h for h in scene.hosts if h.index in troubled], do)
        mended: dict[int, Sequence[Finding]] = {
            index: [each.finding(why=str(end)) for each in troubled[index]]
            if isinstance(end, JobmanError)
            else end
            for index, end in ends.items()
        }
        for finding in (each for found in mended.values() for each in found):
            if finding.fixed:
                await self._hub.store.add_event(note_of(finding), job=scene.record.job.id)
        return mended

    @contextlib.asynccontextmanager
    async def _kept_from_starting(
        self, scene: _Scene, *, wanted: bool
    ) -> AsyncIterator[Mapping[int, str]]:
        """See to it that nothing starts on the hosts meanwhile; give why that is not so, by host.

        Whoever holds the job's lease is the only one who may start anything.

        Args:
            scene: the job.
            wanted: there is a reason to; else nothing is done.
        """
        async with contextlib.AsyncExitStack() as stack:
            driven = self._hub.liveness(scene.record) not in (Liveness.NONE, Liveness.DEAD)
            if wanted and not driven:
                try:
                    ctx = await stack.enter_async_context(self._hub.acting(scene.record))
                    scene = attrs.evolve(scene, record=await ctx.record())
                except HeldError:
                    driven = True
            yield {host.index: _refusal(scene, host.index, driven=driven) for host in scene.hosts}


def _refusal(scene: _Scene, host: int, *, driven: bool) -> str:
    """Say why nothing may be done on a host that could disturb a program; empty: all may be."""
    job, live = scene.record.job.id, scene.live(host)
    if live:
        what = f"task {live[0].task}" if live[0].task else "its command"
        return f"refused, since {what} runs there: `jobman stop {job}` ends it"
    if scene.steps.get(host):
        return f"refused, since the host is being prepared: `jobman stop {job}` ends that"
    if driven:
        why = "its controller may start a program at any moment"
        return f"refused, since {why}: `jobman stop {job}` first"
    return ""
