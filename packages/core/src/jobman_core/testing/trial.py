"""What a plugin gives, tried on a host as the core would do it; and a real host for that."""

import asyncio
import secrets
import shlex
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from jobman_core.builtin.local import LocalCloud
from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import Host
from jobman_core.models.attempt import SCRIPT, AttemptRef, HostState, LaunchPlan
from jobman_core.models.job import HoldMode, JobSpec
from jobman_core.models.slice import Slice, SliceIdentity, SliceRequest
from jobman_core.run.agent import AgentRunner
from jobman_core.testing.runner_contract import follow, new_token

#: Seconds that one command of a set-up, or one program, may take here.
LIMIT: Final = 600.0
#: Seconds that a look at what is mounted may take.
LOOK_LIMIT: Final = 10.0
GRACE: Final = 5.0

# Its input and output are files, as whatever it leaves behind would hold pipes open.
_STEP: Final = f"""
folder=$1; shift
for item do
    [ "$item" = '{SCRIPT}' ] && item=$folder/stdin
    set -- "$@" "$item"; shift
done
exec "$@" < "$folder/stdin" > "$folder/log" 2>&1
"""

_T = TypeVar("_T")


@attrs.frozen
class Ran:
    """How something ended on a host, and all that it said."""

    code: int | None
    output: bytes

    @property
    def text(self) -> str:
        """What it said, for people."""
        return self.output.decode("utf-8", "replace")


def at_once(work: Coroutine[Any, Any, _T]) -> _T:
    """Wait for something in a loop of its own, where a fixture has none: one of a whole class."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@contextmanager
def local_hosts(home: Path, accelerator: str = "v4-8") -> Iterator[Sequence[Host]]:
    """Give the hosts of a local slice; nothing that was started on them outlives the block.

    Args:
        home: a folder that is for the slice alone.
        accelerator: of the slice; it says how many hosts there are (``v4-8``: one).
    """
    Home(home).state.mkdir(parents=True)
    cloud = LocalCloud(Context(home, "home-1", SystemClock(), {"provisioning": 0}))
    identity = SliceIdentity("trial-g1", "here", "home-1", "ann", "000001", 1)
    request = SliceRequest("local", accelerator, "here")
    at_once(cloud.create(identity, request))
    try:
        yield cloud.hosts(Slice("000001", 1, request, identity, datetime.now(UTC)))
    finally:
        at_once(cloud.delete(identity))


def job_spec(*, env_type: str | None = None, **sections: dict[str, Any]) -> JobSpec:
    """Give a job that holds one local host, with sections as plain data: by their names."""
    request = SliceRequest("local", "v4-8", "here")
    return JobSpec("job_1", "job-1", HoldMode(), (request,), env_type=env_type, sections=sections)


async def run_step(host: Host, command: Command) -> Ran:
    """Run one command of a step to its end; what it starts may go on running."""
    folder = f".jobman/trial/{secrets.token_hex(8)}"
    await host.put(command.stdin, f"{folder}/stdin")
    home = (await host.run(Command(("sh", "-c", 'printf %s "$HOME"')), limit=LIMIT)).stdout
    argv = ("sh", "-c", _STEP, "sh", f"{home.decode()}/{folder}", *command.argv)
    done = await host.run(attrs.evolve(command, argv=argv, stdin=b""), limit=LIMIT)
    said = await host.run(Command(("cat", f"{folder}/log"), transient=True), limit=LIMIT)
    return Ran(done.code, said.stdout)


async def run_steps(host: Host, commands: Sequence[Command]) -> None:
    """Run the commands of a step in turn; each has to end with 0."""
    for command in commands:
        ran = await run_step(host, command)
        assert ran.code == 0, f"{shlex.join(command.argv)} ended with {ran.code}: {ran.text}"


async def run_program(host: Host, plan: LaunchPlan) -> Ran:
    """Run a program as an attempt, to its end; nothing of it is left."""
    host_runner = AgentRunner([host], SystemClock())
    attempt = AttemptRef(new_token(), 1, (host.index,))
    await host_runner.launch(attempt, plan)
    try:
        async with asyncio.timeout(LIMIT):
            heard = (await follow(host_runner, attempt))[host.index]
    finally:
        ends = await host_runner.end(attempt, grace=GRACE)
    assert heard.state is HostState.DONE, f"it is {heard.state}: {heard.output!r}"
    assert ends[host.index].confirmed, ends[host.index].detail
    return Ran(heard.code, heard.output)


def inside(
    environment: Environment,
    spec: JobSpec,
    script: str,
    *args: str,
    name: str | None = None,
    **more: Any,  # noqa: ANN401 - fields of a command
) -> LaunchPlan:
    """Give the plan of a script inside an environment, as the core makes it.

    Args:
        environment: around it.
        spec: the job.
        script: for bash.
        args: that it gets.
        name: of another environment than the job's own.
        more: fields of the :class:`Command`: ``env``, ``cwd``, ``stdin``.
    """
    command = Command(("bash", "-o", "pipefail", SCRIPT, *args), **more)
    return LaunchPlan(script, environment.wrap(spec, name, command))
