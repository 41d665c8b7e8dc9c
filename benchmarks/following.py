"""How soon who follows a log sees a line, and how soon the end of a huge log is there."""

import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.lab import Lab

from benchmarks.table import Row
from benchmarks.timing import median_of

#: Lines that are waited for, and the seconds of silence before each: the agent looks most seldom
#: where nothing has been said for a while, and the pauses fall on all parts of its rhythm.
LINES, SILENCE = 12, 3.1
HUGE = 5 << 30


def measure(folder: Path) -> Sequence[Row]:
    """Measure both."""
    return [*_following(Lab(folder / "following")), _huge(Lab(folder / "huge"))]


def _following(lab: Lab) -> Sequence[Row]:
    said = f"for i in $(seq {LINES}); do sleep {SILENCE}; date +%s.%N; done"
    job = lab.create(lab.job(cmd=said, extra="on_end: delete"))
    program = lab.start("logs", "-f", job)
    assert program.stdout is not None
    late = [time.time() - float(line) for line in program.stdout]
    program.wait()
    lab.close()
    assert len(late) == LINES, late
    return [
        Row("from a line that a program writes to who follows", statistics.median(late), "s"),
        Row("the longest of that", max(late), "s", at_most=2.0),
    ]


def _huge(lab: Lab) -> Row:
    """Measure a log of 5 GB, nearly all of which is one hole."""
    job = lab.create(lab.job(cmd="echo up", extra="on_end: delete"))
    lab.until_status(job, "DONE")
    log = lab.until_output("jobs/ada/*/logs/command_run_001_worker_0.log", "up")
    with log.open("r+b") as file:
        file.truncate(HUGE)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"a line\n" * 100)
    seconds = median_of(lambda: lab.run("logs", job, "--tail", "20"))
    lab.close()
    return Row("`jobman logs --tail 20` of a log of 5 GB", seconds, "s", at_most=0.6)
