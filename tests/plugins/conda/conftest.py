"""Environments of conda on a host of this machine, made by what stands for conda."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from jobman_conda import CondaEnvironment
from jobman_core.builtin.local.host import LocalHost
from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.interfaces.backend import Context
from jobman_core.models.attempt import SCRIPT, LaunchPlan
from jobman_core.models.job import JobSpec
from jobman_core.testing.trial import Ran, job_spec, local_hosts, run_program, run_step

MakeSpec = Callable[..., JobSpec]
#: What there is to install.
CHANNEL = {"alpha": "1.0", "beta": "0.5", "python": "3.12"}
_STAND_IN = Path(__file__).parents[2] / "support" / "conda_stand_in.py"


def install_stand_in(path: Path) -> None:
    """Put what stands for conda where a host may have it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {shlex.join((sys.executable, str(_STAND_IN)))} "$@"\n')
    path.chmod(0o755)
    if path.name != "micromamba":
        (path.parents[1] / "conda-meta").mkdir(exist_ok=True)


def channel(folder: Path) -> Mapping[str, str]:
    """Write what there is to install; give what tells the stand-in."""
    folder.mkdir()
    for name, version in CHANNEL.items():
        (folder / name).write_text(version)
    return {"CONDA_TEST_CHANNEL": str(folder)}


@pytest.fixture
def environment(tmp_path: Path) -> CondaEnvironment:
    return CondaEnvironment(Context(tmp_path, "home-1", SystemClock()))


@pytest.fixture
def make_spec(tmp_path: Path) -> MakeSpec:
    """Give a job whose environment has these packages."""

    def make(*packages: str, **section: Any) -> JobSpec:
        if packages:
            file = tmp_path / "environment.yml"
            lines = "".join(f"  - {package}\n" for package in packages)
            file.write_text(f"name: theirs\nprefix: /nowhere\ndependencies:\n{lines}")
            section["config_file"] = str(file)
        return job_spec(env_type="conda", conda={"name": "my_env", **section})

    return make


@attrs.frozen
class CondaHost:
    """A host that has nothing but the channel of the test."""

    on: LocalHost
    environment: CondaEnvironment
    told: Mapping[str, str]

    @property
    def home(self) -> Path:
        return self.on.home

    async def setup(self, spec: JobSpec, name: str | None = None, **env: str) -> Ran:
        """Make an environment, as far as it goes."""
        (command,) = self.environment.setup(spec, name)
        env = {"PATH": "/usr/bin:/bin", **self.told, **env}
        return await run_step(self.on, attrs.evolve(command, env={**command.env, **env}))

    async def says(self, spec: JobSpec, script: str, name: str | None = None) -> Ran:
        """Run a script inside an environment."""
        command = self.environment.wrap(spec, name, Command(("bash", SCRIPT)))
        return await run_program(self.on, LaunchPlan(script, command))


@pytest.fixture
def host(tmp_path: Path, environment: CondaEnvironment) -> Iterator[CondaHost]:
    with local_hosts(tmp_path / "jobman") as (on,):
        assert isinstance(on, LocalHost)
        yield CondaHost(on, environment, channel(tmp_path / "channel"))
