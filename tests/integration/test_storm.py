"""Whatever dies and whenever: every task ends with one success, and none ever overlaps itself."""

import contextlib
import os
import random
import signal
import time

import pytest
from tests.support.lab import Lab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

#: It stands in the test's name; JOBMAN_STORM_SEED sets others, with commas between.
SEEDS = [int(seed) for seed in os.environ.get("JOBMAN_STORM_SEED", "1").split(",")]
WORKERS = 3
TASKS = {"a": "", "b": "", "c": "a", "d": "b", "e": "a", "f": "c", "g": "", "h": "g"}
#: Fails once, by itself: no storm may turn that into more or fewer failures.
FLAKY = "e"
#: Seconds after which the weather clears, however far the tasks are.
LONGEST = 60.0


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_hangs_and_preemptions_at_random_lose_and_repeat_nothing(lab: Lab, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - a storm that can be replayed
    lab.write("tasks.yaml", _tasks(lab))
    worker = lab.job("worker", queue="tasks.yaml", loop="true")
    jobs = [lab.create(worker) for _ in range(WORKERS)]
    clears = time.monotonic() + LONGEST
    while not _all_done(lab) and time.monotonic() < clears:
        _strike(lab, chance, chance.choice(jobs))
        lab.run("resume", "--all", code=None)
        time.sleep(chance.uniform(0.2, 1.2))
    lab.run("resume", "--all", code=None)
    lab.until("all tasks", lambda: _all_done(lab), limit=90)

    assert not (lab.root / "overlaps").exists()
    for task in TASKS:
        attempts = lab.task(task)["attempts"]
        outcomes = [attempt["outcome"] for attempt in attempts]
        assert outcomes.count("succeeded") == 1, (task, outcomes)
        assert outcomes[-1] == "succeeded", (task, outcomes)
        assert outcomes.count("failed") == (task == FLAKY), (task, attempts)
        assert [attempt["number"] for attempt in attempts] == list(range(1, len(attempts) + 1))


def _tasks(lab: Lab) -> str:
    lines = ["accelerators:", "  v4-8:", "    tasks:"]
    for task, needs in TASKS.items():
        fails = f"mkdir {lab.root}/failed-once 2>/dev/null && exit 1" if task == FLAKY else ":"
        lines += [
            f"      - id: {task}",
            f"        depends_on: [{needs}]",
            "        run: |",
            f"          exec 9> {lab.root}/lock-{task}",
            f"          flock -n 9 || {{ echo {task} >> {lab.root}/overlaps; exit 99; }}",
            "          sleep 1",
            f"          {fails}",
            "          sleep 1",
        ]
    return "\n".join(lines) + "\n"


def _all_done(lab: Lab) -> bool:
    return {task["status"] for task in lab.json("queue", "tasks.yaml")["tasks"]} == {"DONE"}


def _strike(lab: Lab, chance: random.Random, job: str) -> None:
    """Let one thing go wrong; what is not there now cannot be struck."""
    with contextlib.suppress(AssertionError, ProcessLookupError):
        match chance.randrange(4):
            case 0 | 1:
                lab.kill_controller(job)
            case 2:
                lab.kill_controller(job, signal.SIGSTOP)
            case _:
                lab.run("stop", job, code=None)
                lab.run("resume", job, code=None)
    if chance.random() < 0.3 and lab.slices():
        with contextlib.suppress(Exception):
            lab.preempt(job)
