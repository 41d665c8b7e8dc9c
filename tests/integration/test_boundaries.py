"""A controller that is killed or stopped before any of its steps: the next one goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.lab import Lab
from tests.support.mortal import Moment

from jobman_core.process import ProcessIdentity

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
#: Jobs at once: most of their time they wait.
AT_ONCE = 4


class Story:
    """A queue worker with one task that has code, from its first slice until it ran dry."""

    def __init__(self, lab: Lab, name: str, code: Path) -> None:
        self.lab = lab
        self.queue = f"{name}-tasks.yaml"
        script = f"""\
            exec 9> {lab.root}/{name}.lock
            flock -n 9 || echo {name} >> {lab.root}/overlaps
            echo $JOBMAN_ATTEMPT >> {lab.root}/{name}.starts
            cat data
            sleep 0.3"""
        lab.write(
            self.queue,
            f"""\
            repos: {{code: {code}}}
            accelerators:
              v4-8:
                tasks:
                  - id: only
                    repo: code
                    branch: main
                    workdir: code
                    run: |
{script.replace("            ", " " * 22)}
            """,
        )
        idle = "queue:\n  enabled: true\n  config: " + self.queue + "\n  idle_timeout: 0.2s\n"
        self.job = lab.create(lab.job(name, cmd=None, loop="true", extra=idle), "--no-start")
        self.starts = lab.root / f"{name}.starts"

    def begin(self, *how: str) -> "subprocess.Popen[str]":
        """Start a controller that is doomed."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.support.doomed", str(self.lab.root), self.job, *how],
            cwd=ROOT,
            env=self.lab.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def check(self) -> None:
        """Wait for the end; it must be that of a story in which nothing went wrong."""
        self.lab.until_status(self.job, "DONE", limit=90)
        attempts = self.lab.task("only", self.queue)["attempts"]
        assert [(a["number"], a["outcome"], a["cause"]) for a in attempts] == [
            (1, "succeeded", "exited")
        ]
        assert self.starts.read_text().split() == ["1"]


@pytest.fixture
def code(lab: Lab) -> Path:
    """Give a repository."""
    folder = lab.root / "code"
    folder.mkdir()
    lab.write("code/data", "some data\n")
    who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "data"]):
        subprocess.run(["git", *who, *args], cwd=folder, check=True)
    return folder


@pytest.fixture
def moments(lab: Lab, code: Path) -> list[Moment]:
    """Give all moments of a story in which nothing goes wrong."""
    lab.write("jobman.yaml", "session: process\nlease: 3s\nbeat: 0.5s\n")
    story = Story(lab, "undisturbed", code)
    undisturbed = story.begin()
    said, _ = undisturbed.communicate(timeout=60)
    assert undisturbed.returncode == 0, said
    story.check()
    found = [Moment.read(line.partition(" ")[2]) for line in said.splitlines() if "moment" in line]
    assert len(found) > 30, said
    return found


class Missed(Exception):  # noqa: N818 - no error
    """The moment did not come: how often a worker looks for a task that is not there varies."""


def killed(story: Story, moment: Moment) -> None:
    """Kill a controller, and resume its job."""
    doomed = story.begin(str(moment))
    said, _ = doomed.communicate(timeout=60)
    if doomed.returncode == 0:
        story.check()
        raise Missed
    assert doomed.returncode == -signal.SIGKILL, said
    story.lab.run("resume", story.job)
    story.check()


def stopped(story: Story, moment: Moment) -> None:
    """Stop a controller, and wake it in the midst of its job's being resumed."""
    doomed = story.begin(str(moment), "SIGSTOP")
    me = ProcessIdentity.of(doomed.pid)
    deadline = time.monotonic() + 60
    while me.state() != "stopped":
        if doomed.poll() is not None:
            assert doomed.returncode == 0, doomed.communicate()
            doomed.communicate()
            story.check()
            raise Missed
        assert time.monotonic() < deadline
        time.sleep(0.05)
    resuming = story.lab.start("resume", story.job)
    time.sleep(0.4)
    os.kill(doomed.pid, signal.SIGCONT)
    said = resuming.communicate(timeout=60)
    assert resuming.returncode == 0, said
    doomed.communicate(timeout=60)
    story.check()


@pytest.mark.parametrize("strike", [killed, stopped], ids=["killed", "stopped and woken"])
def test_whoever_comes_next_goes_on_as_if_nothing_had_happened(
    lab: Lab, code: Path, moments: list[Moment], strike: Callable[[Story, Moment], None]
) -> None:
    missed: list[str] = []

    def tell(number: int, moment: Moment) -> str:
        story = Story(lab, f"story{number}", code)
        try:
            strike(story, moment)
        except Missed:
            missed.append(str(moment))
        except AssertionError as error:
            log = lab.root / f"jobs/ada/{story.job}/logs/job.log"
            return f"{moment}, job {story.job}: {error}\n{log.read_text() if log.exists() else ''}"
        return ""

    # What comes after a change is the same as what comes before the next one, or nearly so.
    chosen = [moment for moment in moments if moment.when == "before"]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        faults = [fault for fault in pool.map(tell, range(len(chosen)), chosen) if fault]
    assert not faults, "\n".join(faults)
    assert all("store.claim" in moment for moment in missed), missed
    assert len(missed) <= 1, missed
    assert not (lab.root / "overlaps").exists()
    assert lab.slices() == []
