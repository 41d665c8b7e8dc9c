"""What a person waits for: a job that is created, a worker that takes a task, the demo."""

import os
import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tests.support.lab import Lab

from benchmarks.table import Row
from benchmarks.timing import ROUNDS, timed

IDLE_SECONDS = 60.0


def measure(folder: Path) -> Sequence[Row]:
    """Measure all of them."""
    return [
        *_creating(Lab(folder / "creating")),
        *_idle_worker(Lab(folder / "worker")),
        Row("`jobman demo`", timed(lambda: Lab(folder / "demo").run("demo")), "s", at_most=45.0),
    ]


def _creating(lab: Lab) -> Sequence[Row]:
    """Measure how long ``create`` holds up the person who calls it."""
    config = lab.job(cmd="true", extra="on_end: delete")
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        job = lab.create(config)
        seconds.append(time.perf_counter() - began)
        lab.until_status(job, "DONE")
    lab.close()
    return [Row("`jobman create` of a local job", statistics.median(seconds), "s", at_most=2.0)]


def _idle_worker(lab: Lab) -> Sequence[Row]:
    """Measure an idle worker: how soon it takes a task, and what it costs until then."""
    head = "accelerators:\n  v4-8:\n    tasks:\n"
    gate = "      - {id: gate, run: exit 1, max_retries: 1}\n"

    def tasks(*lines: str) -> None:
        aside = lab.write("tasks.new", head + gate + "".join(lines))
        aside.replace(lab.root / "tasks.yaml")

    def entry(name: str, more: str = "") -> str:
        return f"      - {{id: {name}, run: 'date +%s.%N > {lab.root}/{name}.began'{more}}}\n"

    def done(name: str) -> bool:
        return bool(lab.task(name)["status"] == "DONE")

    def blocked(name: str) -> bool:
        return bool(lab.task(name)["status"] == "BLOCKED")

    tasks()
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    lab.until("the gate is shut", lambda: lab.task("gate")["status"] == "FAILED")
    lab.until_status(job, "IDLE")
    idle = _idle_cost(lab, job)

    waits: dict[str, list[float]] = {"added": [], "reset": [], "unblocked": []}

    def began(name: str, since: float) -> float:
        mark = lab.root / f"{name}.began"
        lab.until(name, lambda: mark.exists() and mark.read_text().endswith("\n"), limit=20)
        seconds = float(mark.read_text()) - since
        mark.unlink()
        return seconds

    for turn in range(ROUNDS):
        name = f"task{turn}"
        since = time.time()
        tasks(entry(name))
        waits["added"].append(began(name, since))
        lab.until("it is over", partial(done, name))
        lab.run("queue", "tasks.yaml", "--reset", name)
        waits["reset"].append(began(name, time.time()))
        lab.until("it is over", partial(done, name))
        tasks(entry(f"after{turn}", ", depends_on: gate"))
        lab.until("it waits", partial(blocked, f"after{turn}"))
        lab.run("queue", "tasks.yaml", "--done", "gate")
        waits["unblocked"].append(began(f"after{turn}", time.time()))
        lab.run("queue", "tasks.yaml", "--reset", "gate")
        lab.until("the gate is shut", lambda: lab.task("gate")["status"] == "FAILED")
    lab.close()
    rows = [
        Row(
            f"an idle worker starts a task that was {how}",
            statistics.median(s),
            "s",
            at_most=2.0,
            detail=f"longest {max(s):.2f} s",
        )
        for how, s in waits.items()
    ]
    return [*rows, idle]


def _idle_cost(lab: Lab, job: str) -> Row:
    """Measure the share of a core that a worker without a task takes."""
    pid = lab.controller(job)

    def spent() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        # utime, stime and those of children that were waited for: fields 14 to 17.
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    before = spent()
    time.sleep(IDLE_SECONDS)
    share = (spent() - before) / IDLE_SECONDS * 100
    over = f"over {IDLE_SECONDS:.0f} s"
    return Row("an idle worker, of one core", share, "%", at_most=0.2, detail=over)
