"""A home with fake backends, and the two files that the first manual shows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import asyncssh
import attrs
import pytest
from tests.core.config.schemas import complaints

from jobman_core import hookimpl
from jobman_core.command import Command
from jobman_core.config.job import JobFile, parse_job
from jobman_core.config.schema import job_schema
from jobman_core.config.surroundings import Surroundings
from jobman_core.errors import ConfigError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Problem
from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.session import Session
from jobman_core.interfaces.storage import Storage
from jobman_core.models.job import JobSpec
from jobman_core.models.slice import SliceRequest
from jobman_core.plugins import Plugins
from jobman_core.testing.fake_session import FakeSession
from jobman_core.testing.fakes import FakeCloud


class Gcp(FakeCloud):
    name = "gcp"

    def check(self, request: SliceRequest) -> Iterable[Problem]:
        if request.zone == "nowhere":
            yield Problem("zone", "there is no such zone: write one like us-central1-b")


class Local(FakeCloud):
    name = "local"
    default_zone: ClassVar[str | None] = "local"


@attrs.frozen
class PodConfig:
    namespace: str
    color: Literal["red", "blue"] = "red"
    limits: dict[str, int] = attrs.field(factory=dict)
    key_file: Path | None = None


class Pods(FakeCloud):
    """A third party's cloud, with a shape of its own for the rest of the section."""

    name = "pods"
    Config = PodConfig


@attrs.frozen
class NixConfig:
    flake: str
    lock: Path | None = None


class Nix(Environment):
    """A third party's environment."""

    name = "nix"
    Config = NixConfig

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        return ()

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        return command


class Process(FakeSession):
    name = "process"


class Tmux(FakeSession):
    name = "tmux"

    def missing(self) -> str | None:
        return "tmux is not on this machine: install it"


class Venv(Environment):
    name = "venv"

    def check(self, spec: JobSpec) -> Iterable[Problem]:
        if spec.sections["venv"].get("python") == "python2":
            yield Problem("python", "Python 2 is gone: use python3")

    def setup(self, spec: JobSpec, name: str | None) -> Sequence[Command]:
        return ()

    def wrap(self, spec: JobSpec, name: str | None, command: Command) -> Command:
        return command


class Gcsfuse(Storage):
    name = "gcsfuse"

    def mount(self, spec: JobSpec) -> Sequence[Command]:
        return ()

    def unmount(self, spec: JobSpec) -> Sequence[Command]:
        return ()


class Backends:
    """A plugin that brings all of these."""

    @hookimpl
    def jobman_clouds(self) -> Sequence[type[Cloud]]:
        return (Gcp, Local, Pods)

    @hookimpl
    def jobman_sessions(self) -> Sequence[type[Session]]:
        return (Process, Tmux)

    @hookimpl
    def jobman_environments(self) -> Sequence[type[Environment]]:
        return (Venv, Nix)

    @hookimpl
    def jobman_storages(self) -> Sequence[type[Storage]]:
        return (Gcsfuse,)


class OnlyLocal:
    """What there is with nothing installed."""

    @hookimpl
    def jobman_clouds(self) -> Sequence[type[Cloud]]:
        return (Local,)

    @hookimpl
    def jobman_sessions(self) -> Sequence[type[Session]]:
        return (Process,)


#: Switches off what else may be installed where the tests run.
OTHERS = "tmux,screen,gcp,venv,conda,docker,gcsfuse"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def around(home: Path) -> Surroundings:
    """Everything is installed, and the variable RUNNER is set."""
    plugins = Plugins(lambda: {"backends": Backends()}, disabled=OTHERS)
    return Surroundings(Home(home), plugins, environ={"RUNNER": "ann", "EMPTY": "", "N": "5"})


@pytest.fixture
def bare(home: Path) -> Surroundings:
    """Nothing is installed but the built-ins."""
    plugins = Plugins(lambda: {"local": OnlyLocal()}, disabled=OTHERS)
    return Surroundings(Home(home), plugins, environ={})


Parse = Callable[..., JobFile]


@pytest.fixture
def parse(home: Path, around: Surroundings) -> Parse:
    """Read the text of a job file that lies in the home."""

    def parse(text: str, environ: Mapping[str, str] | None = None) -> JobFile:
        with_environ = around if environ is None else attrs.evolve(around, environ=environ)
        file = parse_job(text, home / "job.yaml", with_environ)
        assert complaints(job_schema(around), text) == []
        return file

    return parse


Faults = Callable[..., list[str]]


@pytest.fixture
def faults(parse: Parse, home: Path) -> Faults:
    """Give the faults of a job file, as ``line:column: key: message``."""

    def faults(text: str, **options: Mapping[str, str]) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            parse(text, **options)
        return [str(fault).removeprefix(f"{home}/job.yaml:") for fault in caught.value.faults]

    return faults


#: The worker file of the first manual: its keys and values.
WORKER = """\
job:
  name: myproject-qw-${tpu.accelerator}  # the suffix comes on top
  env_type: venv
  loop: true
  remote_user: your_username

  # what every task sees
  environment:
    BUCKET_NAME: ${gcsfuse.bucket_name}
    TPU_PREFIX: ${tpu.name}

  queue:
    enabled: true
    config: queue_machines/tasks.yaml

    prefix:
      - name: "gcloud-setup"
        workers: 0              # the first host alone
        run: |
          echo "Setting up gcloud..."
          gcloud config set project my-project
          gcloud config set compute/zone ${tpu.zone}

tpu:
  allocation_mode: "queued-resources"
  accelerator: v6e-64
  name: myproject-qw-${tpu.accelerator}
  zone: us-central1-b
  version: v2-alpha-tpuv6e
  pricing: spot
  tags: ["jobman", "queue-worker"]

gcsfuse:
  bucket_name: my-bucket
  mount_path: /home/username/gcs

ssh:
  private_key: ~/.ssh/my_key
  identities:
    - private_key: ~/.ssh/my_key
      public_key: ~/.ssh/my_key.pub
      config_entry: |
        Host 10.* 34.* 35.*
          IdentityFile ~/.ssh/my_key
          IdentitiesOnly yes

venv:
  name: my_venv
  requirements_file: assets/requirements.txt
  python: "python3.10"
"""

#: The tasks file of the first manual: its keys and values.
TASKS = """\
repos:
  myrepo: https://github.com/username/repo

defaults:
  env: my_venv
  repo: myrepo
  branch: main
  workdir: myrepo
  zone: us-central1-b
  max_jobs: 1
  max_retries: 3

accelerators:
  v6e-64:
    # env: different_env
    tasks:
      - id: train-model-seed42
        run: bash train/run_seed42.sh

      - id: train-model-seed43
        run: bash train/run_seed43.sh

      - id: eval-model-seed42
        run: bash eval/run_eval.sh
        depends_on: train-model-seed42  # after the training

  v6e-128:
    tasks:
      - id: train-large-model
        run: bash train/run_large.sh
        max_jobs: 2
        zone: us-east5-b
"""


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the home folder of whoever calls jobman, with the key pair of the worker file."""
    person = tmp_path / "person"
    (person / ".ssh").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(person))
    key = asyncssh.generate_private_key("ssh-ed25519")
    key.write_private_key(person / ".ssh/my_key")
    key.write_public_key(person / ".ssh/my_key.pub")
    return person


@pytest.fixture
def worker(home: Path, person: Path) -> Path:
    """The worker file and its tasks file, in their usual places."""
    folder = home / "queue_machines"
    folder.mkdir()
    (folder / "tasks.yaml").write_text(TASKS)
    path = folder / "worker_v6e64.yaml"
    path.write_text(WORKER)
    return path


@pytest.fixture
def tasks_text() -> str:
    return TASKS


@pytest.fixture
def worker_text() -> str:
    return WORKER
