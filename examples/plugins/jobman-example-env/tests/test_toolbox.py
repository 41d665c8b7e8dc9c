"""The toolbox holds to what jobman expects of environments."""

from pathlib import Path

import pytest
from jobman_example_env import Toolbox

from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.environment import Environment
from jobman_core.models.job import JobSpec
from jobman_core.testing.environment_contract import EnvironmentContract
from jobman_core.testing.trial import job_spec


class TestToolbox(EnvironmentContract):
    within = 'test "$(greet)" = hello'

    @pytest.fixture(scope="class")
    @classmethod
    def environment(cls) -> Environment:
        return Toolbox(Context(Path.cwd(), "home-1", SystemClock()))

    @pytest.fixture(scope="class")
    @classmethod
    def spec(cls, tmp_path_factory: pytest.TempPathFactory) -> JobSpec:
        fill = tmp_path_factory.mktemp("here") / "fill.sh"
        fill.write_text("printf '#!/bin/sh\\necho hello\\n' > bin/greet && chmod +x bin/greet\n")
        return job_spec(env_type="toolbox", toolbox={"name": "tools", "fill": str(fill)})
