"""The local cloud passes the contracts of clouds, hosts and runners."""

from collections.abc import Sequence

import pytest
from tests.core.local.conftest import LocalSlice, MakeCloud

from jobman_core.interfaces.cloud import Cloud
from jobman_core.interfaces.host import Host
from jobman_core.testing.cloud_contract import CloudContract
from jobman_core.testing.host_contract import HostContract
from jobman_core.testing.runner_contract import ShellRunnerContract


class TestLocalCloud(CloudContract):
    @pytest.fixture
    def cloud(self, make_cloud: MakeCloud) -> Cloud:
        return make_cloud(capacity={"tight": 1})


class TestLocalHost(HostContract):
    @pytest.fixture
    def host(self, local: LocalSlice) -> Host:
        return local.hosts[0]


@pytest.mark.e2e
class TestAgentOnLocalHosts(ShellRunnerContract):
    @pytest.fixture
    def hosts(self, local: LocalSlice) -> Sequence[Host]:
        return local.hosts
