"""The example of ``docs/plugins.md``, as its author gets it: in an environment of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
import uv
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/plugins/jobman-example-env"
PACKAGES = (ROOT / "packages/core", ROOT / "packages/cli", EXAMPLE)

JOB = """
job: {name: hello, env_type: toolbox, session: process}
tpu: {cloud: local, accelerator: v4-16, zone: here}
toolbox: {name: tools, fill: fill.sh}
command: {cmd: greet "$JOBMAN_WORKER_ID"}
"""


def _run(*argv: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        [*map(str, argv)], cwd=cwd, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done
    return done.stdout


def test_a_plugin_of_somebody_else_is_built_installed_tested_and_used_by_a_job(
    lab: Lab, tmp_path: Path
) -> None:
    tool, env = uv.find_uv_bin(), tmp_path / "env"
    lab.python = str(env / "bin/python")
    wheels = tmp_path / "wheels"
    for package in PACKAGES:
        _run(tool, "build", "-q", "--wheel", "--no-config", "-o", wheels, package, cwd=tmp_path)
    _run(tool, "venv", "-q", "--python", sys.executable, env, cwd=tmp_path)
    install = (tool, "pip", "install", "-q", "--no-config", "--python", lab.python)
    _run(*install, "pytest", "pytest-asyncio", *wheels.glob("*.whl"), cwd=tmp_path)

    (row,) = [row for row in lab.json("plugins") if row["name"] == "toolbox"]
    assert row == {
        "kind": "environment",
        "name": "toolbox",
        "distribution": "jobman-example-env",
        "version": "1.0",
        "error": None,
    }
    lab.write("fill.sh", "printf '#!/bin/sh\\necho hello $1\\n' > bin/greet; chmod +x bin/greet")
    job = lab.create(lab.write("job.yaml", JOB))
    lab.until_status(job, "DONE")
    assert lab.run("logs", job, "--worker", "1").out == "hello 1\n"
    # Its own keys are checked as the core's are.
    bad = lab.write("bad.yaml", JOB.replace("name: tools, fill", "name: a/b, fil"))
    said = lab.run("create", bad, code=2).err
    assert "toolbox.fil: unknown key 'fil' (did you mean 'fill'?)" in said
    bad = lab.write("bad.yaml", JOB.replace("name: tools", "name: a/b"))
    assert "4:17: toolbox.name: it must be a plain name" in lab.run("create", bad, code=2).err

    said = _run(lab.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE, cwd=EXAMPLE)
    assert " passed" in said
