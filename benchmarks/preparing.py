"""What it takes to prepare hosts, reached by OpenSSH, and to see that they are prepared."""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.cloud import OTHER_ZONE, CloudLab

from benchmarks.cloud import site
from benchmarks.table import Row
from benchmarks.timing import timed

#: Of the slice of many hosts, and how many.
LARGE, HOSTS = "v6e-64", 16
#: Prefix scripts, and the seconds that each takes.
STEPS, SECONDS = 4, 3.0
#: How often a job is run on hosts that are prepared.
ROUNDS = 7


def measure(folder: Path) -> Sequence[Row]:
    """Measure both."""
    one, *_ = _prepared(folder / "one", "v6e-4")
    many, *added = _prepared(folder / "many", LARGE)
    what = f"preparing a slice of {HOSTS} hosts"
    detail = f"{STEPS} steps of {SECONDS:g} s: {many:.1f} s; one host alone {one:.1f} s"
    start, without = added
    return [
        Row(f"{what}, of one host's time", many / one, at_most=1.5, detail=detail),
        Row(
            f"a start on {HOSTS} hosts that are prepared, on top of one that does not look",
            start - without,
            "s",
            at_most=1.0,
            detail=f"{start:.2f} s and {without:.2f} s, from command to end",
        ),
    ]


def _prepared(folder: Path, accelerator: str) -> tuple[float, float, float]:
    """Give the seconds of preparing, of a run on prepared hosts, and of one that does not look."""
    scripts = [f"  - {{name: s{n}, workers: all, run: sleep {SECONDS}}}" for n in range(STEPS)]
    with site(folder) as lab:
        extra = "\n".join(["prefix:", *scripts])
        job = lab.create(lab.job(extra=extra, accelerator=accelerator, zone=OTHER_ZONE))
        lab.until("it is ready", lambda: "READY" in lab.states().values(), limit=120)
        ready = time.monotonic()
        lab.until_status(job, "DONE", limit=120)
        seconds = time.monotonic() - ready
        looking = _median(lab, "run", job)
        without = _median(lab, "run", job, "--cmd-only")
    return seconds, looking, without


def _median(lab: CloudLab, *command: str) -> float:
    lab.run(*command)
    return statistics.median(timed(lambda: lab.run(*command)) for _ in range(ROUNDS))
