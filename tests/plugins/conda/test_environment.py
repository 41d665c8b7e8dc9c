"""Environments of conda: made once, activated exactly, never left out."""

from pathlib import Path

import attrs
import pytest
from tests.plugins.conda.conftest import CondaHost, MakeSpec, channel, install_stand_in

from jobman_conda import CondaEnvironment
from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import InvalidInputError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import Host
from jobman_core.models.job import JobSpec
from jobman_core.testing.environment_contract import EnvironmentContract
from jobman_core.testing.fakes import FakeHost
from jobman_core.testing.trial import LIMIT, inside, job_spec, run_program

#: What stands for miniforge's installer: it is told where to, and brings conda there.
INSTALLER = """
[ "$1 $2" = "-b -p" ] && [ ! -e "$3" ] || exit 3
mkdir -p "$3/bin" "$3/conda-meta"
[ ! -e "$HOME/cut-short" ] || kill -KILL $PPID $$
cp "$HOME/stand-in" "$3/bin/conda"
"""


@pytest.mark.parametrize("name", ["", "a/b", "../x", "my env", "-n", "/opt/x", "."])
def test_names_that_no_environment_has(
    environment: CondaEnvironment, make_spec: MakeSpec, name: str
) -> None:
    (problem,) = environment.check(make_spec(name=name))
    assert (problem.key, "write a plain one" in problem.message) == ("name", True)


def test_faults_of_the_files_are_the_job_files(
    environment: CondaEnvironment, make_spec: MakeSpec
) -> None:
    spec = make_spec("{pip: [-e .]}", installer_url="miniforge.sh")
    assert [problem.key for problem in environment.check(spec)] == ["installer_url", "config_file"]
    with pytest.raises(InvalidInputError, match="install it in the task itself"):
        environment.setup(spec, None)


@pytest.mark.e2e
class TestContract(EnvironmentContract):
    within = """
    [ "$CONDA_PREFIX" = "$HOME/miniforge3/envs/mine" ] && [ "$CONDA_DEFAULT_ENV" = mine ] &&
        [ "$(command -v alpha-say)" = "$CONDA_PREFIX/bin/alpha-say" ] && [ -z "${PYTHONHOME+set}" ]
    """

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls) -> Environment:
        return CondaEnvironment(Context(Path.cwd(), "home-1", SystemClock()))

    @pytest.fixture(scope="class")
    @classmethod
    def host(cls, tmp_path_factory: pytest.TempPathFactory) -> Host:
        home = tmp_path_factory.mktemp("host") / "it's a home"
        install_stand_in(home / "miniforge3" / "bin" / "conda")
        return FakeHost(0, home)

    @pytest.fixture(scope="class")
    @classmethod
    def spec(cls, tmp_path_factory: pytest.TempPathFactory) -> JobSpec:
        folder = tmp_path_factory.mktemp("files")
        (folder / "environment.yml").write_text("dependencies: [alpha, beta]\n")
        section = {"name": "mine", "config_file": str(folder / "environment.yml")}
        spec = job_spec(env_type="conda", conda=section)
        return attrs.evolve(spec, environment=channel(folder / "channel"))

    async def test_a_python_home_of_the_job_is_not_that_of_the_environment(
        self, ready: Host, environment: Environment, spec: JobSpec
    ) -> None:
        plan = inside(environment, spec, self.within, env={"PYTHONHOME": "/nowhere"})
        assert (await run_program(ready, plan)).code == 0


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("tool", "made"),
    [
        ("miniconda3/bin/conda", "miniconda3/envs/my_env"),
        ("mambaforge/bin/mamba", "mambaforge/envs/my_env"),
        (".local/bin/micromamba", "micromamba/envs/my_env"),
    ],
)
async def test_what_a_host_has_makes_the_environment_and_an_edited_file_makes_it_anew(
    host: CondaHost, make_spec: MakeSpec, tool: str, made: str
) -> None:
    install_stand_in(host.home / tool)
    spec = make_spec("alpha")
    done = await host.setup(spec)
    assert done.code == 0, done.text
    assert (await host.says(spec, "alpha-say; echo $CONDA_PREFIX")).text == (
        f"alpha 1.0\n{host.home}/{made}\n"
    )
    (host.home / made / "left-behind").touch()
    assert (await host.setup(spec)).text.endswith("is as it should be\n")
    assert (host.home / made / "left-behind").exists()
    assert (await host.setup(make_spec("beta"))).code == 0
    assert not (host.home / made / "left-behind").exists()
    assert (await host.says(spec, "beta-say")).text == "beta 0.5\n"


@pytest.mark.e2e
async def test_without_any_conda_the_installer_brings_one_also_after_it_was_cut_short(
    host: CondaHost, make_spec: MakeSpec, tmp_path: Path
) -> None:
    (tmp_path / "install.sh").write_text(INSTALLER)
    stand_in = tmp_path / "root" / "bin" / "conda"
    install_stand_in(stand_in)
    (host.home / "stand-in").write_bytes(stand_in.read_bytes())
    (host.home / "stand-in").chmod(0o755)
    spec = make_spec("alpha", installer_url=f"file://{tmp_path}/install.sh")
    (host.home / "cut-short").touch()
    assert (await host.setup(spec)).code != 0
    (host.home / "cut-short").unlink()
    done = await host.setup(spec)
    assert done.code == 0, done.text
    assert (await host.says(spec, "alpha-say")).text == "alpha 1.0\n"
    gone = make_spec("beta", name="another", installer_url=f"file://{tmp_path}/none.sh")
    assert (await host.setup(gone)).code == 0


@pytest.mark.e2e
async def test_what_passes_by_itself_is_tried_again_and_what_stays_is_not(
    host: CondaHost, make_spec: MakeSpec
) -> None:
    install_stand_in(host.home / "miniforge3" / "bin" / "conda")
    spec = make_spec("gamma")
    missing = await host.setup(spec)
    assert missing.code == 1
    assert missing.text.splitlines()[-1] == "  - gamma"
    half = await host.says(spec, "echo ran")
    assert (half.code, "half made" in half.text, "ran" in half.text) == (78, True, False)
    away = "CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://conda.anaconda.org/x>"
    assert (await host.setup(spec, CONDA_TEST_SAYS=away)).code == 75
    assert (await host.setup(make_spec("alpha"))).code == 0
    assert (await host.says(spec, "alpha-say")).code == 0
    nobody = make_spec("alpha", name="another", installer_url="http://127.0.0.1:9/x.sh")
    (host.home / "miniforge3").rename(host.home / "elsewhere")
    assert (await host.setup(nobody)).code == 75


@pytest.mark.e2e
async def test_environments_that_others_made_are_used_as_they_are(
    host: CondaHost, make_spec: MakeSpec
) -> None:
    theirs = host.home / "anaconda3" / "envs" / "theirs"
    (theirs / "conda-meta").mkdir(parents=True)
    spec = make_spec("alpha", name="theirs")
    done = await host.setup(spec)
    assert (done.code, done.text) == (
        0,
        f"jobman: {theirs} is there already, and used as it is\n",
    )
    assert (await host.setup(make_spec(), "theirs")).code == 0
    missing = await host.setup(make_spec(), "none")
    assert (missing.code, missing.text) == (
        78,
        "jobman: there is no environment none of conda on this host; found: theirs \n",
    )


@pytest.mark.e2e
async def test_activation_is_that_of_conda_and_one_that_fails_is_an_error(
    host: CondaHost, make_spec: MakeSpec
) -> None:
    prefix = host.home / "miniforge3" / "envs" / "my_env"
    scripts = prefix / "etc" / "conda" / "activate.d"
    scripts.mkdir(parents=True)
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "state").write_text(
        '{"env_vars": {"KEPT": "two\\nlines", "TAKEN_BACK": "***unset***"}}'
    )
    (scripts / "a.sh").write_text('export FIRST="$CONDA_PREFIX" SECOND=1\nset -- x\nset -eu\n')
    (scripts / "b.sh").write_text("export SECOND=${SECOND}2\n[ -n '' ]\n")
    (scripts / "c.fish").write_text("exit 1\n")
    spec = make_spec()
    ran = await host.says(spec, 'echo "$FIRST|$SECOND|$KEPT|${TAKEN_BACK-unset}|$#"')
    assert (ran.code, ran.text) == (0, f"{prefix}|12|two\nlines|unset|0\n")
    (scripts / "d.sh").write_text("exit 0\n")
    ran = await host.says(spec, "echo ran")
    assert (ran.code, "d.sh ended the shell instead of activating" in ran.text) == (78, True)
    (scripts / "d.sh").write_text("if then\n")
    ran = await host.says(spec, "echo ran")
    assert (ran.code, "cannot be activated" in ran.text, "ran" in ran.text) == (78, True, False)


@pytest.mark.e2e
async def test_problems_name_what_is_missing(host: CondaHost, make_spec: MakeSpec) -> None:
    install_stand_in(host.home / "miniforge3" / "bin" / "conda")
    spec = make_spec("alpha", "beta>=0.5")
    there, packages = host.environment.problems(spec)

    async def run(script: str | None) -> tuple[int, str]:
        assert script is not None
        told = {"PATH": "/usr/bin:/bin", **host.told}
        done = await host.on.run(Command(("bash", "-c", script), env=told), limit=LIMIT)
        return done.code, (done.stdout + done.stderr).decode()

    assert (await run(there.check))[0] == 78
    assert (await run(there.remedy))[0] == 0
    assert await run(there.check) == (0, "")
    assert await run(packages.check) == (0, "")
    for meta in host.home.glob("miniforge3/envs/my_env/conda-meta/beta*"):
        meta.unlink()
    assert await run(packages.check) == (1, "not installed: beta\n")
