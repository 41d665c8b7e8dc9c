"""What every runner must do."""

import asyncio
import uuid
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TypeAlias

import attrs
import pytest

from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError, InvalidInputError, StaleLeaseError
from jobman_core.interfaces.host import Host, Runner
from jobman_core.models.attempt import SCRIPT, AttemptRef, HostReport, HostState, LaunchPlan
from jobman_core.run.agent import AgentRunner
from jobman_core.testing.host_contract import wait_for
from jobman_core.testing.traps import TRAPS

MakeRunner: TypeAlias = Callable[[], Runner]

GRACE = 5.0
NEVER_ENDS = "echo began\nsleep 86400\n"


def new_token() -> str:
    """Give a token like the store's: no other attempt on this machine has it, of any test."""
    return uuid.uuid4().hex


def plan(script: str, *args: str, **env: str) -> LaunchPlan:
    """Give the plan of a script, as the core makes it."""
    return LaunchPlan(script, Command(("bash", "-o", "pipefail", SCRIPT, *args), env=env))


@attrs.define
class Followed:
    """What was heard of one host."""

    state: HostState
    code: int | None = None
    output: bytes = b""


async def follow(
    runner: Runner, attempt: AttemptRef, offsets: Mapping[int, int] | None = None
) -> dict[int, Followed]:
    """Follow an attempt to its end; every byte has to come exactly once, and in order."""
    heard: dict[int, Followed] = {}
    at = dict(offsets or {})
    async for report in runner.follow(attempt, offsets or {}):
        assert report.offset == at.get(report.host, 0)
        at[report.host] = report.offset + len(report.data)
        host = heard.setdefault(report.host, Followed(report.state))
        host.state, host.code = report.state, report.code
        host.output += report.data
    return heard


async def heard_until(
    runner: Runner, attempt: AttemptRef, enough: Callable[[HostReport], bool]
) -> HostReport:
    """Follow an attempt until a report is as wanted."""
    async with aclosing(runner.follow(attempt, {})) as reports:
        async for report in reports:
            if enough(report):
                return report
    pytest.fail("it ended before")


async def states(runner: Runner, attempt: AttemptRef) -> dict[int, HostState]:
    """Ask all hosts for the state, once none of them is about to start any more."""
    while True:
        found = {host: report.state for host, report in (await runner.poll(attempt)).items()}
        if HostState.LAUNCHING not in found.values():
            return found
        await asyncio.sleep(0.01)


class RunnerContract:
    """States, orders and epochs. Subclass it with a fixture ``make_runner``.

    Each call of that gives another runner for the same two hosts, 0 and 1, which are new. The
    programs here are lines of ``echo TEXT``, ``exit CODE`` and ``sleep SECONDS``, no more.
    """

    @pytest.fixture
    @abstractmethod
    def make_runner(self) -> MakeRunner:
        """Give a way to make runners."""

    @pytest.fixture
    def runner(self, make_runner: MakeRunner) -> Runner:
        return make_runner()

    @pytest.fixture
    def attempt(self) -> AttemptRef:
        return AttemptRef(new_token(), 3, (0, 1))

    async def test_an_attempt_nobody_heard_of_is_none(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        assert await states(runner, attempt) == {0: HostState.NONE, 1: HostState.NONE}

    async def test_following_one_that_nobody_heard_of_ends(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        heard = await follow(runner, attempt)
        assert {host.state for host in heard.values()} == {HostState.NONE}

    async def test_a_program_runs_to_its_end_on_every_host(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan("echo one\necho two\nexit 3"))
        done = Followed(HostState.DONE, 3, b"one\ntwo\n")
        assert await follow(runner, attempt) == {0: done, 1: done}
        assert await states(runner, attempt) == {0: HostState.DONE, 1: HostState.DONE}

    async def test_success_is_zero(self, runner: Runner, attempt: AttemptRef) -> None:
        await runner.launch(attempt, plan("echo fine"))
        assert {host.code for host in (await follow(runner, attempt)).values()} == {0}

    async def test_255_comes_from_the_program(self, runner: Runner, attempt: AttemptRef) -> None:
        await runner.launch(attempt, plan("exit 255"))
        assert {host.code for host in (await follow(runner, attempt)).values()} == {255}

    async def test_only_the_hosts_that_were_named(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attrs.evolve(attempt, hosts=(1,)), plan("echo here"))
        assert set(await follow(runner, attrs.evolve(attempt, hosts=(1,)))) == {1}
        assert (await states(runner, attempt))[0] is HostState.NONE

    async def test_poll_tells_size_and_code_without_output(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan("echo four\nexit 4"))
        await follow(runner, attempt)
        report = (await runner.poll(attempt))[1]
        assert (report.size, report.code, report.data) == (5, 4, b"")

    async def test_launching_again_does_nothing(self, runner: Runner, attempt: AttemptRef) -> None:
        await runner.launch(attempt, plan("echo once"))
        first = await follow(runner, attempt)
        await runner.launch(attempt, plan("echo twice"))
        assert await follow(runner, attempt) == first

    async def test_launching_again_does_not_touch_what_runs(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan(NEVER_ENDS))
        await heard_until(runner, attempt, lambda report: report.data == b"began\n")
        await runner.launch(attempt, plan("echo twice"))
        assert await states(runner, attempt) == {0: HostState.RUNNING, 1: HostState.RUNNING}
        await runner.end(attempt, grace=GRACE)

    async def test_another_runner_adopts_it(
        self, make_runner: MakeRunner, attempt: AttemptRef
    ) -> None:
        await make_runner().launch(attempt, plan("echo one\necho two\nexit 1"))
        heard = await follow(make_runner(), attempt, {0: 4, 1: 8})
        assert heard[0] == Followed(HostState.DONE, 1, b"two\n")
        assert heard[1] == Followed(HostState.DONE, 1, b"")

    async def test_end_is_confirmed_by_every_host(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan(NEVER_ENDS))
        ends = await runner.end(attempt, grace=GRACE)
        assert [ends[host].confirmed for host in (0, 1)] == [True, True]
        assert await states(runner, attempt) == {0: HostState.ENDED, 1: HostState.ENDED}

    async def test_ending_again_is_no_error(self, runner: Runner, attempt: AttemptRef) -> None:
        await runner.launch(attempt, plan(NEVER_ENDS))
        await runner.end(attempt, grace=GRACE)
        assert all(end.confirmed for end in (await runner.end(attempt, grace=GRACE)).values())

    async def test_what_was_ended_is_not_launched_again(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan(NEVER_ENDS))
        await runner.end(attempt, grace=GRACE)
        with pytest.raises(CommandFailedError):
            await runner.launch(attempt, plan(NEVER_ENDS))
        assert await states(runner, attempt) == {0: HostState.ENDED, 1: HostState.ENDED}

    async def test_ending_one_that_nobody_heard_of_refuses_its_launch(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        ends = await runner.end(attempt, grace=GRACE)
        assert all(end.confirmed for end in ends.values())
        with pytest.raises(CommandFailedError):
            await runner.launch(attempt, plan("echo late"))
        assert await states(runner, attempt) == {0: HostState.ENDED, 1: HostState.ENDED}

    async def test_ending_one_that_is_done_keeps_its_record(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan("exit 7"))
        await follow(runner, attempt)
        assert all(end.confirmed for end in (await runner.end(attempt, grace=GRACE)).values())
        reports = await runner.poll(attempt)
        assert {(report.state, report.code) for report in reports.values()} == {(HostState.DONE, 7)}

    async def test_whoever_follows_hears_of_an_end(
        self, make_runner: MakeRunner, attempt: AttemptRef
    ) -> None:
        await make_runner().launch(attempt, plan(NEVER_ENDS))
        following = asyncio.create_task(follow(make_runner(), attempt))
        await heard_until(make_runner(), attempt, lambda report: report.size > 0)
        await make_runner().end(attempt, grace=GRACE)
        assert {host.state for host in (await following).values()} == {HostState.ENDED}

    async def test_an_end_on_one_host_leaves_the_same_attempt_alone_on_the_other(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan(NEVER_ENDS))
        await runner.end(attrs.evolve(attempt, hosts=(0,)), grace=GRACE)
        assert await states(runner, attempt) == {0: HostState.ENDED, 1: HostState.RUNNING}
        await runner.end(attempt, grace=GRACE)

    async def test_an_older_epoch_may_neither_launch_nor_end(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan(NEVER_ENDS))
        older = attrs.evolve(attempt, epoch=2)
        with pytest.raises(StaleLeaseError):
            await runner.end(older, grace=GRACE)
        with pytest.raises(StaleLeaseError):
            await runner.launch(attrs.evolve(older, token=new_token()), plan("echo no"))
        assert await states(runner, older) == {0: HostState.RUNNING, 1: HostState.RUNNING}
        newer = attrs.evolve(attempt, epoch=4)
        assert all(end.confirmed for end in (await runner.end(newer, grace=GRACE)).values())
        with pytest.raises(StaleLeaseError):
            await runner.launch(attrs.evolve(attempt, token=new_token()), plan("echo no"))

    async def test_ceasing_to_follow_leaves_nothing(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        await runner.launch(attempt, plan(NEVER_ENDS))
        before = asyncio.all_tasks()
        following = asyncio.create_task(follow(runner, attempt))
        await heard_until(runner, attempt, lambda report: report.size > 0)
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following
        assert asyncio.all_tasks() == before
        assert await states(runner, attempt) == {0: HostState.RUNNING, 1: HostState.RUNNING}
        await runner.end(attempt, grace=GRACE)


class ShellRunnerContract(RunnerContract):
    """Programs, output and processes on hosts that have a shell. Needs a fixture ``hosts``."""

    @pytest.fixture
    @abstractmethod
    def hosts(self) -> Sequence[Host]:
        """Give hosts 0 and 1, which are new."""

    @pytest.fixture
    def make_runner(self, hosts: Sequence[Host]) -> MakeRunner:
        return lambda: AgentRunner(hosts, SystemClock())

    @pytest.fixture
    def one(self) -> AttemptRef:
        return AttemptRef(new_token(), 3, (0,))

    async def test_arguments_and_environment_are_data(
        self, runner: Runner, one: AttemptRef
    ) -> None:
        script = 'for item; do printf "%s\\0" "$item"; done; env -0\n'
        env = {f"TRAP_{number}": text for number, text in enumerate(TRAPS)}
        await runner.launch(one, plan(script, *TRAPS, **env))
        said = (await follow(runner, one))[0].output.decode().split("\0")
        assert said[: len(TRAPS)] == list(TRAPS)
        seen = dict(item.split("=", 1) for item in said[len(TRAPS) :] if "=" in item)
        assert {name: seen.get(name) for name in env} == env

    async def test_the_script_is_a_file_as_it_stands(self, runner: Runner, one: AttemptRef) -> None:
        script = (
            "cat <<'EOF'\n$(no) `no` \\ \"'\n  ä日🙂\nEOF\necho \"it's $((6*7))\" \\\n  'a;b'\n"
        )
        await runner.launch(one, plan(script))
        expected = "$(no) `no` \\ \"'\n  ä日🙂\nit's 42 a;b\n"
        assert (await follow(runner, one))[0].output.decode() == expected

    async def test_each_host_sees_what_is_its_own(
        self, runner: Runner, attempt: AttemptRef
    ) -> None:
        common = plan("echo $WHO $ALL", ALL="all", WHO="nobody")
        host_env = {0: {"WHO": "zero"}, 1: {"WHO": "one"}}
        await runner.launch(attempt, attrs.evolve(common, host_env=host_env))
        heard = await follow(runner, attempt)
        assert (heard[0].output, heard[1].output) == (b"zero all\n", b"one all\n")

    async def test_names_that_meet_the_agents_own_are_the_programs(
        self, runner: Runner, one: AttemptRef
    ) -> None:
        names = ("token", "here", "state", "IFS", "HOME", "item", "base")
        command = Command(("env", "-0"), env=dict.fromkeys(names, "mine"))
        await runner.launch(one, LaunchPlan("", command))
        seen = (await follow(runner, one))[0].output.decode().split("\0")
        assert {f"{name}=mine" for name in names} <= set(seen)

    @pytest.mark.parametrize("name", ["a b", "1A", "A=B", "", "$(x)", "UID", "A\n"])
    async def test_a_variable_that_no_program_could_have_is_refused(
        self, runner: Runner, one: AttemptRef, name: str
    ) -> None:
        with pytest.raises(InvalidInputError):
            await runner.launch(one, plan("echo no", **{name: "x"}))
        assert await states(runner, one) == {0: HostState.NONE}

    @pytest.mark.parametrize("token", ["", "../x", "a/b", ".x", "a b", "$(x)", "a\n"])
    async def test_a_token_is_a_plain_name(self, runner: Runner, token: str) -> None:
        attempt = AttemptRef(token, 1, (0,))
        with pytest.raises(InvalidInputError):
            await runner.launch(attempt, plan("echo no"))

    async def test_environment_stands_in_no_command_line(
        self, runner: Runner, one: AttemptRef, hosts: Sequence[Host]
    ) -> None:
        canary = "hunter2" * 3
        lines = Command(("sh", "-c", "cat /proc/[0-9]*/cmdline 2> /dev/null; true"), transient=True)
        watching = True

        async def watch() -> bytes:
            seen = b""
            while watching:
                seen += (await hosts[0].run(lines, limit=20)).stdout
            return seen

        watcher = asyncio.create_task(watch())
        await runner.launch(one, plan(NEVER_ENDS, SECRET=canary))
        await heard_until(runner, one, lambda report: report.size > 0)
        watching = False
        assert canary.encode() not in await watcher
        await runner.end(one, grace=GRACE)

    async def test_runs_in_the_folder_of_the_plan(
        self, runner: Runner, one: AttemptRef, hosts: Sequence[Host]
    ) -> None:
        await hosts[0].put(b"", "a b/$c/file")
        command = Command(("sh", SCRIPT), cwd="a b/$c")
        await runner.launch(one, LaunchPlan("ls", command))
        assert (await follow(runner, one))[0].output == b"file\n"

    async def test_a_folder_that_is_missing_ends_it_and_says_so(
        self, runner: Runner, one: AttemptRef
    ) -> None:
        await runner.launch(one, LaunchPlan("echo ran", Command(("sh", SCRIPT), cwd="no where")))
        heard = (await follow(runner, one))[0]
        assert heard.code == 127
        assert b"no where" in heard.output

    async def test_a_program_that_is_missing_ends_it_and_says_so(
        self, runner: Runner, one: AttemptRef
    ) -> None:
        await runner.launch(one, LaunchPlan("", Command(("no-such-program",))))
        heard = (await follow(runner, one))[0]
        assert heard.code == 127
        assert b"no-such-program" in heard.output

    async def test_standard_input_is_the_plans(self, runner: Runner, one: AttemptRef) -> None:
        await runner.launch(one, LaunchPlan("", Command(("cat",), stdin=b"a\0\xff\n")))
        assert (await follow(runner, one))[0].output == b"a\0\xff\n"

    async def test_without_input_it_is_empty(self, runner: Runner, one: AttemptRef) -> None:
        await runner.launch(one, plan("cat; echo end"))
        assert (await follow(runner, one))[0].output == b"end\n"

    @pytest.mark.parametrize(("signal", "code"), [("INT", 130), ("KILL", 137), ("TERM", 143)])
    async def test_a_signal_ends_a_program_as_it_always_does(
        self, runner: Runner, one: AttemptRef, signal: str, code: int
    ) -> None:
        await runner.launch(one, plan(f"kill -{signal} $$; echo survived"))
        assert (await follow(runner, one))[0] == Followed(HostState.DONE, code, b"")

    async def test_output_is_exact_to_the_byte(self, runner: Runner, one: AttemptRef) -> None:
        script = "printf '\\n\\0\\377\\r\\njobman-0 state DONE 0 1 0 1\\n'; printf 'no newline'"
        await runner.launch(one, plan(script))
        expected = b"\n\0\xff\r\njobman-0 state DONE 0 1 0 1\nno newline"
        assert (await follow(runner, one))[0].output == expected

    async def test_much_output_comes_without_a_gap(self, runner: Runner, one: AttemptRef) -> None:
        await runner.launch(one, plan("seq 2700000; printf last; exit 9"))
        heard = (await follow(runner, one))[0]
        expected = b"".join(b"%d\n" % number for number in range(1, 2_700_001)) + b"last"
        assert heard.output == expected
        assert heard.code == 9

    async def test_output_of_a_live_program_comes_soon(
        self, runner: Runner, one: AttemptRef
    ) -> None:
        await runner.launch(one, plan("echo first; sleep 86400"))
        report = await heard_until(runner, one, lambda report: bool(report.data))
        assert (report.state, report.data) == (HostState.RUNNING, b"first\n")
        await runner.end(one, grace=GRACE)

    async def test_a_program_may_say_goodbye(self, runner: Runner, one: AttemptRef) -> None:
        # Bash itself dies of the TERM at once; what it had started gets the time to save.
        child = "trap 'sleep 0.5; echo saved; exit' TERM; echo began; while :; do sleep 0.05; done"
        await runner.launch(one, plan(f'bash -c "{child}"; echo not reached'))
        await heard_until(runner, one, lambda report: b"began" in report.data)
        assert (await runner.end(one, grace=GRACE))[0].confirmed
        heard = (await follow(runner, one))[0]
        assert heard.state is HostState.ENDED
        assert heard.output.endswith(b"saved\n")

    async def test_one_that_ignores_term_is_killed(self, runner: Runner, one: AttemptRef) -> None:
        await runner.launch(one, plan("trap '' TERM; echo began; while :; do sleep 0.05; done"))
        await heard_until(runner, one, lambda report: b"began" in report.data)
        assert (await runner.end(one, grace=0.3))[0].confirmed
        assert await states(runner, one) == {0: HostState.ENDED}

    async def test_one_that_is_stopped_is_ended(self, runner: Runner, one: AttemptRef) -> None:
        await runner.launch(one, plan("echo began; kill -STOP $$"))
        await heard_until(runner, one, lambda report: b"began" in report.data)
        assert (await runner.end(one, grace=GRACE))[0].confirmed

    async def test_children_with_sessions_of_their_own_are_ended(
        self, runner: Runner, one: AttemptRef, hosts: Sequence[Host]
    ) -> None:
        await runner.launch(one, plan(_BEATING + "sleep 86400"))
        await wait_for(hosts[0], "beats")
        assert (await runner.end(one, grace=0.3))[0].confirmed
        await _beats_no_more(hosts[0])

    async def test_what_a_done_program_left_is_ended_on_order(
        self, runner: Runner, one: AttemptRef, hosts: Sequence[Host]
    ) -> None:
        await runner.launch(one, plan(_BEATING + "exit 2"))
        assert (await follow(runner, one))[0].code == 2
        await wait_for(hosts[0], "beats")
        assert (await runner.end(one, grace=0.3))[0].confirmed
        await _beats_no_more(hosts[0])
        assert (await runner.poll(one))[0].code == 2

    async def test_a_launch_ends_what_an_older_attempt_left(
        self, runner: Runner, one: AttemptRef, hosts: Sequence[Host]
    ) -> None:
        await runner.launch(one, plan(_BEATING + "sleep 86400"))
        await wait_for(hosts[0], "beats")
        other = attrs.evolve(one, token=new_token())
        await runner.launch(other, plan("echo mine"))
        await _beats_no_more(hosts[0])
        assert await states(runner, one) == {0: HostState.ENDED}
        assert (await follow(runner, other))[0].output == b"mine\n"

    async def test_old_attempts_are_forgotten_but_for_the_last(self, runner: Runner) -> None:
        attempts = [AttemptRef(new_token(), 1, (0,)) for _ in range(8)]
        for number, attempt in enumerate(attempts):
            await runner.launch(attempt, plan(f"echo {number}"))
            assert (await follow(runner, attempt))[0].output == b"%d\n" % number
        assert await states(runner, attempts[0]) == {0: HostState.NONE}
        assert await states(runner, attempts[6]) == {0: HostState.DONE}


_BEATING = "setsid sh -c 'trap \"\" TERM; while :; do echo >> beats; sleep 0.05; done' &\n"


async def _beats_no_more(host: Host) -> None:
    """See that a process is gone which would have written in the meantime."""
    script = "before=$(stat -c %s beats); sleep 0.3; [ $before = $(stat -c %s beats) ]"
    assert (await host.run(Command(("sh", "-c", script), transient=True), limit=20)).ok
