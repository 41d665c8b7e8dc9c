"""The real gcloud against the emulator; where there is none, what it asked when there was.

Every exchange is pinned in ``golden/gcloud_*.json``: a step a list, by its command line.
JOBMAN_RENEW_GOLDEN=1 writes these files anew.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.emulator.conftest import RUNTIME, ZONE, Rest, wait_until
from tests.plugins.emulator.recorder import compare, pinned, recording, replay

from jobman_emulator.testing import Running

REAL = "the real gcloud"
#: Named in each test's id: it says whether there was a gcloud.
WAYS = (*([REAL] if shutil.which("gcloud") else []), "its pinned requests")
TPU = "compute tpus"
PLACE = f"--zone {ZONE} --quiet"
NODE_OPTIONS = (
    f"--accelerator-type v4-16 --version {RUNTIME} --spot --labels owner=me --metadata greeting=hi"
)
QUEUED_OPTIONS = (
    f"--node-id qn --accelerator-type v4-8 --runtime-version {RUNTIME} --spot "
    "--valid-until-duration 6h"
)

NODE = (
    f"{TPU} tpu-vm create n {PLACE} {NODE_OPTIONS}",
    f"{TPU} tpu-vm list --zone {ZONE} --format json",
    f"{TPU} tpu-vm describe n --zone {ZONE} --format json",
    f"alpha {TPU} tpu-vm describe n --zone {ZONE} --format json",
    f"alpha {TPU} tpu-vm ssh n {PLACE} --worker 1 --dry-run",
    f"{TPU} tpu-vm delete n {PLACE}",
    f"{TPU} tpu-vm describe n --zone {ZONE} --format json",
)
QUEUED = (
    f"{TPU} queued-resources create q {PLACE} {QUEUED_OPTIONS}",
    f"{TPU} queued-resources list --zone {ZONE} --format json",
    f"{TPU} queued-resources describe q --zone {ZONE} --format json",
    f"{TPU} queued-resources delete q {PLACE}",
    f"{TPU} queued-resources delete q {PLACE} --force",
    f"{TPU} queued-resources list --zone {ZONE} --format json",
)


class Gcloud:
    """Runs command lines, for real or out of the pinned files, and keeps the exchanges."""

    def __init__(self, emulator: Running, folder: Path, *, real: bool) -> None:
        self.emulator = emulator
        self.rest = Rest(emulator.rest)
        self.real = real
        self._folder = folder

    def run(self, name: str, steps: tuple[str, ...]) -> dict[str, subprocess.CompletedProcess[str]]:
        """Carry out steps; what they exchange must be what is pinned. Give what gcloud said."""
        told: dict[str, subprocess.CompletedProcess[str]] = {}
        found: list[dict[str, Any]] = []
        if self.real:
            with recording(self.emulator.rest) as (address, recorder):
                for step in steps:
                    # A step may come twice, with another end.
                    told[f"{len(found)}: {step}"] = self._call(step, address)
                    found.append({"step": step, "exchanges": recorder.take()})
                    self._settle()
        else:
            for kept in pinned(f"gcloud_{name}"):
                exchanges = replay(self.rest, kept["exchanges"], self._settle)
                found.append({**kept, "exchanges": exchanges})
        compare(f"gcloud_{name}", found)
        return told

    def _settle(self) -> None:
        """Wait until nothing changes by itself."""
        rest = {"READY", "ACTIVE"}
        wait_until(lambda: set(self.emulator.resources().values()) <= rest, "nothing changes")

    def _call(self, step: str, address: str) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            **redirected(self.emulator.env(self._folder / "gcloud"), self.emulator.rest, address),
            "HOME": str(self._folder),
            "USER": "me",
        }
        return subprocess.run(
            ["gcloud", *step.split()],
            env=env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def redirected(env: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    return {name: value.replace(old, new) for name, value in env.items()}


@pytest.fixture(params=WAYS)
def gcloud(emulator: Running, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Gcloud]:
    yield Gcloud(emulator, tmp_path, real=request.param == REAL)
    assert emulator.counts().empty


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_gcloud_creates_lists_describes_reaches_and_deletes_a_node(gcloud: Gcloud) -> None:
    told = gcloud.run("node", NODE)
    if told:
        create, listed, describe, alpha, ssh, delete, absent = told.values()
        assert [done.returncode for done in told.values()] == [0] * 6 + [1], told
        assert "Created tpu [n]." in create.stderr
        (node,) = json.loads(listed.stdout)
        assert node == json.loads(describe.stdout)
        assert node["state"] == "READY"
        assert json.loads(alpha.stdout)["apiVersion"] == "V2_ALPHA1"
        assert f"me@{node['networkEndpoints'][1]['accessConfig']['externalIp']}" in ssh.stdout
        assert "Deleted tpu [n]." in delete.stderr
        assert f"'{node['name']}' was not found" in absent.stderr


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_gcloud_creates_lists_describes_and_deletes_a_queued_resource(gcloud: Gcloud) -> None:
    told = gcloud.run("queued_resource", QUEUED)
    if told:
        create, listed, describe, refused, delete, empty = told.values()
        codes = [done.returncode for done in told.values()]
        assert codes == [0, 0, 0, 1, 0, 0], told
        assert "Created queued_resource [q]." in create.stderr
        assert json.loads(listed.stdout) == [json.loads(describe.stdout)]
        assert json.loads(describe.stdout)["state"]["state"] == "ACTIVE"
        assert "use force" in refused.stderr
        assert "Deleted queued_resource [q]." in delete.stderr
        assert json.loads(empty.stdout) == []
