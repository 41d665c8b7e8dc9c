"""The agent on plain hosts, where nothing but the shell looks after processes."""

# ruff: noqa: ASYNC110, ASYNC220, ASYNC240 - a test waits for its own machine only

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

import attrs
import pytest

from jobman_core.clock import SystemClock
from jobman_core.command import Command, Exit
from jobman_core.errors import CommandFailedError, HostUnreachableError, StaleLeaseError
from jobman_core.interfaces.host import Host, HostFacts
from jobman_core.models.attempt import AttemptRef, HostReport, HostState
from jobman_core.run.agent import FAR_BEHIND, RESUME_BEFORE_END, AgentRunner, agent_script
from jobman_core.testing.fakes import FakeClock, FakeHost
from jobman_core.testing.runner_contract import (
    NEVER_ENDS,
    Followed,
    ShellRunnerContract,
    follow,
    heard_until,
    new_token,
    plan,
    states,
)

pytestmark = pytest.mark.e2e

ONE = AttemptRef(new_token(), 1, (0,))


class TestAgentOnPlainHosts(ShellRunnerContract):
    @pytest.fixture
    def hosts(self, tmp_path: Path) -> Sequence[Host]:
        return [FakeHost(index, tmp_path / f'it\'s "$HOME" {index}') for index in (0, 1)]


def own_machine(tmp_path: Path) -> HostFacts:
    """Give the facts of a machine whose devices are files of the test."""
    return HostFacts(
        own_machine=True,
        devices=(str(tmp_path / "dev" / "accel*"), str(tmp_path / "vfio" / "*")),
        device_lock=str(tmp_path / "lockfile"),
    )


class TestAgentOnMachinesOfTheirOwn(ShellRunnerContract):
    @pytest.fixture
    def hosts(self, tmp_path: Path) -> Sequence[Host]:
        facts = own_machine(tmp_path)
        return [FakeHost(index, tmp_path / str(index), facts=facts) for index in (0, 1)]


class BadLinkHost(FakeHost):
    """A host whose answers are changed on the way, by what a test sets."""

    change: Callable[[Exit], Exit] | None = None

    async def run(self, command: Command, *, limit: float) -> Exit:
        done = await super().run(command, limit=limit)
        return self.change(done) if self.change else done


@pytest.fixture
def host(tmp_path: Path) -> BadLinkHost:
    return BadLinkHost(0, tmp_path / "0")


@pytest.fixture
def runner(host: BadLinkHost) -> AgentRunner:
    return AgentRunner([host], SystemClock())


def pid_of(host: FakeHost, name: str, token: str = ONE.token) -> int:
    """Read a process id that the agent wrote."""
    return int((host.home / ".jobman" / "attempts" / token / name).read_text().split()[0])


# -- putting it there --------------------------------------------------------------------------


async def test_the_agent_is_put_once_and_then_each_order_is_one_call(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.launch(ONE, plan("exit 0"))
    assert len(host.ran) == 2
    await runner.poll(ONE)
    await runner.end(ONE, grace=1)
    assert len(host.ran) == 4
    (installed,) = (host.home / ".jobman").glob("agent-*")
    assert installed.read_bytes() == agent_script()


async def test_a_host_that_lacks_what_the_agent_needs_is_named_so(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    host.change = lambda _: Exit(127, b"", b"sh: not found")
    with pytest.raises(CommandFailedError, match=r"host 0: .*127 \(sh: not found\).*needs sh"):
        await runner.launch(ONE, plan("exit 0"))


# -- a bad link ----------------------------------------------------------------------------------


async def test_noise_of_login_files_is_not_taken_for_an_answer(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    noise = b"Welcome!\njobman-0123456789abcdef state DONE 0 0 0 0\nno newline here"

    def add_noise(done: Exit) -> Exit:
        return attrs.evolve(done, stdout=noise + done.stdout + b"\nlogout\n")

    host.change = add_noise
    await runner.launch(ONE, plan("echo said; exit 3"))
    assert (await follow(runner, ONE))[0] == Followed(HostState.DONE, 3, b"said\n")
    assert (await runner.end(ONE, grace=1))[0].confirmed


async def test_an_answer_that_is_cut_off_is_asked_for_again(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.launch(ONE, plan("seq 1000; exit 4"))
    await follow(runner, ONE)
    cuts = iter([60, 1000, None])

    def cut(done: Exit) -> Exit:
        return attrs.evolve(done, stdout=done.stdout[: next(cuts, None)])

    host.change = cut
    heard = await follow(AgentRunner([host], FakeClock(auto=True)), ONE)
    expected = b"".join(b"%d\n" % number for number in range(1, 1001))
    assert heard[0] == Followed(HostState.DONE, 4, expected)


async def test_a_silent_host_is_asked_again_ever_more_slowly_and_then_heard(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.launch(ONE, plan("echo back; exit 2"))
    clock = FakeClock(auto=True)
    reports: list[HostReport] = []
    host.away = "no route to host"
    async with aclosing(AgentRunner([host], clock).follow(ONE, {})) as following:
        async for report in following:
            reports.append(report)
            if len(reports) == 6:
                host.away = None
    assert {report.state for report in reports[:6]} == {HostState.SILENT}
    assert "no route to host" in reports[0].detail
    assert clock.slept == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    assert b"".join(report.data for report in reports) == b"back\n"
    assert (reports[-1].state, reports[-1].code) == (HostState.DONE, 2)


async def test_one_silent_host_does_not_keep_the_others_news_back(tmp_path: Path) -> None:
    hosts = [FakeHost(index, tmp_path / str(index)) for index in (0, 1)]
    runner, both = AgentRunner(hosts, SystemClock()), attrs.evolve(ONE, hosts=(0, 1))
    await runner.launch(both, plan("exit 3"))
    hosts[0].away = "gone"
    report = await heard_until(runner, both, lambda report: report.state is HostState.DONE)
    assert (report.host, report.code) == (1, 3)
    assert (await states(runner, both))[0] is HostState.SILENT


async def test_a_launch_names_the_hosts_that_did_not_answer(tmp_path: Path) -> None:
    hosts = [FakeHost(index, tmp_path / str(index)) for index in range(3)]
    hosts[1].away = hosts[2].away = "no route"
    runner, all_of_them = AgentRunner(hosts, SystemClock()), attrs.evolve(ONE, hosts=(0, 1, 2))
    with pytest.raises(
        HostUnreachableError, match=r"^host 1 cannot be reached: no route \(failed too: host 2\)$"
    ):
        await runner.launch(all_of_them, plan("exit 0"))
    ends = await runner.end(all_of_them, grace=1)
    assert [ends[index].confirmed for index in range(3)] == [True, False, False]
    assert "no route" in ends[2].detail


async def test_a_stale_epoch_outweighs_a_silent_host(tmp_path: Path) -> None:
    hosts = [FakeHost(index, tmp_path / str(index)) for index in (0, 1)]
    runner, both = AgentRunner(hosts, SystemClock()), attrs.evolve(ONE, hosts=(0, 1), epoch=2)
    await runner.launch(both, plan("exit 0"))
    hosts[0].away = "no route"
    with pytest.raises(StaleLeaseError, match="host 1"):
        await runner.launch(attrs.evolve(both, epoch=1), plan("exit 0"))


async def test_a_reader_far_behind_is_moved_on(host: BadLinkHost, runner: AgentRunner) -> None:
    size = FAR_BEHIND + 10_000_000
    await runner.launch(ONE, plan(f"head -c {size} /dev/zero; echo; echo last"))
    await wait_until_done(runner)
    reports = [report async for report in runner.follow(ONE, {})]
    total = size + len("\nlast\n")
    assert reports[1].offset == total - RESUME_BEFORE_END
    assert reports[-1].offset + len(reports[-1].data) == total
    assert reports[-1].data.endswith(b"\nlast\n")


async def wait_until_done(runner: AgentRunner) -> None:
    async with asyncio.timeout(30):
        while (await states(runner, ONE))[0] is not HostState.DONE:
            await asyncio.sleep(0.05)


# -- what can happen on a host -----------------------------------------------------------------


async def test_a_program_whose_wrapper_was_killed_runs_on_and_is_lost_when_it_ends(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.launch(ONE, plan("echo began; while [ ! -e go ]; do sleep 0.05; done; exit 0"))
    await heard_until(runner, ONE, lambda report: report.size > 0)
    os.kill(pid_of(host, "wrapper"), signal.SIGKILL)
    assert await states(runner, ONE) == {0: HostState.RUNNING}
    await host.put(b"", "go")
    assert (await follow(runner, ONE))[0].state is HostState.LOST


async def test_everything_killed_is_lost(host: BadLinkHost, runner: AgentRunner) -> None:
    await runner.launch(ONE, plan(NEVER_ENDS))
    following = asyncio.create_task(follow(runner, ONE))
    await heard_until(runner, ONE, lambda report: report.size > 0)
    program = pid_of(host, "pid")
    os.kill(pid_of(host, "wrapper"), signal.SIGKILL)
    os.killpg(program, signal.SIGKILL)
    assert (await following)[0].state is HostState.LOST


async def test_an_attempt_of_an_earlier_boot_is_lost(tmp_path: Path) -> None:
    boot = tmp_path / "boot"
    boot.write_text("first\n")
    facts = HostFacts(boot_id_file=str(boot), own_machine=True, devices=())
    host = FakeHost(0, tmp_path / "0", facts=facts)
    runner = AgentRunner([host], SystemClock())
    await runner.launch(ONE, plan(NEVER_ENDS))
    await heard_until(runner, ONE, lambda report: report.size > 0)
    os.kill(pid_of(host, "wrapper"), signal.SIGKILL)
    os.killpg(pid_of(host, "pid"), signal.SIGKILL)
    # After a restart another process may have the same id, and even the same start time.
    with subprocess.Popen(["sleep", "86400"], start_new_session=True) as other:
        started = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[19]
        record = host.home / ".jobman/attempts" / ONE.token / "pid"
        record.write_text(f"{other.pid} {started} {record.read_text().split()[2]}\n")
        assert await states(runner, ONE) == {0: HostState.RUNNING}
        boot.write_text("second\n")
        assert await states(runner, ONE) == {0: HostState.LOST}
        assert (await runner.end(ONE, grace=0))[0].confirmed
        assert other.poll() is None
        other.kill()


async def test_an_end_without_proof_does_not_read_as_ended(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.launch(ONE, plan("trap '' TERM; echo began; while :; do sleep 0.05; done"))
    await heard_until(runner, ONE, lambda report: report.size > 0)
    # An order to end it was cut short right after the tombstone.
    (host.home / ".jobman/attempts" / ONE.token / "final").write_text("ENDED -\n")
    assert await states(runner, ONE) == {0: HostState.ENDING}
    with pytest.raises(CommandFailedError, match="was ended on order"):
        await runner.launch(ONE, plan("true"))
    assert (await runner.end(ONE, grace=0.2))[0].confirmed
    assert await states(runner, ONE) == {0: HostState.ENDED}


async def test_a_launch_that_was_cut_short_can_be_repeated(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    folder = host.home / ".jobman/attempts" / ONE.token
    folder.mkdir(parents=True)
    for name in ("script", "env", "alive"):
        (folder / name).write_text("half")
    assert await states(runner, ONE) == {0: HostState.NONE}
    await runner.launch(ONE, plan("echo whole"))
    assert (await follow(runner, ONE))[0].output == b"whole\n"


async def test_launches_at_the_same_moment_start_it_once(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.poll(ONE)
    await asyncio.gather(
        *(runner.launch(ONE, plan("echo once >> file; cat file")) for _ in range(8))
    )
    assert (await follow(runner, ONE))[0].output == b"once\n"


async def test_a_launch_and_an_end_at_the_same_moment_leave_nothing(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.poll(ONE)
    for _ in range(6):
        attempt = attrs.evolve(ONE, token=new_token())
        _, ends = await asyncio.gather(
            runner.launch(attempt, plan(NEVER_ENDS)),
            runner.end(attempt, grace=1),
            return_exceptions=True,
        )
        assert not isinstance(ends, BaseException)
        assert ends[0].confirmed
        assert await states(runner, attempt) == {0: HostState.ENDED}


async def test_a_full_disk_is_told_in_words_and_leaves_no_attempt(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    folder = host.home / ".jobman/attempts" / ONE.token
    folder.mkdir(parents=True)
    (folder / "script").symlink_to("/dev/full")
    with pytest.raises(CommandFailedError, match="is the disk of the host full"):
        await runner.launch(ONE, plan("echo no"))
    assert await states(runner, ONE) == {0: HostState.NONE}


@pytest.fixture
def small_disk(host: BadLinkHost) -> Iterator[Path]:
    """Give the home of the host, which is a disk of half a megabyte."""
    host.home.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(host.home)], check=True)
    yield host.home
    subprocess.run(["umount", str(host.home)], check=True)


@pytest.mark.root
@pytest.mark.parametrize(
    ("then", "state"), [("exit 7", HostState.DONE), (NEVER_ENDS, HostState.ENDED)]
)
async def test_f34_on_a_disk_that_a_program_has_filled_its_end_is_known_and_can_be_ordered(
    runner: AgentRunner, small_disk: Path, then: str, state: HostState
) -> None:
    full = small_disk / "full"
    fill = "cat /dev/zero > more 2> /dev/null || cat /dev/zero 2> /dev/null || touch full"
    await runner.launch(ONE, plan(f"{fill}; {then}"))
    while not full.exists():
        await asyncio.sleep(0.05)
    if state is HostState.DONE:
        await heard_until(runner, ONE, lambda report: report.state is state)
    # Another controller than the one that launched it, so that its epoch is new there.
    newer = attrs.evolve(ONE, epoch=100)
    assert (await runner.end(newer, grace=0.2))[0].confirmed
    assert await states(runner, newer) == {0: state}


async def test_a_launch_whose_content_was_cut_off_starts_nothing(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    first, other = new_token(), new_token()
    await runner.launch(attrs.evolve(ONE, token=first), plan("exit 0"))
    order = host.ran[-1]
    argv = tuple(other if item == first else item for item in order.argv)
    cut = attrs.evolve(order, argv=argv, stdin=order.stdin[:-5])
    done = await host.run(cut, limit=20)
    assert b" error refused cannot write " in done.stdout
    assert await states(runner, attrs.evolve(ONE, token=other)) == {0: HostState.NONE}


async def test_files_of_an_attempt_are_for_nobody_else(
    host: BadLinkHost, runner: AgentRunner
) -> None:
    await runner.launch(ONE, plan("touch made; exit 0", SECRET="x"))
    await follow(runner, ONE)
    folder = host.home / ".jobman/attempts" / ONE.token
    assert folder.stat().st_mode & 0o077 == 0
    assert [p.name for p in folder.iterdir() if p.stat().st_mode & 0o077] == []
    # What the program makes is the program's own matter.
    mask = os.umask(0)
    os.umask(mask)
    assert (host.home / "made").stat().st_mode & 0o777 == 0o666 & ~mask


async def test_an_idle_poll_waits_and_does_not_spin(tmp_path: Path) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    for program in ("flock", "stat", "sleep", "grep", "tail", "head", "sh", "cat", "sed"):
        path = shims / program
        path.write_text(
            f"#!/bin/sh\necho {program} >> {tmp_path}/spawned\nPATH=${{PATH#*:}}\n"
            f'exec {program} "$@"\n'
        )
        path.chmod(0o700)
    host = FakeHost(0, tmp_path / "0")
    await AgentRunner([host], SystemClock()).launch(ONE, plan("sleep 86400"))
    order = next(c for c in reversed(host.ran) if "launch" in c.argv)
    agent, boot = order.argv[1], order.argv[5]
    argv = ("sh", agent, "poll", "n", ONE.token, boot, "0", "0", "4096", "1000", "500", "500")
    env = {"PATH": f"{shims}:{os.environ['PATH']}"}
    done = await host.run(Command(argv, env=env, transient=True), limit=20)
    assert b"n state RUNNING - 0 0 0" in done.stdout
    # Two looks of a few programs each: how long it waited does not enter.
    assert len((tmp_path / "spawned").read_text().split()) <= 12
    await AgentRunner([host], SystemClock()).end(ONE, grace=1)


# -- devices -------------------------------------------------------------------------------------


async def hold(path: Path) -> subprocess.Popen[bytes]:
    """Start a process of nobody's attempt that holds a file open."""
    path.parent.mkdir(exist_ok=True)
    path.touch()
    with path.open() as file:
        return subprocess.Popen(["sleep", "86400"], stdin=file)


async def test_on_a_machine_of_its_own_a_launch_frees_the_devices(tmp_path: Path) -> None:
    host = FakeHost(0, tmp_path / "0", facts=own_machine(tmp_path))
    lock = tmp_path / "lockfile"
    lock.touch()
    with (
        await hold(tmp_path / "dev/accel0") as one,
        await hold(tmp_path / "vfio/7") as two,
        await hold(tmp_path / "dev/other") as bystander,
    ):
        await AgentRunner([host], SystemClock()).launch(ONE, plan("exit 0"))
        assert one.wait(10) == two.wait(10) == -signal.SIGKILL
        assert bystander.poll() is None
        bystander.kill()
    assert not lock.exists()


async def test_a_lock_file_that_somebody_holds_stays(tmp_path: Path) -> None:
    host = FakeHost(0, tmp_path / "0", facts=own_machine(tmp_path))
    with await hold(tmp_path / "lockfile") as holder:
        await AgentRunner([host], SystemClock()).launch(ONE, plan("exit 0"))
        assert (tmp_path / "lockfile").exists()
        assert holder.poll() is None
        holder.kill()


async def test_on_somebodys_workstation_nothing_is_swept(tmp_path: Path) -> None:
    facts = attrs.evolve(own_machine(tmp_path), own_machine=False)
    host = FakeHost(0, tmp_path / "0", facts=facts)
    (tmp_path / "lockfile").touch()
    with await hold(tmp_path / "dev/accel0") as holder:
        await AgentRunner([host], SystemClock()).launch(ONE, plan("exit 0"))
        assert holder.poll() is None
        assert (tmp_path / "lockfile").exists()
        holder.kill()
