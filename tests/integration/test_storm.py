"""Whatever dies and whenever: every task ends with one success, and none ever overlaps itself."""

import os
import random

import pytest
from tests.support import storm
from tests.support.lab import Lab
from tests.support.storm import Storm

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

#: It stands in the test's name; others are set like ``JOBMAN_STORM_SEED=7`` or ``1-50``.
SEEDS = storm.seeds(os.environ.get("JOBMAN_STORM_SEED", "1-3"))
SESSIONS = ("process", "shared")
#: Workers by accelerator: one with two hosts, so that all hosts or none have a task.
WORKERS = {"v4-8": 6, "v4-16": 2}
TASKS = 60
#: Seconds after which the weather clears, however far the tasks are.
LONGEST = 30.0


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_kills_hangs_and_preemptions_at_random_lose_and_repeat_nothing(
    lab: Lab, seed: int, session: str
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a storm that can be replayed
    kinds = [kind for kind, count in WORKERS.items() for _ in range(count)]
    plans = storm.plan(chance, TASKS, kinds)
    storm.write(lab, plans)
    # Short, so that what hangs is soon replaced and what is silent is soon given up.
    settings = f"session: {session}\nlease: 3s\nbeat: 0.5s\n"
    lab.write("jobman.yaml", settings + "sessions: {shared: {idle: 5s}}\n")
    jobs = [job for kind, count in WORKERS.items() for job in _create(lab, kind, count)]

    weather = Storm(lab, chance, jobs)
    with storm.told(weather):
        weather.rage(lambda: storm.settled(lab), longest=LONGEST)
        weather.clear(lambda: storm.settled(lab), limit=90)

        faults = storm.faults(lab, plans)
        assert not faults, "\n".join(faults)
        assert not weather.lulls()
        lab.run("delete", "--yes", *jobs)
        lab.until("nothing runs", lambda: not lab.processes(), 15)
        assert lab.slices() == []


def test_a_storm_that_breaks_off_leaves_nothing_that_hangs(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="echo up; sleep 600"))
    lab.until_output(f"jobs/ada/{job}/logs/command_run_001_worker_0.log", "up")
    weather = Storm(lab, random.Random(1), [job])  # noqa: S311 - a storm that can be replayed
    assert len(weather.lulls()) == len(storm.LEAST), "nothing has struck yet"

    def break_off() -> None:
        weather.freeze()
        lab.until("it hangs", lab.stopped)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), storm.told(weather):
        break_off()
    assert not lab.stopped()


def _create(lab: Lab, accelerator: str, count: int) -> list[str]:
    worker = lab.job(
        accelerator,
        queue="tasks.yaml",
        loop="true",
        accelerator=accelerator,
        extra="unreachable_timeout: 4s",
    )
    return [job["id"] for job in lab.json("create", worker, "--count", str(count))]
