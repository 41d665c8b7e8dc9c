"""Whole jobs whose programs run in containers."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import attrs
import pytest
from tests.core.run.scene import Scene
from tests.plugins.docker.machine import Machine, job
from tests.support.lab import Lab

from jobman_core.interfaces.store import Note
from jobman_core.models.job import CommandMode, Desired
from jobman_core.testing.fakes import FakeCloud, FakeHost
from jobman_core.testing.session_contract import eventually
from jobman_docker import DockerEnvironment

pytestmark = pytest.mark.e2e


@pytest.fixture
def lab(tmp_path: Path, machine: Machine) -> Iterator[Lab]:
    """Give a home on a machine with docker; at the end nothing of it may run."""
    with closing(Lab(tmp_path / "lab")) as lab:
        lab.env["PATH"] = machine.path
        yield lab


def test_a_job_file_of_v3_runs_in_a_container(lab: Lab, machine: Machine) -> None:
    lab.sections = """\
docker:
  image: python:3.11
  env_vars: ["GREETING=it's me"]
  flags: ["--shm-size=16g"]
conda:
  name: unused
"""
    config = lab.job(cmd='echo "$GREETING on $JOBMAN_WORKER_ID"', extra="env_type: docker")
    created = lab.create(config)
    lab.until_status(created, "DONE")
    log = lab.root / f"jobs/ada/{created}/logs/command_run_001_worker_0.log"
    assert log.read_text() == "it's me on 0\n"
    assert machine.calls("pull") == [["pull", "python:3.11"]]
    assert machine.containers() == []


def test_tasks_of_a_queue_run_in_containers_too(lab: Lab, machine: Machine) -> None:
    """Jobman v3 had them run outside, without a word."""
    lab.sections = "docker:\n  image: python:3.11\n"
    lab.write(
        "tasks.yaml",
        """
        defaults: {env: my_venv}
        accelerators:
          v4-8:
            tasks:
              - {id: ours, run: 'echo "in ${IN_CONTAINER-none}"'}
              - {id: other, env: "jax:2", run: "exit 3", max_retries: 1}
        """,
    )
    lab.create(lab.job("worker", queue="tasks.yaml", extra="env_type: docker"))
    lab.until("the tasks", lambda: lab.task("other")["status"] == "FAILED")
    (log,) = lab.root.glob("jobs/tasks/ours/run_001_*_worker_0.log")
    assert log.read_text().splitlines() == [
        "[jobman: env 'my_venv' names no image: runs in python:3.11]",
        "in 1",
    ]
    assert machine.calls("pull") == [["pull", "python:3.11"], ["pull", "jax:2"]]
    assert lab.task("other")["attempts"][0]["exit_code"] == 3
    assert machine.containers() == []


def test_a_section_that_docker_would_refuse_creates_nothing(lab: Lab) -> None:
    lab.sections = "docker:\n  image: python:3.11\n  flags: ['--name=mine']\n"
    said = lab.run("create", lab.job(extra="env_type: docker"), code=2)
    assert "docker.flags: --name cannot be had" in said.err


@pytest.mark.parametrize("how", ["its wrapper is killed", "it is stopped"])
async def test_no_container_outlives_its_attempt(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("PATH", machine.path)
    async with Scene(tmp_path / "lab") as scene:
        host = FakeHost(0, tmp_path / "host")
        scene.cloud = FakeCloud(scene.cloud.context, hosts=lambda _: [host])
        scene.environment = DockerEnvironment(scene.cloud.context)
        command = CommandMode(
            "trap 'echo told; exit 9' TERM; touch ~/here; while :; do sleep 0.1; done"
        )
        scene.spec = attrs.evolve(job(), work=command, candidates=scene.spec.candidates)
        scene.start()
        await scene.until(lambda: (host.home / "here").exists() and machine.pids())
        (container,) = machine.pids()
        (token,) = [attempt.token for attempt in (await scene.record()).attempts]
        if how == "it is stopped":
            note = Note("job.stopped", "stops")
            await scene.store.set_desired(scene.job, Desired.STOPPED, note)
        else:
            wrapper = host.home / ".jobman/attempts" / token / "pid"
            text = await asyncio.to_thread(wrapper.read_text)
            os.kill(int(text.split()[0]), signal.SIGKILL)
        await scene.over()
        assert machine.containers() == []
        await eventually(lambda: not Path(f"/proc/{container}").exists(), "its program is gone")
        ((kind, _),) = await scene.outcomes()
        if how == "it is stopped":
            log = scene.home.command_log("ada", scene.job, 1, 0).read_text()
            assert (kind, log.count("told")) == ("interrupted", 1)
        else:
            assert kind == "failed"
