"""The environment docker does what every environment must."""

from collections.abc import Iterator

import pytest
from tests.plugins.docker.machine import Machine, job

from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import Host
from jobman_core.models.job import JobSpec
from jobman_core.testing.environment_contract import EnvironmentContract
from jobman_core.testing.fakes import FakeHost
from jobman_docker import DockerEnvironment

pytestmark = pytest.mark.e2e


class TestDockerEnvironment(EnvironmentContract):
    within = '[ "${IN_CONTAINER-}" = 1 ]'
    # A plain name is no image, and passed over.
    absent = "registry.example/no-such:1"

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls, tmp_path_factory: pytest.TempPathFactory) -> Environment:
        return DockerEnvironment(Context(tmp_path_factory.mktemp("lab"), "home", SystemClock()))

    @pytest.fixture(scope="class")
    @classmethod
    def spec(cls) -> JobSpec:
        return job()

    @pytest.fixture(scope="class")
    @classmethod
    def host(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
        root = tmp_path_factory.mktemp("host")
        machine = Machine(root)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", machine.path)
            yield FakeHost(0, root / "it's a home")
        assert machine.containers() == []
