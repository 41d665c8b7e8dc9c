"""Somebody else's notifier, in controllers that are killed at the worst moment."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PLUGIN = '''
import asyncio, json
from jobman_core import hookimpl
from jobman_core.interfaces.notifier import Notifier

class Paper(Notifier):
    """Writes a line for each notice, and knows by the event what it has written."""

    name = "paper"

    async def deliver(self, notices):
        path, hold = self.context.home / "paper", self.context.home / "hold"
        lines = path.read_text().splitlines() if path.exists() else []
        known = {json.loads(line)["event"] for line in lines}
        for notice in notices:
            if notice.event in known:
                continue
            with path.open("a") as file:
                line = {"event": notice.event, "kind": notice.kind, "task": notice.task}
                file.write(json.dumps({**line, "text": notice.text, "to": notice.to}) + "\\n")
            while hold.exists():
                await asyncio.sleep(0.1)

@hookimpl
def jobman_notifiers():
    return [Paper]
'''
TASKS = """\
notify: {to: owner, of: [finished, failed]}
accelerators:
  v4-8:
    tasks:
"""


@pytest.fixture
def paper(lab: Lab, tmp_path: Path) -> Lab:
    """Give a home whose notifier is a package that lies somewhere else."""
    site = tmp_path / "site"
    info = site / "paper-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "paper_notifier.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: paper\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[jobman]\npaper = paper_notifier\n")
    lab.env["PYTHONPATH"] = str(site)
    lab.write("jobman.yaml", "session: process\nnotifiers: {paper: {}}\n")
    return lab


def written(lab: Lab) -> list[dict[str, Any]]:
    path = lab.root / "paper"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_notifier_that_is_killed_in_the_middle_loses_nothing_and_repeats_nothing(
    paper: Lab,
) -> None:
    lab, names = paper, [f"task-{number}" for number in range(4)]
    lines = [f"      - {{id: {name}, run: 'echo {name}'}}\n" for name in names]
    bad = "      - {id: bad, run: 'exit 3', max_retries: 1}\n"
    lab.write("tasks.yaml", TASKS + "".join(lines) + bad)
    lab.write("hold", "")
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    lab.until("it begins to write", lambda: written(lab))
    lab.kill_controller(job, signal.SIGKILL)
    (lab.root / "hold").unlink()
    assert len(written(lab)) == 1
    lab.run("resume", job)
    told = lab.until("all is told", lambda: w if len(w := written(lab)) >= 5 else None)
    kinds = {line["task"]: line["kind"] for line in told}
    assert kinds == {**dict.fromkeys(names, "finished"), "bad": "failed"}
    assert len({line["event"] for line in told}) == len(told) == 5
    assert {line["to"] for line in told} == {"owner"}


def test_what_a_controller_does_last_is_told_before_it_ends(paper: Lab) -> None:
    lab = paper
    said = lab.run("create", lab.job("hello", cmd="exit 4"), "--no-start").out
    job = said.split()[0]
    lab.run("run", job, code=1)
    (line,) = written(lab)
    assert line["kind"] == "failed"
    assert f"job {job} (hello) is FAILED" in line["text"]
