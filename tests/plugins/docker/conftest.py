"""What tests of the environment docker start from."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plugins.docker.machine import Machine

from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_docker import DockerEnvironment


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    one = Machine(tmp_path)
    yield one
    left = one.pids()
    for pid in left:
        os.killpg(pid, signal.SIGKILL)


@pytest.fixture
def docker(tmp_path: Path) -> DockerEnvironment:
    return DockerEnvironment(Context(tmp_path, "home", SystemClock()))
