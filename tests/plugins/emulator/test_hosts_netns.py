"""Hosts that are machines of their own in all but the kernel."""

import asyncio
import secrets
import sys
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest
from tests.support.machines import LIMIT, NODE, Client, MachinesContract, Said

from jobman_emulator.machines import Machine, Machines
from jobman_emulator.netns_hosts import NetnsHosts

pytestmark = [pytest.mark.e2e, pytest.mark.root]

#: Asks the metadata server of a host for a path, as Python on the host would.
ASK = """python3 -I -c '
import sys, urllib.request
url = "http://metadata.google.internal/computeMetadata/v1/" + sys.argv[1]
said = urllib.request.Request(url, headers={"Metadata-Flavor": "Google"})
answer = urllib.request.urlopen(said)
print(answer.read().decode(), *(answer.headers[name] for name in sys.argv[2:]))' """


@pytest.fixture
async def machines(tmp_path: Path) -> AsyncGenerator[NetnsHosts]:
    machines = NetnsHosts(tmp_path / "consoles")
    yield machines
    await machines.aclose()
    assert machines.processes() == 0


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client.new(tmp_path / "client", 22)


class TestNetnsHosts(MachinesContract):
    apart = True

    @pytest.fixture
    def machines(self, machines: Machines) -> Machines:
        return machines

    @pytest.fixture
    def port(self) -> int:
        return 22

    def startup_mark(self, tmp_path: Path) -> str:
        return "/etc/started"

    def startup_log(self) -> str:
        return "/var/log/startup-script.log"


def exists(path: str) -> bool:
    """Tell whether this machine has a file."""
    return Path(path).exists()


def running(mark: str) -> bool:
    """Tell whether this machine runs a program with such an argument."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                return True
        except OSError:
            continue  # gone meanwhile
    return False


async def boot(
    machines: NetnsHosts, client: Client, count: int = 1, metadata: Mapping[str, str] | None = None
) -> list[Machine]:
    said = {"ssh-keys": client.line, **(metadata or {})}
    return list(await machines.boot(NODE, count, said))


async def test_a_host_sees_its_own_processes_alone(machines: NetnsHosts, client: Client) -> None:
    one, _ = await boot(machines, client, 2)
    seen = await client.out(one, "ps -e -o comm= | sort -u | tr '\\n' ' '")
    assert set(seen.split()) <= {"bash", "ps", "sort", "sshd", "tr"}
    assert await client.out(one, "ps -p 1 -o comm=") == "sshd"


async def test_whoever_may_log_in_may_be_root(machines: NetnsHosts, client: Client) -> None:
    (host,) = await boot(machines, client)
    assert await client.out(host, "sudo -n id -u") == "0"


async def test_what_root_changes_on_a_host_is_changed_nowhere_else(
    machines: NetnsHosts, client: Client
) -> None:
    one, two = await boot(machines, client, 2)
    installed = "/usr/local/bin/jobman-test-tool"
    await client.out(
        one, f"printf '#!/bin/sh\\necho here\\n' | sudo -n install -m 755 /dev/stdin {installed}"
    )
    await client.out(one, "sudo -n useradd -m jobman-test-user && sudo -n rm /etc/debian_version")
    assert await client.out(one, "jobman-test-tool; getent passwd jobman-test-user | wc -l") == (
        "here\n1"
    )
    assert await client.out(two, "getent passwd jobman-test-user | wc -l") == "0"
    assert (await client.ask(two, "jobman-test-tool")).code == 127
    assert not exists(installed)
    assert exists("/etc/debian_version")


async def test_what_people_keep_in_their_homes_on_this_machine_is_not_on_a_host(
    machines: NetnsHosts, client: Client
) -> None:
    (host,) = await boot(machines, client)
    assert await client.out(host, "ls /home; sudo -n ls -A /root /tmp") == (
        f"{client.user}\n/root:\n\n/tmp:"
    )


async def test_a_full_disk_is_the_hosts_own(client: Client, tmp_path: Path) -> None:
    machines = NetnsHosts(disk="32m")
    try:
        one, two = await boot(machines, client, 2)
        said = await client.ask(one, "head -c 64M /dev/zero > big")
        assert (said.code, b"No space left on device" in said.err) == (1, True)
        assert (await client.ask(two, "head -c 1M /dev/zero > small")).code == 0
    finally:
        await machines.aclose()


async def test_hosts_reach_one_another_and_this_machine_and_nothing_beyond(
    machines: NetnsHosts, client: Client
) -> None:
    one, two = await boot(machines, client, 2)

    async def reaches(address: str, port: int) -> Said:
        return await client.ask(one, f"timeout 5 bash -c 'exec 3<> /dev/tcp/{address}/{port}'")

    assert (await reaches(two.internal_ip, 22)).code == 0
    server = await asyncio.start_server(lambda _, writer: writer.close(), machines.gateway, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert (await reaches(machines.gateway, port)).code == 0
    assert b"Network is unreachable" in (await reaches("192.0.2.1", 80)).err


@pytest.mark.parametrize(
    ("kind", "devices"),
    [
        ("v4-16", ["/dev/accel0", "/dev/accel1", "/dev/accel2", "/dev/accel3"]),
        ("v5litepod-1", ["/dev/vfio/0", "/dev/vfio/vfio"]),
    ],
)
async def test_a_host_has_the_devices_of_its_accelerator(
    machines: NetnsHosts, client: Client, kind: str, devices: list[str]
) -> None:
    (host,) = await boot(machines, client, 1, {"accelerator-type": kind})
    assert (await client.out(host, "ls /dev/accel* /dev/vfio/* 2> /dev/null; :")).split() == devices
    assert (await client.ask(host, f"exec 3<> {devices[0]}")).code == 0
    assert not exists(devices[0])


async def test_programs_find_their_place_in_the_slice_at_the_metadata_server(
    machines: NetnsHosts, client: Client
) -> None:
    one, two = await boot(machines, client, 2, {"accelerator-type": "v4-16", "purpose": "test"})
    place = f"{ASK} instance/attributes/agent-worker-number"
    assert [await client.out(host, place) for host in (one, two)] == ["0", "1"]
    assert await client.out(one, f"{ASK} instance/attributes/accelerator-type") == "v4-16"
    assert await client.out(one, f"{ASK} instance/attributes/purpose") == "test"
    assert await client.out(one, f"{ASK} instance/attributes/worker-network-endpoints") == (
        f"unknown:unknown:{one.internal_ip},unknown:unknown:{two.internal_ip}"
    )
    assert await client.out(one, f"{ASK} project/project-id") == "p"


async def test_metadata_that_is_added_later_is_seen_on_the_hosts(
    machines: NetnsHosts, client: Client
) -> None:
    (host,) = await boot(machines, client)
    await machines.set_metadata(NODE, {"ssh-keys": client.line, "purpose": "later"})
    assert await client.out(host, f"{ASK} instance/attributes/purpose") == "later"


async def test_a_host_hears_at_once_that_it_is_about_to_be_preempted(
    machines: NetnsHosts, client: Client
) -> None:
    (host,) = await boot(machines, client)
    value, etag = (await client.out(host, f"{ASK} instance/preempted etag")).split()
    assert value == "FALSE"
    known = f"'instance/preempted?wait_for_change=true&last_etag={etag}'"
    link = await client.start(host, f"echo up; {ASK} {known}")
    assert link.stdout is not None
    await asyncio.wait_for(link.stdout.readline(), LIMIT)
    await machines.give_notice(NODE)
    out, _ = await asyncio.wait_for(link.communicate(b""), LIMIT)
    assert out.strip() == b"TRUE"
    assert await client.out(host, f"{ASK} instance/preempted") == "TRUE"


async def test_who_listens_to_a_host_that_vanishes_hears_nothing_not_even_its_end(
    machines: NetnsHosts, client: Client
) -> None:
    (host,) = await boot(machines, client)
    alive = ("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1")
    link = await client.start(host, *alive, "echo up; sleep 1000")
    assert link.stdout is not None
    await asyncio.wait_for(link.stdout.readline(), LIMIT)
    await machines.host_down(NODE, 0)
    _, err = await asyncio.wait_for(link.communicate(b""), LIMIT)
    assert (link.returncode, b"not responding" in err) == (255, True)


async def test_a_host_that_does_not_come_up_says_why(tmp_path: Path, client: Client) -> None:
    machines = NetnsHosts(disk="no size")
    try:
        with pytest.raises(OSError, match=r"host 0 did not come up: mount: .*bad option"):
            await boot(machines, client)
        assert machines.processes() == 0
    finally:
        await machines.aclose()


async def test_what_a_killed_emulator_left_is_swept_by_the_next(
    machines: NetnsHosts, client: Client
) -> None:
    script = f"""
import asyncio
from jobman_emulator.netns_hosts import NetnsHosts
async def main():
    machines = NetnsHosts()
    (host,) = await machines.boot({NODE!r}, 1, {{"ssh-keys": {client.line!r}}})
    print(host.external_ip, *host.host_keys, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    assert killed.stdout is not None
    line = await asyncio.wait_for(killed.stdout.readline(), LIMIT)
    address, key = line.decode().strip().split(maxsplit=1)
    mark = str(100000 + secrets.randbelow(900000))
    host = Machine(0, address, address, (key,))
    await client.out(host, f"setsid sleep {mark} > /dev/null 2>&1 &")
    assert running(mark)
    killed.kill()
    await killed.communicate()
    # It takes the same names, unless another test did: what is left of them would be in its way.
    await boot(machines, client)
    assert not running(mark)
