"""What every environment must do."""

import asyncio
import shlex
from abc import abstractmethod
from typing import ClassVar

import pytest

from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import Host
from jobman_core.models.attempt import SCRIPT, AttemptRef, LaunchPlan
from jobman_core.models.job import JobSpec
from jobman_core.run.agent import AgentRunner
from jobman_core.testing.fakes import FakeHost
from jobman_core.testing.runner_contract import follow, heard_until, new_token
from jobman_core.testing.traps import TRAPS
from jobman_core.testing.trial import GRACE, at_once, inside, run_program, run_step, run_steps


class EnvironmentContract:
    """Subclass it with the fixtures ``environment`` and ``spec``, and with :attr:`within`.

    These fixtures have the scope of the class, and are class methods therefore: the environment is
    set up once, on one host. That is a folder of this machine in which commands run as they are,
    unless ``host`` gives another.
    """

    #: A script that ends with 0 inside the environment, and only there.
    within: ClassVar[str]
    #: The name of an environment that the host does not have.
    absent: ClassVar[str] = "no-such-environment"

    @pytest.fixture(scope="class")
    @classmethod
    @abstractmethod
    def environment(cls) -> Environment:
        """Give the environment."""

    @pytest.fixture(scope="class")
    @classmethod
    @abstractmethod
    def spec(cls) -> JobSpec:
        """Give a job whose section is good."""

    @pytest.fixture(scope="class")
    @classmethod
    def host(cls, tmp_path_factory: pytest.TempPathFactory) -> Host:
        """Give a host without the environment."""
        return FakeHost(0, tmp_path_factory.mktemp("host") / "it's a home")

    @pytest.fixture(scope="class")
    @classmethod
    def ready(cls, host: Host, environment: Environment, spec: JobSpec) -> Host:
        """Give the host with the environment."""
        at_once(run_steps(host, environment.setup(spec, None)))
        return host

    # -- set-up ----------------------------------------------------------------------------

    def test_a_good_section_is_not_refused(self, environment: Environment, spec: JobSpec) -> None:
        assert list(environment.check(spec)) == []

    def test_the_same_job_has_the_same_set_up(
        self, environment: Environment, spec: JobSpec
    ) -> None:
        # Else it would be done again at every start.
        assert list(environment.setup(spec, None)) == list(environment.setup(spec, None))

    async def test_can_be_set_up_again(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        await run_steps(ready, environment.setup(spec, None))
        assert (await run_program(ready, inside(environment, spec, self.within))).code == 0

    async def test_its_own_checks_find_nothing_wrong_after_the_set_up(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        problems = environment.problems(spec)
        assert len({problem.name for problem in problems}) == len(problems)
        for problem in problems:
            check = Command(("bash", SCRIPT), stdin=problem.check.encode())
            ran = await run_step(ready, check)
            assert ran.code == 0, f"{problem.name}: {ran.text}"

    # -- programs --------------------------------------------------------------------------

    async def test_a_program_runs_inside(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        ran = await run_program(ready, inside(environment, spec, self.within))
        assert ran.code == 0, ran.text
        bare = LaunchPlan(self.within, Command(("bash", SCRIPT)))
        assert (await run_program(ready, bare)).code != 0

    @pytest.mark.parametrize("code", [0, 1, 75, 126, 127, 255])
    async def test_an_exit_code_is_the_program_s_own(
        self, ready: Host, environment: Environment, spec: JobSpec, code: int
    ) -> None:
        assert (await run_program(ready, inside(environment, spec, f"exit {code}"))).code == code

    @pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("KILL", 137)])
    async def test_a_signal_reads_as_a_shell_gives_it(
        self, ready: Host, environment: Environment, spec: JobSpec, signal: str, code: int
    ) -> None:
        ran = await run_program(ready, inside(environment, spec, f"kill -{signal} $$"))
        assert ran.code == code

    async def test_options_of_the_shell_stay(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        assert (await run_program(ready, inside(environment, spec, "exit 5 | cat"))).code == 5

    async def test_a_script_of_many_lines_runs_as_it_stands(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        script = (
            "set -eu\nsay() {\n  printf '%s|' \"$@\"\n}\n"
            "cat <<'EOF'\n$(no) `no` \\ \"'\n ä🙂\nEOF\n"
            "say \"it's $((6*7))\" \\\n  'a;b'\n"
        )
        ran = await run_program(ready, inside(environment, spec, script))
        assert (ran.code, ran.text) == (0, "$(no) `no` \\ \"'\n ä🙂\nit's 42|a;b|")

    async def test_arguments_are_data(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        script = 'for item; do printf "%s\\0" "$item"; done'
        ran = await run_program(ready, inside(environment, spec, script, *TRAPS))
        assert ran.output.decode().split("\0")[:-1] == list(TRAPS)

    async def test_variables_are_data(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        env = {f"TRAP_{number}": text for number, text in enumerate(TRAPS)}
        ran = await run_program(ready, inside(environment, spec, "env -0", env=env))
        items = ran.output.decode("utf-8", "replace").split("\0")
        seen = dict(item.split("=", 1) for item in items if "=" in item)
        assert {name: seen.get(name) for name in env} == env

    def test_values_of_variables_stand_in_no_command_line(
        self, environment: Environment, spec: JobSpec
    ) -> None:
        # All users of a machine can read those.
        plan = inside(environment, spec, "true", env={"TOKEN": "canary-7f3a9c51"})
        assert "canary-7f3a9c51" not in shlex.join(plan.command.argv)

    async def test_standard_input_is_exact(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        data = bytes(range(256)) * 100
        ran = await run_program(ready, inside(environment, spec, "cat", stdin=data))
        assert ran.output == data

    async def test_without_input_it_is_empty(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        ran = await run_program(ready, inside(environment, spec, "cat"))
        assert (ran.code, ran.output) == (0, b"")

    async def test_starts_in_the_home_folder_or_where_it_should(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        folder = "it's $HOME"
        await run_steps(ready, [Command(("mkdir", "-p", "--", folder))])
        home = await run_program(ready, inside(environment, spec, "pwd -P"))
        below = await run_program(ready, inside(environment, spec, "pwd -P", cwd=folder))
        assert below.text == f"{home.text.rstrip()}/{folder}\n"

    # -- the end ---------------------------------------------------------------------------

    async def test_a_program_hears_of_its_end_and_nothing_is_left(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        runner = AgentRunner([ready], SystemClock())
        attempt = AttemptRef(new_token(), 1, (ready.index,))
        script = "trap 'echo bye; exit 0' TERM\necho began\nwhile :; do sleep 0.1; done\n"
        await runner.launch(attempt, inside(environment, spec, script))
        await heard_until(runner, attempt, lambda report: report.size > 0)
        ends = await runner.end(attempt, grace=GRACE)
        assert ends[ready.index].confirmed, ends[ready.index].detail
        assert (await follow(runner, attempt))[ready.index].output.endswith(b"bye\n")
        await _end_twice(ready, environment, spec, attempt.token)

    async def test_what_never_ran_can_be_ended(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        await _end_twice(ready, environment, spec, new_token())

    # -- not there -------------------------------------------------------------------------

    async def test_no_program_runs_without_the_environment(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        script = "echo it ran\ntouch it-ran\n"
        async with asyncio.timeout(60):
            ran = await run_program(ready, inside(environment, spec, script, name=self.absent))
        assert ran.code != 0
        assert "it ran" not in ran.text
        assert self.absent in ran.text
        assert (await run_step(ready, Command(("test", "-e", "it-ran")))).code == 1


async def _end_twice(host: Host, environment: Environment, spec: JobSpec, token: str) -> None:
    if (command := environment.end(spec, token)) is not None:
        await run_steps(host, [command, command])
