"""What all machines of the emulator must do, seen through the system's ssh."""

import asyncio
import contextlib
import os
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import asyncssh
import attrs
import pytest

from jobman_emulator.machines import Machine, Machines

NODE = "projects/p/locations/us-central2-b/nodes/train-g1"
LIMIT = 30.0

#: Starts three programs that each try to get away in another way, and waits until they run.
ESCAPES = r"""
cd "$(mktemp -d)"
setsid sleep 1000 > /dev/null 2>&1 &
env -i /bin/sh -c ': > two; exec sleep 1000' > /dev/null 2>&1 &
( ( trap "" TERM HUP INT; : > three; sleep 1000 ) > /dev/null 2>&1 & )
until [ -e two ] && [ -e three ]; do sleep 0.02; done
"""


@attrs.frozen
class Said:
    code: int
    out: bytes
    err: bytes


@attrs.frozen
class Client:
    """Somebody with a key, who uses ssh."""

    folder: Path
    port: int
    user: str = "tester"

    @classmethod
    def new(cls, folder: Path, port: int, user: str = "tester") -> "Client":
        folder.mkdir(parents=True)
        key = asyncssh.generate_private_key("ssh-ed25519", comment=f"{user}@somewhere")
        key.write_private_key(folder / "id")
        (folder / "id").chmod(0o600)
        key.write_public_key(folder / "id.pub")
        return cls(folder, port, user)

    @property
    def line(self) -> str:
        """The line of the metadata that lets this one in."""
        return f"{self.user}:{(self.folder / 'id.pub').read_text().strip()}"

    def argv(self, machine: Machine, *command: str) -> tuple[str, ...]:
        known = self.folder / f"known-{machine.external_ip}-{abs(hash(machine.host_keys))}"
        name = machine.external_ip if self.port == 22 else f"[{machine.external_ip}]:{self.port}"
        known.write_text("".join(f"{name} {key}\n" for key in machine.host_keys))
        options = {
            "BatchMode": "yes",
            "ConnectTimeout": "20",
            "GlobalKnownHostsFile": "/dev/null",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": str(known),
        }
        said = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
        return (
            *("ssh", "-F", "/dev/null", "-i", str(self.folder / "id"), "-p", str(self.port)),
            *command[:-1],
            *said,
            f"{self.user}@{machine.external_ip}",
            *command[-1:],
        )

    async def start(self, machine: Machine, *command: str) -> asyncio.subprocess.Process:
        """Start ssh: options first, what to run last."""
        return await asyncio.create_subprocess_exec(
            *self.argv(machine, *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "TERM": "xterm"},
        )

    async def ask(self, machine: Machine, *command: str, stdin: bytes = b"") -> Said:
        process = await self.start(machine, *command)
        try:
            out, err = await asyncio.wait_for(process.communicate(stdin), LIMIT)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Said(process.returncode, out, err)

    async def out(self, machine: Machine, command: str) -> str:
        said = await self.ask(machine, command)
        assert said.code == 0, said
        return said.out.decode().strip()


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(LIMIT):
        while not await holds():  # noqa: ASYNC110 - ssh brings no event
            await asyncio.sleep(0.02)


class MachinesContract:
    """Subclass it with fixtures ``machines`` and ``port``."""

    #: The hosts of a node have nothing in common with others but the kernel.
    apart: bool

    @pytest.fixture
    @abstractmethod
    def machines(self, tmp_path: Path) -> AsyncGenerator[Machines]:
        """Give machines that are closed in the end."""

    @pytest.fixture
    @abstractmethod
    def port(self, machines: Machines) -> int:
        """Tell where SSH answers."""

    @pytest.fixture
    def client(self, tmp_path: Path, port: int) -> Client:
        return Client.new(tmp_path / "client", port)

    @pytest.fixture
    def stranger(self, tmp_path: Path, port: int) -> Client:
        return Client.new(tmp_path / "stranger", port)

    async def boot(self, machines: Machines, client: Client, count: int = 1) -> list[Machine]:
        return list(await machines.boot(NODE, count, {"ssh-keys": client.line}))

    async def test_whoever_the_metadata_names_gets_in_and_has_exit_output_and_errors_apart(
        self, machines: Machines, client: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        said = await client.ask(host, "echo out; echo err >&2; cat; exit 7", stdin=b"in")
        assert said == Said(7, b"out\nin", b"err\n")

    async def test_a_login_finds_its_name_its_home_and_its_shell(
        self, machines: Machines, client: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        told = await client.out(host, 'echo "$USER $LOGNAME $SHELL"; [ "$HOME" = "$(pwd -P)" ]')
        assert told == "tester tester /bin/bash"

    async def test_bytes_pass_as_they_are_and_many_of_them(
        self, machines: Machines, client: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        data = bytes(range(256)) * 16384
        assert await client.ask(host, "cat", stdin=data) == Said(0, data, b"")

    async def test_a_key_that_nobody_named_is_refused(
        self, machines: Machines, client: Client, stranger: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        said = await stranger.ask(host, "true")
        assert (said.code, b"Permission denied (publickey)" in said.err) == (255, True)

    async def test_a_key_lets_in_nobody_but_its_user(
        self, machines: Machines, client: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        said = await attrs.evolve(client, user="other").ask(host, "true")
        assert (said.code, b"Permission denied (publickey)" in said.err) == (255, True)

    async def test_the_host_key_is_the_one_that_was_told(
        self, machines: Machines, client: Client
    ) -> None:
        one, two = await self.boot(machines, client, 2)
        mistaken = attrs.evolve(one, host_keys=two.host_keys)
        said = await client.ask(mistaken, "true")
        assert (said.code, b"Host key verification failed" in said.err) == (255, True)

    async def test_a_key_that_is_added_later_lets_in_at_once(
        self, machines: Machines, client: Client, stranger: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        await machines.set_metadata(NODE, {"ssh-keys": f"{client.line}\n{stranger.line}\n"})
        assert (await stranger.ask(host, "true")).code == 0
        assert (await client.ask(host, "true")).code == 0

    async def test_a_user_who_is_added_later_has_a_home_too(
        self, machines: Machines, client: Client, tmp_path: Path, port: int
    ) -> None:
        (host,) = await self.boot(machines, client)
        ann = Client.new(tmp_path / "ann", port, user="ann.b")
        await machines.set_metadata(NODE, {"ssh-keys": ann.line})
        assert await ann.out(host, "cd && echo $USER") == "ann.b"
        assert (await client.ask(host, "true")).code == 255

    async def test_files_of_one_host_are_not_on_the_next(
        self, machines: Machines, client: Client
    ) -> None:
        one, two = await self.boot(machines, client, 2)
        await client.out(one, "echo mine > here")
        assert await client.out(two, "ls") == ""

    async def test_a_program_outlives_its_connection(
        self, machines: Machines, client: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        script = "until [ -e go ]; do sleep 0.02; done; echo done > result"
        link = await client.start(host, f"echo $$; setsid bash -c '{script}' > log 2>&1; wait")
        assert link.stdout is not None
        await asyncio.wait_for(link.stdout.readline(), LIMIT)
        link.kill()
        await link.communicate()
        await client.out(host, ": > go")

        async def is_done() -> bool:
            return (await client.ask(host, "grep -q done result")).code == 0

        await until(is_done)

    async def test_a_terminal_is_one_and_has_the_size_of_the_client(
        self, machines: Machines, client: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        said = await client.ask(host, "-tt", "tty > /dev/null && echo $TERM && exit 3")
        assert (said.code, said.out) == (3, b"xterm\r\n")

    async def test_a_shell_without_a_command_takes_what_is_typed(
        self, machines: Machines, client: Client
    ) -> None:
        (host,) = await self.boot(machines, client)
        process = await client.start(host, "-T", "")
        out, _ = await asyncio.wait_for(process.communicate(b"echo $((6*7))\nexit 4\n"), LIMIT)
        assert (process.returncode, out.split()[-1:]) == (4, [b"42"])

    async def test_many_commands_share_one_connection(
        self, machines: Machines, client: Client, tmp_path: Path
    ) -> None:
        (host,) = await self.boot(machines, client)
        shared = ("-o", "ControlMaster=auto", "-o", f"ControlPath={tmp_path}/m")
        master = await client.start(host, *shared, "echo up; cat")
        assert master.stdout is not None
        await asyncio.wait_for(master.stdout.readline(), LIMIT)
        said = await asyncio.gather(
            *(client.ask(host, *shared, f"echo {number}") for number in range(5))
        )
        assert [one.out for one in said] == [b"%d\n" % number for number in range(5)]
        await asyncio.wait_for(master.communicate(b""), LIMIT)

    async def test_a_halt_breaks_connections_and_leaves_no_process(
        self, machines: Machines, client: Client
    ) -> None:
        hosts = await self.boot(machines, client, 2)
        for host in hosts:
            await client.out(host, ESCAPES)
        link = await client.start(hosts[0], "echo up; cat")
        assert link.stdout is not None
        await asyncio.wait_for(link.stdout.readline(), LIMIT)
        assert machines.processes() >= 6
        await machines.halt(NODE)
        assert machines.processes() == 0
        assert await asyncio.wait_for(link.wait(), LIMIT) == 255
        await link.communicate()

    async def test_a_host_that_is_down_is_silent_and_the_others_go_on(
        self, machines: Machines, client: Client
    ) -> None:
        one, two = await self.boot(machines, client, 2)
        await client.out(one, ESCAPES)
        await client.out(two, "sleep 1000 > /dev/null 2>&1 & echo $! > pid")
        await machines.host_down(NODE, 0)
        assert (await client.ask(one, "-o", "ConnectTimeout=2", "true")).code == 255
        assert (await client.ask(two, "kill -0 $(cat pid)")).code == 0
        await machines.host_down(NODE, 0)
        with pytest.raises(LookupError, match="has no host 2"):
            await machines.host_down(NODE, 2)
        with pytest.raises(LookupError, match="nobody has no host 0"):
            await machines.host_down("nobody", 0)

    async def test_a_node_that_is_booted_again_is_another_one(
        self, machines: Machines, client: Client
    ) -> None:
        (first,) = await self.boot(machines, client)
        boot_id = "cat /proc/sys/kernel/random/boot_id"
        before = await client.out(first, f": > here; {boot_id}")
        await machines.halt(NODE)
        (second,) = await self.boot(machines, client)
        after = await client.out(second, f"ls; {boot_id}")
        assert first.host_keys != second.host_keys
        assert (before != after) == self.apart
        assert "here" not in after

    async def test_the_startup_script_runs_once_and_its_output_is_kept(
        self, machines: Machines, client: Client, tmp_path: Path
    ) -> None:
        script = f"#!/bin/bash\necho started as $USER\n: > {self.startup_mark(tmp_path)}\n"
        metadata = {"ssh-keys": client.line, "startup-script": script}
        (host,) = await machines.boot(NODE, 1, metadata)

        async def has_run() -> bool:
            mark = self.startup_mark(tmp_path)
            return (await client.ask(host, f"test -e {mark}")).code == 0

        await until(has_run)
        assert await client.out(host, f"cat {self.startup_log()}") == "started as root"

    def startup_mark(self, tmp_path: Path) -> str:
        return f"{tmp_path}/started"

    @abstractmethod
    def startup_log(self) -> str:
        """Tell where the startup script's output is."""

    async def test_a_boot_that_is_given_up_leaves_nothing(
        self, machines: Machines, client: Client
    ) -> None:
        booting = asyncio.create_task(self.boot(machines, client, 2))
        await asyncio.sleep(0)
        booting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await booting
        await machines.halt(NODE)
        assert machines.processes() == 0
        await self.boot(machines, client)

    async def test_who_halts_a_node_that_boots_leaves_nothing(
        self, machines: Machines, client: Client
    ) -> None:
        booting = asyncio.create_task(self.boot(machines, client, 2))
        await asyncio.sleep(0)
        await machines.halt(NODE)
        await booting
        assert machines.processes() == 0
        (host,) = await self.boot(machines, client)
        assert (await client.ask(host, "true")).code == 0

    async def test_two_nodes_do_not_meet(self, machines: Machines, client: Client) -> None:
        (one,) = await self.boot(machines, client)
        (two,) = await machines.boot(f"{NODE}-other", 1, {"ssh-keys": client.line})
        await machines.halt(NODE)
        assert await client.out(two, "ls") == ""
        assert one.external_ip != two.external_ip

    async def test_the_halt_of_a_node_that_is_not_there_is_no_error(
        self, machines: Machines
    ) -> None:
        await machines.halt("projects/p/locations/z/nodes/nobody")
        await machines.give_notice("projects/p/locations/z/nodes/nobody")
        await machines.set_metadata("projects/p/locations/z/nodes/nobody", {})
