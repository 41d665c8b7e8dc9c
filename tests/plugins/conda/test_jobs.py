"""Whole jobs whose tasks run in environments of conda."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.plugins.conda.conftest import channel, install_stand_in
from tests.support.lab import Lab

pytestmark = pytest.mark.e2e

TASKS = """
accelerators:
  v4-8:
    tasks:
      - id: ours
        env: mine
        run: |
          say() { printf '%s|' "$@"; }
          say "it's" 'a "b"' "$CONDA_DEFAULT_ENV"
          alpha-say
      - id: nobodys
        env: none
        depends_on: ours
        max_retries: 1
        run: |
          echo it ran
          true
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Give a home; at the end nothing of it may run."""
    with closing(Lab(tmp_path / "lab")) as lab:
        yield lab


def test_tasks_of_a_queue_run_in_the_environment_that_was_made_or_not_at_all(
    lab: Lab, tmp_path: Path
) -> None:
    """In Jobman v3 it was made in one folder and looked for in another, and then done without."""
    conda = tmp_path / "tools/mambaforge/bin/conda"
    install_stand_in(conda)
    lab.env["PATH"] = f"{conda.parent}:{lab.env['PATH']}"
    (told,) = channel(tmp_path / "channel").items()
    lab.write("assets/environment.yml", "name: theirs\ndependencies: [alpha]\n")
    lab.sections = "conda: {name: mine, config_file: assets/environment.yml}"
    lab.write("tasks.yaml", TASKS)
    extra = f"env_type: conda\nenvironment: {{{told[0]}: {told[1]}}}\n"
    job = lab.create(lab.job("worker", queue="tasks.yaml", extra=extra))
    lab.until("the tasks", lambda: lab.task("nobodys")["status"] == "FAILED")

    assert said(lab, "ours") == 'it\'s|a "b"|mine|alpha 1.0\n'
    refused = said(lab, "nobodys")
    assert "there is no environment none of conda on this host; found: mine" in refused
    assert "it ran" not in refused
    log = lab.root / f"jobs/ada/{job}/logs/conda_worker_0.log"
    assert log.read_text().endswith("/mambaforge/envs/mine is ready\n")


def said(lab: Lab, task: str) -> str:
    """Give the output of a task on host 0."""
    (log,) = lab.root.glob(f"jobs/tasks/{task}/run_001_*_worker_0.log")
    return log.read_text()
