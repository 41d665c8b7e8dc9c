"""Hosts that need no root."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.machines import ESCAPES, LIMIT, NODE, Client, MachinesContract, until

from jobman_emulator import nursery
from jobman_emulator.machines import Machines
from jobman_emulator.process_hosts import ProcessHosts

pytestmark = pytest.mark.e2e


@pytest.fixture
async def machines(tmp_path: Path) -> AsyncGenerator[ProcessHosts]:
    machines = ProcessHosts(tmp_path / "hosts", port=0)
    yield machines
    await machines.aclose()
    assert machines.processes() == 0


@pytest.fixture
def client(tmp_path: Path, machines: ProcessHosts) -> Client:
    return Client.new(tmp_path / "client", machines.port)


class TestProcessHosts(MachinesContract):
    apart = False

    @pytest.fixture
    def machines(self, machines: Machines) -> Machines:
        return machines

    @pytest.fixture
    def port(self, machines: ProcessHosts) -> int:
        return machines.port

    def startup_log(self) -> str:
        return "../startup-script.log"


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


async def test_a_program_can_tell_which_host_it_is_on(
    machines: ProcessHosts, client: Client
) -> None:
    hosts = await machines.boot(NODE, 2, {"ssh-keys": client.line})
    said = [await client.out(host, "echo $JOBMAN_EMULATOR_HOST") for host in hosts]
    assert said == ["train-g1-1/0", "train-g1-1/1"]


async def test_connections_and_commands_are_held_up_as_long_as_asked(
    machines: ProcessHosts, client: Client
) -> None:
    hosts = await machines.boot(NODE, 4, {"ssh-keys": client.line})
    machines.latency = 1.0
    before = time.monotonic()
    await asyncio.gather(*(client.out(host, "true") for host in hosts))
    # Once for the connection and once for the command, but not one host after the other.
    assert 2.0 <= time.monotonic() - before < 8.0


async def test_clients_that_leave_in_the_middle_leave_nothing_open(
    machines: ProcessHosts, client: Client
) -> None:
    (host,) = await machines.boot(NODE, 1, {"ssh-keys": client.line})
    await client.out(host, "true")
    before = open_files()
    for leaves_at_once in (True, False, True, False):
        link = await client.start(host, "echo up; sleep 1000")
        assert link.stdout is not None
        if not leaves_at_once:
            await asyncio.wait_for(link.stdout.readline(), LIMIT)
        link.kill()
        await link.communicate()

    async def is_clean() -> bool:
        return open_files() <= before

    await until(is_clean)


async def test_two_emulators_share_a_port(
    machines: ProcessHosts, client: Client, tmp_path: Path
) -> None:
    other = ProcessHosts(tmp_path / "other", port=machines.port)
    try:
        (one,) = await machines.boot(NODE, 1, {"ssh-keys": client.line})
        (two,) = await other.boot(NODE, 1, {"ssh-keys": client.line})
        assert await client.out(one, "echo one") == "one"
        assert await client.out(two, "echo two") == "two"
    finally:
        await other.aclose()


async def test_nothing_is_left_of_the_folders_of_a_halted_node(
    machines: ProcessHosts, client: Client, tmp_path: Path
) -> None:
    await machines.boot(NODE, 2, {"ssh-keys": client.line})
    await machines.halt(NODE)
    assert not await asyncio.to_thread(os.listdir, tmp_path / "hosts")


async def test_a_halt_finds_also_what_lost_the_process_it_was_kept_by(
    machines: ProcessHosts, client: Client
) -> None:
    (host,) = await machines.boot(NODE, 1, {"ssh-keys": client.line})
    await client.out(host, ESCAPES)
    pid = int(await client.out(host, "setsid sleep 1000 > /dev/null 2>&1 & echo $!"))
    os.kill(parent_of(pid), signal.SIGKILL)
    await machines.halt(NODE)
    assert machines.processes() == 0
    assert not lives(pid)


async def test_hosts_end_with_an_emulator_that_is_killed(client: Client, tmp_path: Path) -> None:
    script = f"""
import asyncio, pathlib
from jobman_emulator.machines import Machine
from jobman_emulator.process_hosts import ProcessHosts
async def main():
    machines = ProcessHosts(pathlib.Path({str(tmp_path / "killed")!r}), port={client.port})
    startup = "setsid sleep 1000 & echo $! > pid.new; mv pid.new pid; wait"
    await machines.boot({NODE!r}, 1, {{"ssh-keys": "", "startup-script": startup}})
    await asyncio.Event().wait()
asyncio.run(main())
"""
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    file = tmp_path / "killed" / "train-g1-1" / "host-0" / "home" / "pid"

    async def has_started() -> bool:
        return file.exists()

    await until(has_started)
    pid = int(file.read_text())
    assert pid in [process[0] for process in nursery.below(killed.pid)]
    killed.kill()
    await asyncio.wait_for(killed.wait(), LIMIT)

    async def is_gone() -> bool:
        return not lives(pid)

    await until(is_gone)
