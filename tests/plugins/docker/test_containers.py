"""Programs in containers of a stand-in for docker: from their start to the proof of their end."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import attrs
import pytest
from tests.plugins.docker.machine import Machine, job, script

from jobman_core.command import Command
from jobman_core.models.job import JobSpec
from jobman_core.testing.session_contract import HOSTILE_ENV, eventually
from jobman_docker import DockerEnvironment

pytestmark = pytest.mark.e2e

TOKEN = "0123abcd"


@attrs.define
class Attempt:
    """A wrapped command, started as the agent starts it."""

    machine: Machine
    docker: DockerEnvironment
    process: asyncio.subprocess.Process
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text()

    async def until(self, text: str) -> None:
        await eventually(lambda: text in self.said, f"it says {text!r}; so far: {self.said!r}")

    async def code(self) -> int:
        async with asyncio.timeout(30):
            return await self.process.wait()

    async def client(self) -> int:
        """Give the docker client that shows the output."""
        found: list[int] = []

        def look() -> bool:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            for pid in children.read_text().split():
                line = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"start" in line or b"attach" in line:
                    found.append(int(pid))
            return bool(found)

        await eventually(look, "there is a client")
        return found[-1]


Start = Callable[..., Awaitable[Attempt]]


@pytest.fixture
async def start(
    machine: Machine, docker: DockerEnvironment, tmp_path: Path
) -> AsyncIterator[Start]:
    started: list[Attempt] = []

    async def go(
        text: str, spec: JobSpec | None = None, *, token: str = TOKEN, **env: str
    ) -> Attempt:
        plain = script(machine.home / "script", text, **env)
        command = docker.wrap(spec or job(), None, plain)
        log = tmp_path / f"log-{len(started)}"
        with log.open("wb") as out:
            process = await asyncio.create_subprocess_exec(
                *command.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                cwd=machine.home,
                env=around(machine, {**command.env, "JOBMAN_ATTEMPT_TOKEN": f"{token}.1.2"}),
            )
        started.append(Attempt(machine, docker, process, log))
        return started[-1]

    yield go
    for attempt in started:
        if attempt.process.returncode is None:
            attempt.process.kill()
            await attempt.process.wait()


def around(machine: Machine, env: dict[str, str]) -> dict[str, str]:
    return {"PATH": machine.path, "HOME": str(machine.home), "JOBMAN_WORKER_ID": "3", **env}


async def run(machine: Machine, command: Command, **env: str) -> tuple[int, str]:
    """Run a command on the host; gives its exit code and all it says."""
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=machine.home,
        env={"PATH": machine.path, "HOME": str(machine.home), **env},
    )
    out, _ = await process.communicate(command.stdin)
    return process.returncode or 0, out.decode()


@pytest.mark.parametrize("code", [0, 3, 127])
async def test_a_program_s_end_is_its_container_s(
    start: Start, machine: Machine, code: int
) -> None:
    attempt = await start(f"pwd; echo out; echo err >&2; exit {code}")
    assert await attempt.code() == code
    assert attempt.said == f"{machine.home}\nout\nerr\n"
    assert machine.containers() == []


async def test_docker_is_called_to_the_letter(start: Start, machine: Machine) -> None:
    spec = job(env_vars={"TOKEN": "s3cret"}, flags=["--shm-size=1g"], mount_dirs=["~/a:/b", "/c"])
    attempt = await start("echo $TOKEN", spec)
    assert await attempt.code() == 0
    assert attempt.said == "s3cret\n"
    home = machine.home
    (call,) = machine.calls("create")
    assert call == [
        *("create", "--name", f"jobman-{TOKEN}.1.2"),
        *("--label", f"jobman.host={home}", "--label", f"jobman.attempt={TOKEN}"),
        *("--volume", f"{home}:{home}", "--env", "HOME"),
        *("--workdir", str(home), "--volume", f"{home}/a:/b", "--volume", "/c:/c"),
        *("--env", "JOBMAN_JOB_ID", "--env", "JOBMAN_WORKER_ID"),
        *("--env", "TOKEN", "--init", "--env", "TINI_KILL_PROCESS_GROUP=1", "--privileged"),
        *("--network", "host", "--shm-size=1g", "jax:1"),
        *("bash", "-o", "pipefail", f"{home}/script"),
    ]
    name = f"jobman-{TOKEN}.1.2"
    assert machine.calls("start") == [["start", "--attach", name]]


async def test_any_value_of_a_variable_arrives_and_stands_in_no_argument(
    start: Start, machine: Machine
) -> None:
    path = f"/opt/of the image:{machine.path}"
    hostile = {**HOSTILE_ENV, "name": "ours too", "code": "9", "options": "x", "PATH": path}
    attempt = await start("/usr/bin/env -0", job(env_vars={"SECRET": "canary-9"}), **hostile)
    assert await attempt.code() == 0
    raw = await asyncio.to_thread(attempt.log.read_bytes)
    pairs = (os.fsdecode(item).split("=", 1) for item in raw.split(b"\0")[:-1])
    seen = dict(pairs)
    assert {name: seen[name] for name in hostile} == hostile
    assert seen["SECRET"] == "canary-9"
    assert seen["JOBMAN_WORKER_ID"] == "3"
    assert "JOBMAN_ATTEMPT_TOKEN" not in seen
    assert "canary" not in await asyncio.to_thread((machine.state / "calls").read_text)


async def test_term_ends_the_program_once_and_the_container_with_it(
    start: Start, machine: Machine
) -> None:
    attempt = await start("trap 'echo told; exit 9' TERM; echo here; while :; do sleep 0.05; done")
    await attempt.until("here")
    attempt.process.terminate()
    assert await attempt.code() == 9
    assert attempt.said.count("told") == 1
    assert machine.containers() == []


@pytest.mark.parametrize("verb", ["create", "start"])
async def test_what_is_ended_before_its_container_runs_never_starts(
    start: Start, machine: Machine, verb: str
) -> None:
    slow = machine.state / f"slow-{verb}"
    slow.touch()
    attempt = await start("echo it ran")
    await eventually(lambda: bool(machine.calls(verb)), "docker has been asked")
    attempt.process.terminate()
    if verb == "start":
        await eventually(lambda: not machine.containers(), "it is taken away")
        slow.unlink()
    assert await attempt.code() == 143
    assert "it ran" not in attempt.said
    assert machine.containers() == []


async def test_the_last_words_of_a_program_that_is_ended_are_in_its_output(
    start: Start, machine: Machine
) -> None:
    attempt = await start("trap 'sleep 0.3; echo saved; exit 0' TERM; echo here; sleep 600 & wait")
    await attempt.until("here")
    attempt.process.terminate()
    assert await attempt.code() == 0
    assert attempt.said == "here\nsaved\n"


async def test_a_container_that_outlives_its_wrapper_is_ended_and_that_is_proved(
    start: Start, machine: Machine, docker: DockerEnvironment
) -> None:
    attempt = await start("echo here; sleep 600")
    await attempt.until("here")
    client = await attempt.client()
    attempt.process.kill()
    os.kill(client, signal.SIGKILL)
    await attempt.code()
    assert len(machine.containers()) == 1
    end = docker.end(job(), TOKEN)
    assert await run(machine, docker.end(job(), "another")) == (0, "")
    assert len(machine.containers()) == 1
    assert await run(machine, end) == (0, "")
    assert machine.containers() == []
    assert await run(machine, end) == (0, "")


async def test_an_end_that_docker_does_not_confirm_is_none(
    start: Start, machine: Machine, docker: DockerEnvironment
) -> None:
    down = machine.state / "down"
    down.touch()
    code, said = await run(machine, docker.end(job(), TOKEN))
    assert code == 1
    assert "the docker daemon does not answer (Cannot connect" in said
    assert "systemctl start docker" in said
    down.unlink()
    attempt = await start("echo here; sleep 600")
    await attempt.until("here")
    attempt.process.kill()
    stuck = machine.state / "stuck"
    stuck.touch()
    machine.program("sleep", ":")
    code, said = await run(machine, docker.end(job(), TOKEN))
    assert code == 1
    assert "docker does not remove its container" in said
    stuck.unlink()
    assert (await run(machine, docker.end(job(), TOKEN)))[0] == 0


async def test_a_lost_client_ends_nothing_and_is_no_success(start: Start, machine: Machine) -> None:
    attempt = await start("echo here; until [ -e go ]; do sleep 0.05; done; echo done; exit 4")
    await attempt.until("here")
    os.kill(await attempt.client(), signal.SIGKILL)
    await attempt.until("lost sight of the container")
    await attempt.client()
    await asyncio.to_thread((machine.home / "go").touch)
    assert await attempt.code() == 4
    assert machine.containers() == []


async def test_a_daemon_that_does_not_answer_says_nothing_about_the_program(
    start: Start, machine: Machine
) -> None:
    attempt = await start("echo here; until [ -e go ]; do sleep 0.05; done")
    await attempt.until("here")
    down = machine.state / "down"
    down.touch()
    os.kill(await attempt.client(), signal.SIGKILL)
    await attempt.until("the docker daemon does not answer")
    assert attempt.process.returncode is None
    down.unlink()
    await asyncio.to_thread((machine.home / "go").touch)
    assert await attempt.code() == 0


async def test_a_container_that_someone_removed_is_no_success(
    start: Start, machine: Machine
) -> None:
    # Its client says 0, as if the program had ended well.
    real = machine.bin / "docker"
    real.rename(machine.bin / "real")
    machine.program(
        "docker",
        f'"{machine.bin}/real" "$@"; c=$?; [ "$1" != start ] || '
        f'{{ "{machine.bin}/real" rm --force --volumes $("{machine.bin}/real" ps --all --quiet '
        "--no-trunc); exit 0; }; exit $c",
    )
    attempt = await start("exit 5")
    assert await attempt.code() == 125
    assert "nobody knows what it ended with" in attempt.said


async def test_what_an_older_attempt_left_on_this_host_is_removed_first(
    start: Start, machine: Machine
) -> None:
    older = await start("echo here; sleep 600", token="0ld")
    await older.until("here")
    os.kill(await older.client(), signal.SIGKILL)
    older.process.kill()
    # A folder of the same machine may be a host of its own.
    other = machine.state / "containers" / "other"
    other.mkdir()
    (other / "spec").write_text('{"name": "x", "labels": ["jobman.host=/elsewhere"]}')
    attempt = await start("echo fine")
    assert await attempt.code() == 0
    assert [spec["name"] for spec in machine.containers()] == ["x"]


async def test_an_image_without_bash_is_explained(start: Start, machine: Machine) -> None:
    attempt = await start("true", job(image="without-bash"))
    assert await attempt.code() == 127
    assert "the image has no bash" in attempt.said
    assert machine.containers() == []


async def test_what_docker_refuses_is_its_own_word(start: Start, machine: Machine) -> None:
    attempt = await start("true", job(flags=["--no-such-flag"]))
    assert await attempt.code() == 125
    assert "unknown flag: --no-such-flag\n[jobman: docker could not create" in attempt.said


async def test_a_host_without_docker_says_what_to_install(
    machine: Machine, docker: DockerEnvironment
) -> None:
    # The scripts look beyond PATH, where this machine may have one.
    (setup,) = docker.setup(job(), None)
    code, said = await run(machine, _without_docker(setup))
    assert code == 1
    assert "docker is not installed on this host: install it" in said
    assert await run(machine, _without_docker(docker.end(job(), TOKEN))) == (0, "")


def _without_docker(command: Command) -> Command:
    return Command(tuple(a.replace("type -P docker", "type -P no-docker") for a in command.argv))
