"""What the environment ``venv`` says of job files, and what runs inside of it."""

import os
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from tests.plugins.venv.conftest import MakeSpec, VenvHost, fill, install_uv
from tests.support.wheels import serve

from jobman_core.clock import SystemClock
from jobman_core.command import Command, quote
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import Host
from jobman_core.models.job import JobSpec
from jobman_core.testing.environment_contract import EnvironmentContract
from jobman_core.testing.fakes import FakeHost
from jobman_core.testing.trial import (
    LIMIT,
    inside,
    job_spec,
    run_program,
    run_step,
    run_steps,
)
from jobman_venv import VenvEnvironment


@pytest.mark.parametrize("name", ["my_venv", "envs/jax-0.4", "_x"])
def test_names_that_folders_below_home_may_have(
    environment: VenvEnvironment, make_spec: MakeSpec, name: str
) -> None:
    assert list(environment.check(make_spec(name=name))) == []


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "/opt/venv", "~/venv", "my venv", "a/../b", ".jobman/x", "a/.jobman", "-x"],
)
def test_names_that_are_no_folder_for_an_environment(
    environment: VenvEnvironment, make_spec: MakeSpec, name: str
) -> None:
    (problem,) = environment.check(make_spec(name=name))
    assert problem.key == "name"
    assert "write a plain name, like my_venv" in problem.message


@pytest.mark.parametrize(
    ("python", "wanted"),
    [
        ("3.10", "3.10"),
        ("python3.10", "3.10"),
        ("python3", ""),
        ("", ""),
        (None, ""),
        ("/opt/bin/python", "/opt/bin/python"),
        ("~/py/bin/python3", "~/py/bin/python3"),
    ],
)
def test_ways_to_name_a_python(
    environment: VenvEnvironment, make_spec: MakeSpec, python: str | None, wanted: str
) -> None:
    spec = make_spec(python=python)
    assert list(environment.check(spec)) == []
    (command,) = environment.setup(spec, None)
    assert command.argv[4:6] == ("my_venv", wanted)


@pytest.mark.parametrize("python", ["2.7", "3.10.4", "pypy3", "./python", "3.10; true"])
def test_what_names_no_python(
    environment: VenvEnvironment, make_spec: MakeSpec, python: str
) -> None:
    (problem,) = environment.check(make_spec(python=python))
    assert problem.key == "python"
    assert "write a version like 3.10" in problem.message


def test_faults_of_the_requirements_are_the_job_files(
    environment: VenvEnvironment, make_spec: MakeSpec
) -> None:
    spec = make_spec("-e .", "./x.whl")
    assert [problem.key for problem in environment.check(spec)] == ["requirements_file"] * 2
    with pytest.raises(InvalidInputError, match=r"-e \. is a folder of this machine"):
        environment.setup(spec, None)


def test_requirements_are_no_arguments_as_they_may_hold_passwords(
    environment: VenvEnvironment, make_spec: MakeSpec
) -> None:
    (command,) = environment.setup(make_spec("-i https://me:secret@example.org/simple"), None)
    assert "secret" not in quote(command.argv)
    assert b"secret" in command.stdin


def test_mirrors_and_proxies_of_the_job_are_those_of_its_set_up(
    environment: VenvEnvironment, make_spec: MakeSpec
) -> None:
    given = {"PIP_INDEX_URL": "https://me:secret@example.org/simple", "https_proxy": "proxy:1"}
    spec = attrs.evolve(make_spec("alpha"), environment={**given, "WANDB_API_KEY": "secret"})
    (command,) = environment.setup(spec, None)
    assert command.env == given


def test_the_sections_own_name_is_no_other_environment(
    environment: VenvEnvironment, make_spec: MakeSpec
) -> None:
    spec = make_spec("alpha")
    assert environment.setup(spec, "my_venv") == environment.setup(spec, None)


@pytest.mark.e2e
class TestContract(EnvironmentContract):
    within = """
    [ "$VIRTUAL_ENV" = "$HOME/envs/mine" ] && [ -z "${PYTHONHOME+set}" ] &&
        [ "$(command -v python)" = "$HOME/envs/mine/bin/python" ] &&
        [ "$(python -c 'import sys; print(sys.prefix)')" = "$HOME/envs/mine" ]
    """

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls) -> Environment:
        return VenvEnvironment(Context(Path.cwd(), "home-1", SystemClock()))

    @pytest.fixture(scope="class")
    @classmethod
    def host(cls, tmp_path_factory: pytest.TempPathFactory) -> Host:
        host = FakeHost(0, tmp_path_factory.mktemp("host") / "it's a home")
        install_uv(host.home)
        return host

    @pytest.fixture(scope="class")
    @classmethod
    def spec(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobSpec]:
        folder = tmp_path_factory.mktemp("files")
        (folder / "requirements.txt").write_text("beta\n")
        section = {"name": "envs/mine", "requirements_file": str(folder / "requirements.txt")}
        with serve(fill(folder / "wheels")) as index:
            told = {"PIP_CONFIG_FILE": os.devnull, "UV_DEFAULT_INDEX": index.url}
            yield attrs.evolve(job_spec(env_type="venv", venv=section), environment=told)

    async def test_a_python_home_of_the_job_is_not_that_of_the_environment(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        plan = inside(environment, spec, self.within, env={"PYTHONHOME": "/nowhere"})
        assert (await run_program(ready, plan)).code == 0

    async def test_others_have_to_be_there_and_those_that_are_get_named(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        await run_steps(ready, [Command(("ln", "-sfn", "envs/mine", "by-hand"))])
        await run_steps(ready, environment.setup(spec, "by-hand"))
        ran = await run_program(
            ready, inside(environment, spec, 'echo "$VIRTUAL_ENV"', name="by-hand")
        )
        assert ran.text.endswith("/by-hand\n")
        (look,) = environment.setup(spec, "none")
        missing = await run_step(ready, look)
        assert missing.code == 78
        assert missing.text == (
            "jobman: there is no environment none on this host (~/none has no bin/python that "
            "runs); found: by-hand envs/mine \n"
        )
        await run_steps(ready, [Command(("ln", "-sfn", "gone", "by-hand"))])
        assert (await run_step(ready, environment.setup(spec, "by-hand")[0])).code == 78


@pytest.mark.e2e
async def test_problems_name_what_is_missing_and_their_remedy_mends_it(
    host: VenvHost, make_spec: MakeSpec
) -> None:
    host.install_uv()
    spec = make_spec("alpha", "Beta", "gamma; sys_platform == 'win32'")
    there, packages = host.environment.problems(spec)
    assert (there.cheap, packages.cheap) == (True, False)

    async def run(script: str | None) -> tuple[int, str]:
        assert script is not None
        (told,) = host.commands(spec)
        done = await host.on.run(Command(("bash", "-c", script), env=told.env), limit=LIMIT)
        return done.code, (done.stdout + done.stderr).decode()

    code, said = await run(there.check)
    assert (code, "there is no environment my_venv" in said) == (78, True)
    code, said = await run(there.remedy)
    assert code == 0, said
    assert await run(there.check) == (0, "")
    assert await run(packages.check) == (0, "")
    for each in (host.home / "my_venv").glob("lib/*/site-packages/beta*"):
        each.rename(host.home / each.name)
    assert await run(packages.check) == (1, "not installed: Beta\n")
    assert (await run(packages.remedy))[0] == 0
    assert await run(packages.check) == (0, "")
