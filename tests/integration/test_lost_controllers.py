"""Programs whose controllers are gone: they run on, shown as such, until someone takes them up."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.lab import Lab
from tests.support.mortal import Mortal, Way

from jobman_core.app import App
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Store
from jobman_core.process import ProcessIdentity

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]


def _alive(pid: str) -> bool:
    return os.path.exists(f"/proc/{pid}")  # noqa: PTH110 - a question to the kernel


def _process(lab: Lab, task: str) -> str:
    log = lab.until_output(f"jobs/tasks/{task}/run_001_*.log", "process")
    return log.read_text().split()[1]


def test_what_runs_without_a_controller_says_so_and_only_its_owner_can_release_it(
    lab: Lab,
) -> None:
    entries = "".join(
        f"      - {{id: {task}, run: 'echo process $$; exec sleep 600'}}\n" for task in "ab"
    )
    lab.write("tasks.yaml", f"accelerators:\n  v4-8:\n    tasks:\n{entries}")
    config = lab.job("worker", queue="tasks.yaml", loop="true")
    first, second = lab.create(config), lab.create(config)
    programs = {task: _process(lab, task) for task in "ab"}
    jobs = {task: lab.task(task)["running"][0] for task in "ab"}
    assert sorted(jobs.values()) == [first, second]
    lab.kill_controller(jobs["a"])

    lost = f"no controller: `jobman resume {jobs['a']}` starts one"
    for view in (lab.json("show", jobs["a"]), *lab.json("list")):
        assert view["status"] == "RUNNING"
        assert (lost in view["reason"]) is (view["id"] == jobs["a"])
    for task in lab.json("queue", "tasks.yaml")["tasks"]:
        assert task["status"] == "RUNNING"
        said = f"job {jobs['a']} has no controller" in task["reason"]
        assert said is (task["id"] == "a")

    lab.env["USER"] = "bob"
    refused = lab.run("queue", "--cleanup", code=4)
    assert refused.out == ""
    assert refused.err.startswith(f"error: job {jobs['a']} belongs to ada")
    assert _alive(programs["a"])
    assert lab.task("a")["attempts"][0]["outcome"] is None

    lab.env["USER"] = "ada"
    assert f"job {jobs['a']}: released a" in lab.run("queue", "--cleanup").out
    assert not _alive(programs["a"])
    (attempt,) = lab.task("a")["attempts"]
    assert attempt["outcome"] == "interrupted"
    assert lab.task("a")["status"] == "PENDING"
    # Nobody touches what has a controller.
    assert _alive(programs["b"])
    assert [a["outcome"] for a in lab.task("b")["attempts"]] == [None]
    assert "nothing was left" in lab.run("queue", "--cleanup").out
    lab.run("resume", "--all")
    lab.until_output("jobs/tasks/a/run_002_*.log", "process")
    assert [a["number"] for a in lab.task("a")["attempts"]] == [1, 2]


class Overtaken(Way):
    """A store whose reader learns of jobs what was so a moment ago."""

    def __init__(self, inner: Store, meanwhile: Callable[[], None]) -> None:
        super().__init__(inner, Mortal(), "store")
        self._meanwhile = [meanwhile]

    async def records(self, **more: Any) -> Any:
        found = await self._inner.records(**more)
        while self._meanwhile:
            self._meanwhile.pop()()
        return found


def test_what_began_while_a_cleanup_looked_is_ended_and_not_taken_for_never_begun(
    lab: Lab,
) -> None:
    """A task was once released while its program ran: its controller had hung as it began it."""
    mark = lab.root / "begun"
    program = f"echo $$ > {mark}; exec sleep 600"
    lab.write("tasks.yaml", f"accelerators: {{v4-8: {{tasks: [{{id: a, run: '{program}'}}]}}}}\n")
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"), "--no-start")
    # Claimed, and not yet begun.
    how = "before store.save_attempt 1", "SIGSTOP"
    hung = subprocess.Popen(
        [sys.executable, "-m", "tests.support.doomed", str(lab.root), job, *how],
        cwd=Path(__file__).parents[2],
        env=lab.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    lab.until("it hangs", lambda: ProcessIdentity.of(hung.pid).state() == "stopped")

    def goes_on_and_dies() -> None:
        hung.send_signal(signal.SIGCONT)
        lab.until("it begins", lambda: mark.exists() and mark.read_text())
        hung.kill()
        hung.wait()

    async def cleanup() -> list[str]:
        def store(context: Context) -> Store:
            return cast("Store", Overtaken(SqliteStore(context), goes_on_and_dies))

        async with App(Home(lab.root), user="ada", store=store) as app:
            return [done.note for done in await app.cleanup(lab.root / "tasks.yaml")]

    assert asyncio.run(cleanup()) == ["released a"]
    assert not _alive(mark.read_text().strip())
    assert lab.task("a")["attempts"][0]["outcome"] == "interrupted"
