"""What runs in a local slice can always be found and ended, and nothing else ever is."""

# ruff: noqa: ASYNC110, ASYNC220, ASYNC221 - a test waits for its own machine only

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.core.local.conftest import LocalSlice, Marker

from jobman_core.builtin.local import keeper
from jobman_core.builtin.local.host import LocalHost
from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import HostUnreachableError
from jobman_core.models.attempt import AttemptRef, HostState
from jobman_core.models.slice import Present, SlicePhase
from jobman_core.run.agent import AgentRunner
from jobman_core.testing.runner_contract import follow, new_token, plan, states

pytestmark = pytest.mark.e2e

LIMIT = 20.0

# Each starts a process called "$1" that would live for a day.
ESCAPES = {
    "child": 'exec -a "$1" sleep 86400 &',
    "session of its own": 'setsid bash -c \'exec -a "$0" sleep 86400\' "$1" &',
    "double fork": '(setsid bash -c \'(exec -a "$0" sleep 86400) & exit\' "$1" &)',
    "nohup": 'nohup bash -c \'exec -a "$0" sleep 86400\' "$1" > /dev/null 2>&1 &',
    "emptied environment": 'env -i setsid bash -c \'exec -a "$0" sleep 86400\' "$1" &',
    "emptied environment, double fork": (
        '(env -i setsid bash -c \'(exec -a "$0" /bin/sleep 86400) & exit\' "$1" &)'
    ),
}


def start(how: str, marker: Marker) -> Command:
    """Give the command that starts a process in one of the ways above, and ends."""
    return Command(("bash", "-c", ESCAPES[how], "bash", marker.text))


def roots(local: LocalSlice) -> list[str]:
    return sorted(path.name for path in (local.folder / keeper.ROOTS).iterdir())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


async def keepers(host: LocalHost, how: str, marker: Marker) -> tuple[int, int]:
    """Start a process, and give the guard and the keeper that it is below."""
    command = ESCAPES[how] + '\necho "$JOBMAN_KEEPER"'
    done = await host.run(Command(("bash", "-c", command, "bash", marker.text)), limit=LIMIT)
    marker.until(1)
    guard = keeper.from_name(done.stdout.decode().strip())
    assert guard is not None
    (inner,) = (pid for pid, _ in keeper.below(guard) if parent(pid) == guard[0])
    return guard[0], inner


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("how", ESCAPES)
async def test_a_preemption_ends_everything_before_it_returns(
    local: LocalSlice, marker: Marker, how: str
) -> None:
    await local.hosts[1].run(start(how, marker), limit=LIMIT)
    marker.until(1)
    await local.cloud.preempt(local.identity)
    assert marker.living() == []
    seen = await local.cloud.observe(local.identity)
    assert isinstance(seen, Present)
    assert (seen.phase, seen.state) == (SlicePhase.LOST, "PREEMPTED")


@pytest.mark.parametrize("how", ESCAPES)
async def test_a_delete_ends_everything_and_leaves_no_folder(
    local: LocalSlice, marker: Marker, how: str
) -> None:
    await local.hosts[0].run(start(how, marker), limit=LIMIT)
    marker.until(1)
    await local.cloud.delete(local.identity)
    assert marker.living() == []
    assert [path.name for path in local.folder.parent.iterdir()] == ["lock"]


@pytest.mark.parametrize("how", ESCAPES)
async def test_the_end_of_an_attempt_reaches_everything(
    local: LocalSlice, marker: Marker, how: str
) -> None:
    runner = AgentRunner(local.hosts, SystemClock())
    attempt = AttemptRef(new_token(), 1, (0,))
    await runner.launch(attempt, plan(ESCAPES[how] + "\nsleep 86400", marker.text))
    marker.until(1)
    assert (await runner.end(attempt, grace=5))[0].confirmed
    assert marker.living() == []
    await until(lambda: roots(local) == [])


async def test_ending_one_attempt_leaves_what_other_commands_started(
    local: LocalSlice, marker: Marker
) -> None:
    await local.hosts[0].run(start("child", marker), limit=LIMIT)
    runner = AgentRunner(local.hosts, SystemClock())
    attempt = AttemptRef(new_token(), 1, (0,))
    await runner.launch(attempt, plan("sleep 86400"))
    assert (await runner.end(attempt, grace=5))[0].confirmed
    marker.until(1)
    await local.cloud.delete(local.identity)


@pytest.mark.parametrize("how", ESCAPES)
@pytest.mark.parametrize("which", ["guard", "keeper"])
async def test_a_killed_keeper_takes_its_tree_along(
    local: LocalSlice, marker: Marker, which: str, how: str
) -> None:
    guard, inner = await keepers(local.hosts[0], how, marker)
    os.kill(guard if which == "guard" else inner, signal.SIGKILL)
    marker.until(0)


async def test_an_attempt_whose_keeper_was_killed_is_lost_and_the_slice_is_not(
    local: LocalSlice, marker: Marker
) -> None:
    runner = AgentRunner(local.hosts, SystemClock())
    attempt = AttemptRef(new_token(), 1, (0,))
    await runner.launch(attempt, plan(ESCAPES["child"] + "\nwait", marker.text))
    following = asyncio.create_task(follow(runner, attempt))
    marker.until(1)
    name = (local.hosts[0].home / ".jobman/attempts" / attempt.token / "keeper").read_text().strip()
    guard = keeper.from_name(name)
    assert guard is not None
    os.kill(guard[0], signal.SIGKILL)
    assert (await following)[0].state is HostState.LOST
    seen = await local.cloud.observe(local.identity)
    assert isinstance(seen, Present)
    assert seen.phase is SlicePhase.READY


@pytest.mark.parametrize("how", ["child", "session of its own", "double fork"])
async def test_both_keepers_killed_at_once_still_leave_no_survivor_of_a_preemption(
    local: LocalSlice, marker: Marker, how: str
) -> None:
    guard, inner = await keepers(local.hosts[0], how, marker)
    for pid in (guard, inner):
        os.kill(pid, signal.SIGSTOP)
    for pid in (inner, guard):
        os.kill(pid, signal.SIGKILL)
    assert len(marker.living()) == 1
    await local.cloud.preempt(local.identity)
    assert marker.living() == []


async def test_keepers_leave_when_nothing_is_below_them(local: LocalSlice, marker: Marker) -> None:
    await keepers(local.hosts[0], "double fork", marker)
    assert len(roots(local)) == 2
    for pid in marker.living():
        os.kill(pid, signal.SIGTERM)
    await until(lambda: roots(local) == [])


async def test_names_that_killed_keepers_leave_are_forgotten(
    local: LocalSlice, marker: Marker
) -> None:
    guard, _ = await keepers(local.hosts[0], "child", marker)
    os.kill(guard, signal.SIGKILL)
    marker.until(0)

    def swept() -> bool:
        local.cloud._folder.forget_ended(local.identity.name)
        return roots(local) == []

    await until(swept)


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1])
async def test_no_command_slips_through_a_preemption(
    local: LocalSlice, marker: Marker, delay: float
) -> None:
    commands = [
        asyncio.create_task(host.run(start(how, marker), limit=LIMIT))
        for how in ESCAPES
        for host in local.hosts
    ]
    # Whatever has begun by then: after the preemption nothing runs, and nothing starts.
    await asyncio.sleep(delay)
    await local.cloud.preempt(local.identity)
    assert marker.living() == []
    await asyncio.gather(*commands, return_exceptions=True)
    assert marker.living() == []


async def test_transient_commands_end_with_the_slice(local: LocalSlice, marker: Marker) -> None:
    argv = ("bash", "-c", '(exec -a "$0" sleep 86400); true', marker.text)
    command = Command(argv, transient=True)
    asked = asyncio.create_task(local.hosts[0].run(command, limit=LIMIT))
    await until(lambda: len(marker.living()) == 1)
    await local.cloud.preempt(local.identity)
    assert marker.living() == []
    with pytest.raises(HostUnreachableError):
        await asked


async def test_whoever_waits_when_the_slice_is_taken_learns_that_nothing_is_known(
    local: LocalSlice, marker: Marker
) -> None:
    command = Command(("bash", "-c", 'exec -a "$0" sleep 86400', marker.text))
    asked = asyncio.create_task(local.hosts[0].run(command, limit=LIMIT))
    await until(lambda: len(marker.living()) == 1)
    await local.cloud.preempt(local.identity)
    with pytest.raises(HostUnreachableError):
        await asked


async def test_a_bystander_is_never_touched(local: LocalSlice, marker: Marker) -> None:
    host = local.hosts[0]
    argv = ["bash", "-c", 'exec -a "$0" sleep 86400', f"{marker.text}-bystander"]
    # The same program, the same user, the same folder and HOME.
    env = {"HOME": str(host.home), "PATH": os.environ["PATH"]}
    with subprocess.Popen(argv, cwd=host.home, env=env) as bystander:
        try:
            for how in ESCAPES:
                await host.run(start(how, marker), limit=LIMIT)
            marker.until(1 + len(ESCAPES))
            await local.cloud.preempt(local.identity)
            assert marker.living() == [bystander.pid]
            assert bystander.poll() is None
        finally:
            bystander.kill()


async def test_output_that_stays_open_keeps_nobody_waiting(
    local: LocalSlice, marker: Marker
) -> None:
    command = ESCAPES["child"] + " echo out; echo err >&2; exit 3"
    asked = Command(("bash", "-c", command, "bash", marker.text))
    done = await local.hosts[0].run(asked, limit=LIMIT)
    assert (done.code, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
    marker.until(1)
    await local.cloud.delete(local.identity)


async def test_kill_zero_in_a_script_hits_only_the_script(local: LocalSlice) -> None:
    done = await local.hosts[0].run(Command(("sh", "-c", "kill -KILL 0")), limit=LIMIT)
    assert done.code == 137


async def test_a_command_sees_little_of_the_controllers_environment(local: LocalSlice) -> None:
    done = await local.hosts[0].run(Command(("env", "-0"), env={"MINE": "1"}), limit=LIMIT)
    names = {item.split("=")[0] for item in done.stdout.decode().split("\0") if item}
    fixed = {"HOME", "PATH", "SHELL", "TMPDIR", "MINE", "JOBMAN_LOCAL_SLICE", "JOBMAN_KEEPER"}
    assert fixed <= names
    rest = names - fixed - {"USER", "LOGNAME", "LANG", "TZ"}
    assert [name for name in rest if not name.startswith("LC_")] == []


async def test_a_slice_that_is_gone_cannot_be_reached_and_stays_gone(local: LocalSlice) -> None:
    await local.cloud.delete(local.identity)
    for command in (Command(("true",)), Command(("true",), transient=True)):
        with pytest.raises(HostUnreachableError):
            await local.hosts[0].run(command, limit=LIMIT)
    with pytest.raises(HostUnreachableError):
        await local.hosts[0].put(b"", "file")
    assert not local.folder.exists()


async def test_a_preempted_slice_cannot_be_reached(local: LocalSlice) -> None:
    await local.cloud.preempt(local.identity)
    for command in (Command(("true",)), Command(("true",), transient=True)):
        with pytest.raises(HostUnreachableError):
            await local.hosts[0].run(command, limit=LIMIT)
    with pytest.raises(HostUnreachableError):
        await local.hosts[0].put(b"", "file")


_CONTROLLER = """
import asyncio, os, sys
from pathlib import Path
from jobman_core.builtin.local.host import LocalHost
from jobman_core.clock import SystemClock
from jobman_core.models.attempt import AttemptRef
from jobman_core.run.agent import AgentRunner
from jobman_core.testing.runner_contract import plan

async def main():
    host = LocalHost(0, Path(sys.argv[1]), os.environ)
    script = "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 5"
    await AgentRunner([host], SystemClock()).launch(AttemptRef(sys.argv[2], 1, (0,)), plan(script))
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""


async def test_a_killed_controller_stops_nothing_and_the_next_one_adopts(
    local: LocalSlice,
) -> None:
    token = new_token()
    argv = [sys.executable, "-c", _CONTROLLER, str(local.folder), token]
    assert subprocess.run(argv, check=False).returncode == -signal.SIGKILL
    runner = AgentRunner(local.hosts, SystemClock())
    attempt = AttemptRef(token, 2, (0,))
    assert await states(runner, attempt) == {0: HostState.RUNNING}
    await local.hosts[0].put(b"", "go")
    heard = (await follow(runner, attempt))[0]
    assert (heard.output, heard.code) == (b"one\ntwo\n", 5)


# -- finding and signalling ----------------------------------------------------------------------


def test_a_process_that_took_over_an_id_is_not_signalled() -> None:
    with subprocess.Popen(["sleep", "86400"]) as other:
        try:
            start_time = keeper._stat(other.pid)
            assert start_time is not None
            keeper.send((other.pid, start_time[1] - 1), signal.SIGKILL)
            assert not keeper.alive((other.pid, start_time[1] - 1))
            assert keeper.alive((other.pid, start_time[1]))
            assert other.poll() is None
        finally:
            other.kill()


def test_the_name_of_a_program_cannot_hide_it(tmp_path: Path) -> None:
    path = tmp_path / "a) S 1 (\n9"
    path.symlink_to("/bin/sleep")
    with subprocess.Popen([path, "86400"]) as child:
        try:
            assert child.pid in [pid for pid, _ in keeper.below(keeper.myself())]
        finally:
            child.kill()


def test_a_process_whose_main_thread_has_ended_still_lives() -> None:
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(86400,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as child:
        try:
            deadline = time.monotonic() + 20
            while "(zombie)" not in Path(f"/proc/{child.pid}/status").read_text():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert child.pid in [pid for pid, _ in keeper.below(keeper.myself())]
        finally:
            child.kill()


def test_a_name_of_another_boot_is_nobodys() -> None:
    name = keeper.name_of(keeper.myself())
    assert keeper.from_name(name) == keeper.myself()
    assert keeper.from_name(name[:-8] + "00000000") is None
    assert keeper.from_name("nonsense") is None
