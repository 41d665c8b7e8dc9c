"""How long ``jobman storage --exact`` takes over a million objects, and in how much memory."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.lab import Lab

from benchmarks.table import Row

OBJECTS = 1_000_000


def measure(folder: Path) -> Sequence[Row]:
    """Count a bucket that is served by another process of this machine."""
    lab = Lab(folder / "lab")
    (lab.root / "jobs/.jobman").mkdir(parents=True)
    with _served() as url:
        lab.env["STORAGE_EMULATOR_HOST"] = url
        argv = [sys.executable, "-m", "jobman_cli", "storage", "many", "--exact", "--json"]
        began = time.perf_counter()
        with subprocess.Popen(argv, env=lab.env, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            (bucket,) = json.load(process.stdout)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
    assert (process.returncode, bucket["objects"]) == (0, OBJECTS)
    what = f"`jobman storage --exact` of {OBJECTS:,} objects"
    each = f"{OBJECTS / seconds:,.0f} objects/s, half of them in one folder"
    # Linux counts memory in KiB.
    return [
        Row(what, seconds, "s", detail=each),
        Row(f"{what}, its memory", usage.ru_maxrss / 1024, "MiB", at_most=200),
    ]


@contextmanager
def _served() -> Iterator[str]:
    argv = [sys.executable, "-m", "tests.support.objects", str(OBJECTS)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()
