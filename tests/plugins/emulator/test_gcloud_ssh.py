"""The real gcloud enters hosts of the emulator; where there is none, test_slices.py stands in.

Its requests are pinned by test_gcloud.py; what it asks of the hosts is a key in new metadata.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plugins.emulator.conftest import RUNTIME, ZONE
from tests.support.machines import Client

from jobman_emulator.netns_hosts import NetnsHosts
from jobman_emulator.testing import Running, running

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.timeout(300)]

TPU_VM = ("compute", "tpus", "tpu-vm")
PLACE = ("--zone", ZONE, "--quiet")


@pytest.fixture
def emulator() -> Iterator[Running]:
    with running(NetnsHosts) as emulator:
        yield emulator


if shutil.which("gcloud"):

    def test_gcloud_runs_a_command_on_each_host_and_copies_files(
        emulator: Running, tmp_path: Path
    ) -> None:
        # Made here: gcloud would show how it makes one.
        key = ("--ssh-key-file", str(Client.new(tmp_path / "client", 22).folder / "id"))
        env = {**os.environ, **emulator.env(tmp_path / "gcloud"), "HOME": str(tmp_path)}

        def gcloud(*arguments: str) -> str:
            done = subprocess.run(
                ["gcloud", *TPU_VM, *arguments, *PLACE],
                env=env,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return done.stdout

        gcloud("create", "n", "--accelerator-type", "v4-16", "--version", RUNTIME)
        said = gcloud("ssh", "me@n", *key, "--worker", "all", "--command", "whoami; hostname")
        assert sorted(said.split()) == ["me", "me", "n-w-0", "n-w-1"]
        (tmp_path / "letter").write_text("hello\n")
        gcloud("scp", *key, "--worker", "1", str(tmp_path / "letter"), "me@n:letter")
        assert gcloud("ssh", "me@n", *key, "--worker", "1", "--command", "cat letter") == "hello\n"
        assert json.loads(gcloud("describe", "n", "--format", "json"))["state"] == "READY"
        gcloud("delete", "n")
        assert emulator.counts().empty
