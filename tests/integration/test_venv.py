"""Tasks in virtual environments, as a person has them."""

from pathlib import Path

import pytest
from tests.support.lab import Lab
from tests.support.wheels import make_wheel, serve

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

SECTION = """
venv:
  name: my_venv
  requirements_file: assets/requirements.txt
  python: python3
"""
PREFIX = """
env_type: venv
prefix:
  - name: by-hand
    run: python3 -m venv --without-pip ~/by-hand
"""
TASKS = """
defaults: {max_retries: 1}
accelerators:
  v4-8:
    tasks:
      - id: ours
        env: my_venv
        run: |
          python -c 'import alpha; print("alpha", alpha.VERSION)'
          beta-say | cat
      - id: theirs
        env: by-hand
        depends_on: ours
        run: echo "in $VIRTUAL_ENV"
      - id: nobodys
        env: none
        depends_on: theirs
        run: echo it ran
"""


def test_tasks_run_in_the_environments_that_they_name(lab: Lab) -> None:
    wheels = lab.root / "wheels"
    for name, version in (("alpha", "1.0"), ("alpha", "2.0"), ("beta", "0.5")):
        make_wheel(wheels, name, version)
    lab.write("assets/pins.txt", "alpha<2\n")
    lab.write("tasks.yaml", TASKS)
    lab.sections += SECTION
    with serve(wheels) as index:
        needs = f"-i {index.url}\n--prefer-binary\n-c pins.txt\nalpha\nbeta  # both\n"
        lab.write("assets/requirements.txt", needs)
        job = lab.create(lab.job("worker", queue="tasks.yaml", extra=PREFIX))
        lab.until("the tasks", lambda: lab.task("nobodys")["status"] == "FAILED", 120)
        (log,) = lab.root.glob(f"jobs/*/{job}/logs/venv_worker_0.log")
        assert "Successfully installed alpha-1.0 beta-0.5" in log.read_text()

        # What is edited is there from the next start on, on the slice that there is.
        lab.write("assets/pins.txt", "alpha==2.0\n")
        lab.run("reboot", job)
        lab.run("queue", "--reset", "ours")
        lab.until_output("jobs/tasks/ours/run_002_*_worker_0.log", "alpha 2.0")
        assert len(lab.slices()) == 1

    assert said(lab, "ours") == "alpha 1.0\nbeta 0.5\n"
    assert said(lab, "theirs").endswith("/by-hand\n")
    assert lab.task("theirs")["status"] == "DONE"
    refused = said(lab, "nobodys")
    assert "there is no environment none on this host" in refused
    assert "found: by-hand my_venv" in refused
    assert "it ran" not in refused


def said(lab: Lab, task: str) -> str:
    """Give the output of a task on host 0."""
    (log,) = Path(lab.root, "jobs/tasks", task).glob("run_001_*_worker_0.log")
    return log.read_text()
