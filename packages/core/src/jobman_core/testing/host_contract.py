"""What every host must do."""

import asyncio
from abc import abstractmethod

import pytest

from jobman_core.command import Command
from jobman_core.errors import CommandFailedError, HostUnreachableError
from jobman_core.interfaces.host import Host
from jobman_core.testing.traps import TRAPS

LIMIT = 20.0


def shell(script: str, *args: str, transient: bool = False) -> Command:
    """Give the command that runs a few lines of shell."""
    return Command(("sh", "-c", script, "sh", *args), transient=transient)


async def wait_for(host: Host, path: str) -> None:
    """Wait until a file is there."""
    async with asyncio.timeout(LIMIT):
        while not (await host.run(shell('test -e "$1"', path, transient=True), limit=LIMIT)).ok:
            await asyncio.sleep(0.02)


class HostContract:
    """All that a host must do. Subclass it with a fixture ``host``."""

    @pytest.fixture
    @abstractmethod
    def host(self) -> Host:
        """Give a host whose home folder is new."""

    @pytest.fixture(params=[False, True], ids=["kept", "transient"])
    def transient(self, request: pytest.FixtureRequest) -> bool:
        """Tell whether the command promises to leave nothing behind."""
        return bool(request.param)

    async def test_gives_exit_output_and_errors_apart(self, host: Host, transient: bool) -> None:
        script = "echo out; echo err >&2; exit 3"
        done = await host.run(shell(script, transient=transient), limit=LIMIT)
        assert (done.code, done.stdout, done.stderr) == (3, b"out\n", b"err\n")

    async def test_an_exit_of_255_is_the_commands_own(self, host: Host, transient: bool) -> None:
        assert (await host.run(shell("exit 255", transient=transient), limit=LIMIT)).code == 255

    async def test_a_signal_reads_as_a_shell_gives_it(self, host: Host, transient: bool) -> None:
        done = await host.run(shell("kill -TERM $$", transient=transient), limit=LIMIT)
        assert done.code == 143
        done = await host.run(shell("kill -KILL $$", transient=transient), limit=LIMIT)
        assert done.code == 137

    async def test_a_program_that_is_missing_is_127(self, host: Host, transient: bool) -> None:
        command = Command(("no-such-program-here",), transient=transient)
        done = await host.run(command, limit=LIMIT)
        assert done.code == 127
        assert b"no-such-program-here" in done.stderr

    async def test_arguments_are_data(self, host: Host, transient: bool) -> None:
        script = 'for item; do printf "%s\\0" "$item"; done'
        done = await host.run(shell(script, *TRAPS, transient=transient), limit=LIMIT)
        assert done.stdout.decode().split("\0")[:-1] == list(TRAPS)

    async def test_environment_is_data(self, host: Host, transient: bool) -> None:
        env = {f"TRAP_{number}": text for number, text in enumerate(TRAPS)}
        command = Command(("env", "-0"), env=env, transient=transient)
        done = await host.run(command, limit=LIMIT)
        seen = dict(item.split("=", 1) for item in done.stdout.decode().split("\0") if item)
        assert {name: seen.get(name) for name in env} == env

    async def test_standard_input_is_exact(self, host: Host, transient: bool) -> None:
        data = bytes(range(256)) * 1000
        command = Command(("cat",), stdin=data, transient=transient)
        assert (await host.run(command, limit=LIMIT)).stdout == data

    async def test_without_input_it_is_empty(self, host: Host, transient: bool) -> None:
        assert (await host.run(Command(("cat",), transient=transient), limit=LIMIT)).stdout == b""

    async def test_output_is_exact(self, host: Host, transient: bool) -> None:
        script = "head -c 3000000 /dev/zero; printf 'a\\0b\\377'"
        done = await host.run(shell(script, transient=transient), limit=LIMIT)
        assert done.stdout == bytes(3_000_000) + b"a\0b\xff"

    async def test_runs_in_the_home_folder(self, host: Host, transient: bool) -> None:
        script = '[ "$(pwd -P)" = "$(cd "$HOME" && pwd -P)" ]'
        assert (await host.run(shell(script, transient=transient), limit=LIMIT)).ok

    async def test_runs_in_a_folder_below_it(self, host: Host, transient: bool) -> None:
        name = "-it's $HOME"
        await host.run(shell('mkdir -- "$1"', name, transient=transient), limit=LIMIT)
        command = Command(("sh", "-c", 'echo "${PWD##*/}"'), cwd=name, transient=transient)
        assert (await host.run(command, limit=LIMIT)).stdout == f"{name}\n".encode()

    async def test_a_folder_that_is_missing_is_an_error(self, host: Host, transient: bool) -> None:
        command = Command(("echo", "ran"), cwd="nowhere", transient=transient)
        done = await host.run(command, limit=LIMIT)
        assert not done.ok
        assert done.stdout == b""

    async def test_nothing_of_our_own_environment_leaks(
        self, host: Host, transient: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("JOBMAN_CANARY", "leaked")
        done = await host.run(Command(("env",), transient=transient), limit=LIMIT)
        assert b"leaked" not in done.stdout

    async def test_many_run_at_once(self, host: Host, transient: bool) -> None:
        commands = [shell('echo "$1"', str(n), transient=transient) for n in range(8)]
        done = await asyncio.gather(*(host.run(command, limit=LIMIT) for command in commands))
        assert [int(each.stdout) for each in done] == list(range(8))

    async def test_no_answer_in_time_is_unreachable(self, host: Host, transient: bool) -> None:
        with pytest.raises(HostUnreachableError):
            await host.run(Command(("sleep", "30"), transient=transient), limit=0.2)

    async def test_what_a_command_leaves_behind_goes_on(self, host: Host) -> None:
        script = "(sleep 0.3; echo > later) > /dev/null 2>&1 < /dev/null &"
        done = await host.run(shell(script), limit=LIMIT)
        assert done.ok
        await wait_for(host, "later")

    async def test_a_command_outlives_whoever_gave_up_on_it(self, host: Host) -> None:
        script = "touch began; while [ ! -e go ]; do sleep 0.05; done; touch went"
        command = shell(f"nohup sh -c '{script}' > /dev/null 2>&1 < /dev/null & wait")
        asked = asyncio.create_task(host.run(command, limit=LIMIT))
        await wait_for(host, "began")
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await host.put(b"", "go")
        await wait_for(host, "went")

    async def test_put_writes_exactly(self, host: Host) -> None:
        data = bytes(range(256)) * 5000
        await host.put(data, "folder/it's new/file", mode=0o640)
        done = await host.run(Command(("cat", "folder/it's new/file")), limit=LIMIT)
        assert done.stdout == data
        modes = Command(("stat", "-c", "%a", "folder", "folder/it's new", "folder/it's new/file"))
        done = await host.run(modes, limit=LIMIT)
        assert done.stdout.split() == [b"700", b"700", b"640"]

    async def test_put_replaces(self, host: Host) -> None:
        # A name that nothing in a home folder has in its own, as .profile has "file".
        await host.put(b"long and old", "replaced")
        await host.put(b"new", "replaced")
        assert (await host.run(Command(("cat", "replaced")), limit=LIMIT)).stdout == b"new"
        assert (
            await host.run(Command(("sh", "-c", "ls -A | grep -c replaced")), limit=LIMIT)
        ).stdout == b"1\n"

    async def test_put_into_a_file_is_refused(self, host: Host) -> None:
        await host.put(b"", "file")
        with pytest.raises(CommandFailedError):
            await host.put(b"", "file/below")
