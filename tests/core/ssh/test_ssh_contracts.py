"""Hosts behind a real sshd pass the contracts of hosts and runners."""

from collections.abc import Sequence

import pytest
from tests.core.ssh.conftest import Scene

from jobman_core.interfaces.host import Host
from jobman_core.testing.host_contract import HostContract
from jobman_core.testing.runner_contract import ShellRunnerContract

pytestmark = pytest.mark.e2e


class TestSshHost(HostContract):
    @pytest.fixture
    def host(self, scene: Scene) -> Host:
        return scene.hosts()[0]


class TestAgentOnSshHosts(ShellRunnerContract):
    @pytest.fixture
    def hosts(self, scene: Scene) -> Sequence[Host]:
        return scene.hosts()
