"""The agent on plain hosts, where nothing but the shell looks after processes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jobman_core.interfaces.host import Host, HostFacts
from jobman_core.testing.fakes import FakeHost
from jobman_core.testing.runner_contract import ShellRunnerContract


class TestAgentOnPlainHosts(ShellRunnerContract):
    @pytest.fixture
    def hosts(self, tmp_path: Path) -> Iterator[Sequence[Host]]:
        return [FakeHost(index, tmp_path / str(index)) for index in (0, 1)]


class TestAgentOnMachinesOfTheirOwn(ShellRunnerContract):
    @pytest.fixture
    def hosts(self, tmp_path: Path) -> Sequence[Host]:
        facts = HostFacts(
            own_machine=True,
            devices=(str(tmp_path / "dev" / "accel*"),),
            device_lock=str(tmp_path / "lockfile"),
        )
        return [FakeHost(index, tmp_path / str(index), facts=facts) for index in (0, 1)]
