"""What a person waits for: each figure that jobman promises, measured with the real command.

    python -m benchmarks.figures [--write]

Run it from the root of the checkout, on a machine that has nothing else to do. ``--write`` puts
the table into ``benchmarks/README.md``. A ratio compares with ``python -c pass`` of the same run.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import attrs
from tests.support.lab import Lab

from benchmarks.claims import processor

ROUNDS = 7
IDLE_SECONDS = 60.0


@attrs.frozen
class Row:
    """One figure."""

    what: str
    median: float
    unit: str
    promised: float
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Tell whether the promise holds."""
        return self.median <= self.promised


def timed(action: Callable[[], object]) -> float:
    """Give the seconds that something takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def median_of(action: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Give the median of several runs, after one that is not counted."""
    action()
    return statistics.median(timed(action) for _ in range(rounds))


def start_up(folder: Path) -> list[Row]:
    """Measure what everybody pays: help, and a list of 200 jobs."""
    lab = Lab(folder / "start-up")
    config = lab.job(cmd="true")
    lab.run("create", config, "--no-start", "--count", "200", limit=300)
    bare = median_of(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))

    def row(what: str, promised: float, *args: str) -> Row:
        seconds = median_of(lambda: lab.run(*args))
        return Row(what, seconds, "s", promised, f"{seconds / bare:.1f} times `python -c pass`")

    return [
        row("`jobman --help`", 0.25, "--help"),
        row("`jobman list` of 200 jobs", 0.35, "list"),
    ]


def creating(folder: Path) -> list[Row]:
    """Measure how long ``create`` holds up the person who calls it."""
    lab = Lab(folder / "creating")
    config = lab.job(cmd="true", extra="on_end: delete")
    seconds = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        job = lab.create(config)
        seconds.append(time.perf_counter() - began)
        lab.until_status(job, "DONE")
    lab.close()
    return [Row("`jobman create` of a local job", statistics.median(seconds), "s", 2.0)]


def idle_worker(folder: Path) -> list[Row]:
    """Measure an idle worker: how soon it takes a task, and what it costs until then."""
    lab = Lab(folder / "worker")
    head = "accelerators:\n  v4-8:\n    tasks:\n"
    gate = "      - {id: gate, run: exit 1, max_retries: 1}\n"

    def tasks(*lines: str) -> None:
        aside = lab.write("tasks.new", head + gate + "".join(lines))
        aside.replace(lab.root / "tasks.yaml")

    def entry(name: str, more: str = "") -> str:
        return f"      - {{id: {name}, run: 'date +%s.%N > {lab.root}/{name}.began'{more}}}\n"

    tasks()
    job = lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    lab.until("the gate is shut", lambda: lab.task("gate")["status"] == "FAILED")
    lab.until_status(job, "IDLE")
    row_idle = idle_cost(lab, job)

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
        lab.until("it is over", lambda name=name: lab.task(name)["status"] == "DONE")
        lab.run("queue", "tasks.yaml", "--reset", name)
        waits["reset"].append(began(name, time.time()))
        lab.until("it is over", lambda name=name: lab.task(name)["status"] == "DONE")
        tasks(entry(f"after{turn}", ", depends_on: gate"))
        lab.until("it waits", lambda t=turn: lab.task(f"after{t}")["status"] == "BLOCKED")
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
            2.0,
            f"longest {max(s):.2f} s",
        )
        for how, s in waits.items()
    ]
    return [*rows, row_idle]


def idle_cost(lab: Lab, job: str) -> Row:
    """Measure the share of a core that a worker without a task takes."""
    pid = lab.controller(job)

    def spent() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        # utime, stime and those of children that were waited for: fields 14 to 17.
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    before = spent()
    time.sleep(IDLE_SECONDS)
    share = (spent() - before) / IDLE_SECONDS * 100
    return Row("an idle worker, of one core", share, "%", 0.2, f"over {IDLE_SECONDS:.0f} s")


def demo(folder: Path) -> list[Row]:
    """Measure the demo, from start to end."""
    lab = Lab(folder / "demo")
    return [Row("`jobman demo`", timed(lambda: lab.run("demo")), "s", 45.0, "one run")]


def table(rows: list[Row]) -> str:
    """Give the rows as a table in Markdown."""
    lines = ["| figure | median | promised | | |", "|---|---|---|---|---|"]
    for row in rows:
        kept = "kept" if row.kept else "**not kept**"
        values = f"{row.median:.3g} {row.unit} | {row.promised:g} {row.unit} | {kept}"
        lines.append(f"| {row.what} | {values} | {row.detail} |")
    return "\n".join(lines)


def main() -> int:
    """Measure all, print the table, and end with 1 if a promise does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write benchmarks/README.md")
    write = parser.parse_args().write
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        for part in (start_up, creating, idle_worker, demo):
            rows += part(Path(name))
    machine = f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    head = f"Measured {datetime.now(UTC):%Y-%m-%d} on {machine}; medians of {ROUNDS}."
    text = f"{head}\n\n{table(rows)}\n"
    print(text)
    if write:
        path = Path(__file__).with_name("README.md")
        begin, end = "<!-- figures -->\n", "<!-- end -->\n"
        old = path.read_text(encoding="utf-8")
        before, tail = old.partition(begin)[0], old.partition(end)[2]
        path.write_text(f"{before}{begin}{text}{end}{tail}", encoding="utf-8")
    return 0 if all(row.kept for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
