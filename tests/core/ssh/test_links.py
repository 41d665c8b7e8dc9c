"""Links that break, hosts that are not who they were, and what their users are told."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import time
from collections.abc import Callable

import pytest
from tests.core.ssh.conftest import USER, MakeScene, Scene, make_key

from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError, HostUnreachableError, InvalidInputError
from jobman_core.interfaces.host import Host
from jobman_core.models.attempt import AttemptRef, HostState
from jobman_core.run.agent import AgentRunner
from jobman_core.run.hosts import on_all, on_each
from jobman_core.ssh import links as links_module
from jobman_core.testing.host_contract import shell, wait_for
from jobman_core.testing.runner_contract import follow, heard_until, new_token, plan

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

LIMIT = 60.0
HELLO = Command(("echo", "hello"), transient=True)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():  # noqa: ASYNC110 - files and processes tell nobody
            await asyncio.sleep(0.02)


async def hello(host: Host) -> bytes:
    return (await host.run(HELLO, limit=LIMIT)).stdout


# -- connections ------------------------------------------------------------------------------


async def test_many_calls_at_once_share_one_connection(scene: Scene) -> None:
    host = scene.hosts()[0]
    assert await asyncio.gather(*(hello(host) for _ in range(12))) == [b"hello\n"] * 12
    assert scene.machines[0].logins() == 1


async def test_another_process_uses_the_connection_that_is_there(scene: Scene) -> None:
    await hello(scene.hosts()[0])
    await hello(scene.hosts()[0])
    assert scene.machines[0].logins() == 1
    assert len(scene.masters()) == 1


async def test_all_hosts_of_a_slice_are_asked_at_once(make_scene: MakeScene) -> None:
    scene = make_scene(8)
    # None of them ends before all of them have begun.
    barrier = scene.root / "barrier"
    barrier.mkdir()
    script = 'touch "$1/$2"; until [ "$(ls "$1" | wc -l)" = 8 ]; do sleep 0.05; done; echo "$2"'
    done = await on_all(
        scene.hosts(),
        lambda host: host.run(shell(script, str(barrier), str(host.index)), limit=LIMIT),
    )
    assert {index: end.stdout for index, end in done.items()} == {
        index: f"{index}\n".encode() for index in range(8)
    }


async def test_sockets_lie_where_nobody_else_can_reach_them(scene: Scene) -> None:
    await hello(scene.hosts()[0])
    (control,) = scene.masters()
    assert control.parent.stat().st_mode & 0o777 == 0o700
    control.parent.chmod(0o755)
    with pytest.raises(CommandFailedError, match="not a folder of yours alone"):
        await hello(scene.hosts()[0])
    control.parent.chmod(0o700)


async def test_a_call_that_is_cancelled_leaves_no_process_here(scene: Scene) -> None:
    host = scene.hosts()[0]
    await hello(host)
    before = len(scene.calls())
    asked = asyncio.create_task(host.run(shell("touch began; sleep 600"), limit=LIMIT))
    await wait_for(host, "began")
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await until(lambda: len(scene.calls()) == before)


async def test_a_call_that_is_given_up_on_leaves_no_process_here(scene: Scene) -> None:
    host = scene.hosts()[0]
    await hello(host)
    before = len(scene.calls())
    with pytest.raises(HostUnreachableError, match=r"no answer within 0\.5 s"):
        await host.run(Command(("sleep", "600")), limit=0.5)
    await until(lambda: len(scene.calls()) == before)


# -- what comes back --------------------------------------------------------------------------


async def test_what_login_files_say_is_not_the_commands(scene: Scene) -> None:
    machine = scene.machines[0]
    machine.login = "echo welcome; echo welcome >&2; "
    machine.restart()
    done = await scene.hosts()[0].run(shell("echo out; echo err >&2; exit 4"), limit=LIMIT)
    assert (done.code, done.stdout, done.stderr) == (4, b"out\n", b"err\n")


async def test_login_files_that_end_the_shell_are_named(scene: Scene) -> None:
    machine = scene.machines[0]
    machine.login = "echo bye; exit 3; "
    machine.restart()
    wrong = "its login shell ended with 3 before any command ran: mend the login files of user"
    with pytest.raises(HostUnreachableError, match=wrong):
        await hello(scene.hosts()[0])


async def test_what_login_files_read_is_not_what_the_command_is_given(scene: Scene) -> None:
    machine, host = scene.machines[0], scene.hosts()[0]
    machine.login = "read -t 0.5 answer; "
    machine.restart()
    given = Command(("sh", "-c", 'echo "$NAME"; cat'), env={"NAME": "ann"}, stdin=b"1\n2\n")
    assert (await host.run(given, limit=LIMIT)).stdout == b"ann\n1\n2\n"


async def test_a_program_that_stays_with_its_output_open_does_not_hold_up_the_answer(
    scene: Scene,
) -> None:
    host = scene.hosts()[0]
    done = await host.run(shell("sleep 600 & echo $!; exit 5"), limit=LIMIT)
    assert done.code == 5
    os.kill(int(done.stdout), signal.SIGKILL)


async def test_a_link_that_drops_is_not_the_255_of_a_program(scene: Scene) -> None:
    host = scene.hosts()[0]
    asked = asyncio.create_task(host.run(shell("touch began; sleep 600"), limit=LIMIT))
    await wait_for(host, "began")
    scene.machines[0].drop_links()
    with pytest.raises(HostUnreachableError, match="the link dropped while a command ran"):
        await asked
    # And the next call finds its way.
    assert await hello(host) == b"hello\n"


async def test_a_connection_whose_process_was_killed_is_made_again(scene: Scene) -> None:
    host = scene.hosts()[0]
    await hello(host)
    for pid in scene.calls():
        os.kill(pid, signal.SIGKILL)
    await until(lambda: not scene.calls())
    assert await hello(host) == b"hello\n"


async def test_a_file_that_was_cut_off_is_not_put(scene: Scene) -> None:
    host, machine = scene.hosts()[0], scene.machines[0]
    await host.put(b"old", "folder/file")
    folder = machine.home / "folder"
    putting = asyncio.create_task(host.put(bytes(400_000_000), "folder/file"))
    await until(lambda: any(path.stat().st_size for path in folder.glob("*.new")))
    machine.drop_links()
    with pytest.raises(HostUnreachableError):
        await putting
    assert (folder / "file").read_bytes() == b"old"
    await until(lambda: [path.name for path in folder.iterdir()] == ["file"])


async def test_more_than_is_kept_is_refused(scene: Scene) -> None:
    host = scene.hosts()[0]
    with pytest.raises(CommandFailedError, match=f"more than {links_module.MOST >> 20} MiB"):
        await host.run(Command(("head", "-c", "100000000", "/dev/zero")), limit=LIMIT)


# -- attempts ---------------------------------------------------------------------------------


async def test_an_attempt_whose_links_drop_is_followed_on_without_a_gap(scene: Scene) -> None:
    runner = AgentRunner(scene.hosts(), SystemClock())
    attempt = AttemptRef(new_token(), 1, (0, 1))
    script = "for i in $(seq 1 40); do echo line $i; sleep 0.1; done; exit 255"
    await runner.launch(attempt, plan(script))
    following = asyncio.create_task(follow(runner, attempt))
    await heard_until(runner, attempt, lambda report: b"line 5\n" in report.data)
    for machine in scene.machines:
        machine.drop_links()
    for pid in scene.calls():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    heard = await following
    expected = b"".join(b"line %d\n" % number for number in range(1, 41))
    for host in (0, 1):
        found = heard[host]
        assert (found.state, found.code, found.output) == (HostState.DONE, 255, expected)


async def test_a_machine_that_is_away_is_silent_and_then_found_again(scene: Scene) -> None:
    runner = AgentRunner(scene.hosts(), SystemClock())
    attempt = AttemptRef(new_token(), 1, (0, 1))
    await runner.launch(attempt, plan("echo began; sleep 600"))
    scene.machines[1].stop()
    reports = await runner.poll(attempt)
    assert [reports[host].state for host in (0, 1)] == [HostState.RUNNING, HostState.SILENT]
    assert "nothing listens" in reports[1].detail
    scene.machines[1].start()
    assert (await runner.poll(attempt))[1].state is HostState.RUNNING
    assert all(end.confirmed for end in (await runner.end(attempt, grace=5)).values())


# -- who is there -----------------------------------------------------------------------------


async def test_the_first_key_that_a_host_shows_is_its_own(scene: Scene) -> None:
    await hello(scene.hosts()[0])
    assert scene.machines[0].public_key in scene.known_hosts.read_text()
    scene.machines[0].new_host_key()
    scene.machines[0].restart()
    with pytest.raises(HostUnreachableError, match="host key is not the one") as caught:
        await hello(scene.hosts()[0])
    assert str(scene.known_hosts) in str(caught.value)


async def test_another_key_than_the_cloud_vouches_for_is_refused_at_once(scene: Scene) -> None:
    wrong = make_key(scene.root / "another")
    scene.cloud.vouched = {0: (wrong,), 1: (scene.machines[1].public_key,)}
    zero, one = scene.hosts()
    with pytest.raises(HostUnreachableError, match="host key is not the one"):
        await hello(zero)
    assert await hello(one) == b"hello\n"
    assert scene.machines[0].logins() == 0


async def test_keys_are_asked_of_the_cloud_once(scene: Scene) -> None:
    scene.cloud.vouched = {
        index: (machine.public_key,) for index, machine in enumerate(scene.machines)
    }
    await on_all(scene.hosts(), hello)
    scene.cloud.vouched = {}
    await on_all(scene.hosts(), hello)
    assert scene.cloud.asked == 1


async def test_a_new_generation_may_have_other_keys_at_the_same_address(scene: Scene) -> None:
    await hello(scene.hosts()[0])
    scene.machines[0].new_host_key()
    scene.machines[0].restart()
    scene.generation = 2
    assert await hello(scene.hosts()[0]) == b"hello\n"


async def test_of_four_hosts_the_one_that_denies_the_key_is_named(make_scene: MakeScene) -> None:
    scene = make_scene(4)
    scene.machines[2].authorized.write_text("")
    seen = await on_each(scene.hosts(), hello)
    denied = seen.pop(2)
    assert list(seen.values()) == [b"hello\n"] * 3
    assert isinstance(denied, HostUnreachableError)
    expected = rf"host 2 \({scene.machines[2].address}\).* denies user '{USER}' .*ssh.private_key"
    assert re.search(expected, str(denied))


async def test_nobody_at_a_port_is_told(scene: Scene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(HostUnreachableError, match=f"nothing listens at .* port {port}"):
        await hello(scene.hosts(port=port)[0])


async def test_a_name_that_means_nothing_is_told(scene: Scene) -> None:
    with pytest.raises(HostUnreachableError, match="no address of the name 'nowhere"):
        await hello(scene.hosts("nowhere.invalid")[0])


async def test_a_host_without_an_address_cannot_be_reached(scene: Scene) -> None:
    (host,) = scene.hosts("")
    with pytest.raises(HostUnreachableError, match="no address"):
        await hello(host)


async def test_an_address_that_is_an_option_is_no_option(scene: Scene) -> None:
    stolen = scene.root / "stolen"
    with pytest.raises(HostUnreachableError, match="invalid characters"):
        await hello(scene.hosts(f"-oProxyCommand=touch '{stolen}'")[0])
    assert not stolen.exists()


async def test_an_address_that_swallows_everything_times_out(scene: Scene) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = scene.hosts(
            "127.0.0.1", port=silent.getsockname()[1], options={"ConnectTimeout": "1"}
        )[0]
        began = time.monotonic()
        with pytest.raises(HostUnreachableError, match=r"no answer from 127\.0\.0\.1"):
            await hello(host)
        assert time.monotonic() - began < LIMIT / 2


# -- what its user configures -----------------------------------------------------------------


async def test_a_host_behind_another_is_reached_by_the_users_own_options(scene: Scene) -> None:
    jump, behind = scene.machines
    hop = (
        f"ssh -F none -i {scene.key} -o StrictHostKeyChecking=no "
        f"-o UserKnownHostsFile=/dev/null -p {jump.port} -W %h:%p {USER}@{jump.address}"
    )
    host = scene.hosts(options={"ProxyCommand": hop})[1]
    assert await hello(host) == b"hello\n"
    assert (jump.logins(), behind.logins()) == (1, 1)


async def test_no_option_lets_an_unknown_key_in(scene: Scene) -> None:
    scene.cloud.vouched = {0: (make_key(scene.root / "another"),)}
    options = {"StrictHostKeyChecking": "no", "UserKnownHostsFile": "/dev/null"}
    with pytest.raises(HostUnreachableError, match="host key is not the one"):
        await hello(scene.hosts(options=options)[0])


async def test_this_machine_is_never_swept_for_leftovers(scene: Scene) -> None:
    assert [host.facts.own_machine for host in scene.hosts()] == [False, False]
    assert [host.facts.own_machine for host in scene.hosts("192.0.2.1")] == [True]


async def test_a_variable_that_no_program_could_have_is_refused(scene: Scene) -> None:
    with pytest.raises(InvalidInputError, match="environment"):
        await scene.hosts()[0].run(Command(("true",), env={"a b": "c"}), limit=LIMIT)


async def test_a_path_that_ssh_would_expand_is_refused(scene: Scene) -> None:
    key = scene.root / "${HOME}"
    with pytest.raises(InvalidInputError, match="OpenSSH cannot be told"):
        await hello(scene.hosts(private_key=key)[0])


# -- to enter a host --------------------------------------------------------------------------


async def test_entering_runs_a_command_whose_arguments_arrive_as_they_are(scene: Scene) -> None:
    script = 'printf "%s|" "$@"; exit 7'
    entry = await scene.hosts()[0].enter(("sh", "-c", script, "sh", "a b", "$HOME", "it's"))
    process = await asyncio.create_subprocess_exec(
        *entry.argv, stdout=asyncio.subprocess.PIPE, env=scene.links.environ
    )
    out, _ = await process.communicate()
    assert (process.returncode, out) == (7, b"a b|$HOME|it's|")
