"""The fake environment and the fake storage pass the contracts, on real local hosts as well."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.environment import Environment
from jobman_core.interfaces.host import Host
from jobman_core.interfaces.storage import Storage
from jobman_core.models.job import JobSpec
from jobman_core.testing.environment_contract import EnvironmentContract
from jobman_core.testing.fake_environment import FakeEnvironment
from jobman_core.testing.fake_storage import FakeStorage
from jobman_core.testing.storage_contract import StorageContract
from jobman_core.testing.trial import job_spec, local_hosts


class TestFakeEnvironment(EnvironmentContract):
    within = 'test "$FAKE_ENVIRONMENT" = "it\'s mine"'

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls) -> Environment:
        return FakeEnvironment(Context(Path("/nowhere"), "home-1", SystemClock()))

    @pytest.fixture(scope="class")
    @classmethod
    def spec(cls) -> JobSpec:
        return job_spec(env_type="fake", fake={"name": "it's mine"})


@pytest.mark.e2e
class TestFakeEnvironmentOnALocalHost(TestFakeEnvironment):
    @pytest.fixture(scope="class")
    @classmethod
    def host(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
        with local_hosts(tmp_path_factory.mktemp("local")) as hosts:
            yield hosts[0]


class TestFakeStorage(StorageContract):
    folder = "data"

    @pytest.fixture
    def storage(self) -> Storage:
        return FakeStorage(Context(Path("/nowhere"), "home-1", SystemClock()))

    @pytest.fixture
    def spec(self, tmp_path: Path) -> JobSpec:
        bucket = tmp_path / "a bucket"
        bucket.mkdir()
        return job_spec(fake={"bucket": str(bucket), "mount_path": self.folder})


@pytest.mark.e2e
class TestFakeStorageOnALocalHost(TestFakeStorage):
    @pytest.fixture
    def host(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
        with local_hosts(tmp_path_factory.mktemp("local")) as hosts:
            yield hosts[0]
