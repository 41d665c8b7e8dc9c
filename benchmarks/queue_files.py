"""How long ``jobman queue`` takes: with the file as it was, and with one that changed."""

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.lab import Lab

from benchmarks.table import Row
from benchmarks.timing import median_of, timed

TASKS = 10_000
ROUNDS = 3


def measure(folder: Path) -> Sequence[Row]:
    """Measure a queue of 10,000 tasks."""
    lab = Lab(folder / "lab")
    _write(lab, 0)
    first = timed(lambda: lab.run("queue", "tasks.yaml", limit=300))
    unchanged = median_of(lambda: lab.run("queue", "tasks.yaml", "--json"))
    changed = []
    for turn in range(1, 1 + ROUNDS):
        _write(lab, turn)
        changed.append(timed(lambda: lab.run("queue", "tasks.yaml", "--json", limit=300)))
    what = f"`jobman queue --json` on {TASKS:,} tasks"
    reading = statistics.median(changed) - unchanged
    return [
        Row(f"{what}, the file as it was", unchanged, "s", at_most=1.0),
        Row(f"{what}, every entry of it changed", statistics.median(changed), "s"),
        Row("of that, reading the file", reading, "s"),
        Row(f"`jobman queue` on {TASKS:,} tasks, for the first time", first, "s"),
    ]


def _write(lab: Lab, turn: int) -> None:
    """Write a tasks file, as old as one that nobody edits this moment."""
    lines = ["accelerators:", "  v4-8:", "    tasks:"]
    for number in range(TASKS):
        after = f", depends_on: task-{number - 1:05d}" if number % 2 else ""
        run = f"'python train.py --seed {number} --round {turn}'"
        lines.append(f"      - {{id: task-{number:05d}, run: {run}, max_retries: 3{after}}}")
    path = lab.write("tasks.yaml", "\n".join(lines) + "\n")
    past = time.time() - 60 + turn
    os.utime(path, (past, past))
