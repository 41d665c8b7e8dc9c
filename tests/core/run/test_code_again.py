"""A repository that is away for a moment costs no task one of its attempts."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.core.run.scene import Scene

from jobman_core.models.attempt import Attempt
from jobman_core.models.job import QueueMode
from jobman_core.models.task import Repo, TaskSpec
from jobman_core.testing.fakes import FakeCloud, FakeHost

#: A git that meets a name server which is away, for so many calls.
GIT = """\
#!/bin/sh
case " $* " in *" ls-remote "* | *" fetch "*)
    echo call >> {calls}
    if [ $(wc -l < {calls}) -le {away} ]; then
        echo "fatal: unable to access '{url}': Could not resolve host: example.org" >&2
        exit 128
    fi
esac
exec {git} "$@"
"""


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    work = QueueMode("", idle_timeout=30.0)
    async with Scene(tmp_path / "home", work=work) as scene:
        host = FakeHost(0, tmp_path / "host")
        scene.cloud = FakeCloud(scene.cloud.context, hosts=lambda _: [host])
        yield scene


def repository(folder: Path) -> str:
    git = ("git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@y")
    folder.mkdir()
    for arguments in (("init", "--quiet", "-b", "main"), ("commit", "-qm", "x", "--allow-empty")):
        subprocess.run((*git, *arguments), check=True)
    return f"file://{folder}"


def away(monkeypatch: pytest.MonkeyPatch, folder: Path, url: str, calls: int) -> None:
    """Let repositories be out of reach of hosts for so many calls of git."""
    folder.mkdir()
    program = folder / "git"
    real = shutil.which("git")
    program.write_text(GIT.format(calls=folder / "calls", away=calls, url=url, git=real))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


async def attempts(scene: Scene, *tasks: TaskSpec) -> list[Attempt]:
    """Let a worker work through a queue, and give the attempts."""
    scene.tasks = tasks
    scene.queue_file.write_text("with tasks")
    await scene.queues.refresh(scene.queue_file)
    scene.start()
    await scene.over()
    return list(await scene.store.attempts(job=scene.job))


async def test_a_repository_that_is_away_for_a_moment_is_waited_for(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = repository(tmp_path / "code")
    away(monkeypatch, tmp_path / "bin", url, calls=1)
    task = TaskSpec("t", "exit 0", "v4-8", repo=Repo(url, "main"), workdir="code", max_retries=1)
    outcomes = [str(one.outcome and one.outcome.kind) for one in await attempts(scene, task)]
    assert outcomes == ["succeeded"]
    assert sum("example.org" in said and "tries again in 5 s" in said for said in scene.said) == 1


async def test_a_repository_that_stays_away_fails_the_task_once(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = repository(tmp_path / "code")
    away(monkeypatch, tmp_path / "bin", url, calls=99)
    task = TaskSpec("t", "exit 0", "v4-8", repo=Repo(url, "main"), workdir="code", max_retries=1)
    (one,) = await attempts(scene, task)
    assert one.outcome
    assert "Could not resolve host" in one.outcome.detail
    assert sum("tries again in" in said for said in scene.said) == 5


async def test_a_branch_that_is_not_there_is_not_waited_for(scene: Scene, tmp_path: Path) -> None:
    url = repository(tmp_path / "code")
    task = TaskSpec("t", "exit 0", "v4-8", repo=Repo(url, "nope"), workdir="code", max_retries=1)
    (one,) = await attempts(scene, task)
    assert one.outcome
    assert "no branch, tag or commit 'nope'" in one.outcome.detail
    assert not any("tries again in" in said for said in scene.said)
