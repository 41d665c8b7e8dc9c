"""What everybody pays: ``jobman --help``, in seconds and in memory."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.lab import Lab

from benchmarks.table import Row
from benchmarks.timing import median_of


def measure(folder: Path) -> Sequence[Row]:
    """Measure help."""
    lab = Lab(folder / "lab")
    bare = median_of(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    seconds = median_of(lambda: lab.run("--help"))
    ratio = f"{seconds / bare:.1f} times `python -c pass`"
    return [
        Row("`jobman --help`", seconds, "s", at_most=0.25, detail=ratio),
        Row("`jobman --help`, its memory", _peak(lab, "--help"), "MiB", at_most=45),
    ]


def _peak(lab: Lab, *args: str) -> float:
    """Give the largest resident size that a command has, in MiB."""
    argv = [sys.executable, "-m", "jobman_cli", *args]
    with subprocess.Popen(argv, env=lab.env, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    # Linux counts it in KiB.
    return usage.ru_maxrss / 1024
