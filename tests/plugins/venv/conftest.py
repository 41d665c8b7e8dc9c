"""Virtual environments on a host of this machine, and packages for them."""

import ensurepip
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from tests.support.wheels import Index, make_wheel, serve
from uv import find_uv_bin

from jobman_core.builtin.local.host import LocalHost
from jobman_core.clock import SystemClock
from jobman_core.command import Command, Exit
from jobman_core.interfaces.backend import Context
from jobman_core.models.attempt import SCRIPT, LaunchPlan
from jobman_core.models.job import JobSpec
from jobman_core.testing.trial import LIMIT, job_spec, local_hosts, run_program
from jobman_venv import VenvEnvironment

MakeSpec = Callable[..., JobSpec]


@pytest.fixture
def environment(tmp_path: Path) -> VenvEnvironment:
    return VenvEnvironment(Context(tmp_path, "home-1", SystemClock()))


@pytest.fixture
def make_spec(tmp_path: Path) -> MakeSpec:
    """Give a job whose environment is made of these requirements."""

    def make(*lines: str, **section: Any) -> JobSpec:
        if lines:
            file = tmp_path / "requirements.txt"
            file.write_text("".join(f"{line}\n" for line in lines))
            section["requirements_file"] = str(file)
        return job_spec(env_type="venv", venv={"name": "my_venv", **section})

    return make


def fill(wheels: Path) -> Path:
    """Write two versions of ``alpha``, ``beta``, and what uv puts into every environment."""
    wheels.mkdir()
    bundled = Path(ensurepip.__file__).parent / "_bundled"
    for wheel in bundled.glob("pip-*.whl"):
        shutil.copy(wheel, wheels / wheel.name)
    make_wheel(wheels, "setuptools", "99.0")
    make_wheel(wheels, "wheel", "99.0")
    make_wheel(wheels, "alpha", "1.0")
    make_wheel(wheels, "alpha", "2.0")
    make_wheel(wheels, "beta", "0.5", needs="alpha")
    return wheels


def install_uv(home: Path) -> None:
    """Put uv where its own installer does."""
    folder = home / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "uv").symlink_to(find_uv_bin())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """Give an index that has all of these."""
    with serve(fill(tmp_path / "wheels")) as running:
        yield running


@attrs.frozen
class VenvHost:
    """A host that installs from the index of the test alone."""

    on: LocalHost
    environment: VenvEnvironment
    index: Index

    @property
    def home(self) -> Path:
        return self.on.home

    def install_uv(self) -> None:
        install_uv(self.home)

    def commands(self, spec: JobSpec, name: str | None = None, **env: str) -> list[Command]:
        """Give the commands that make an environment, with what its host is set up with."""
        told = {
            # A mirror that this machine is told of is none of the host's.
            "PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_RETRIES": "1",
            "UV_INDEX_URL": self.index.url,
            "UV_HTTP_RETRIES": "0",
            "UV_PYTHON_DOWNLOADS": "never",
            **env,
        }
        found = self.environment.setup(spec, name)
        return [attrs.evolve(command, env={**command.env, **told}) for command in found]

    async def setup(self, spec: JobSpec, name: str | None = None, **env: str) -> Exit:
        """Make an environment, as far as it goes."""
        for command in self.commands(spec, name, **env):
            done = await self.on.run(command, limit=LIMIT)
            if not done.ok:
                break
        return done

    async def says(
        self, spec: JobSpec, script: str, name: str | None = None
    ) -> tuple[int | None, str]:
        """Run a script inside an environment."""
        command = self.environment.wrap(spec, name, Command(("bash", SCRIPT)))
        ran = await run_program(self.on, LaunchPlan(script, command))
        return ran.code, ran.text


@pytest.fixture
def host(tmp_path: Path, environment: VenvEnvironment, index: Index) -> Iterator[VenvHost]:
    with local_hosts(tmp_path / "jobman") as (on,):
        assert isinstance(on, LocalHost)
        yield VenvHost(on, environment, index)
