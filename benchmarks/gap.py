"""From one task's end to the next one's start, on a local slice with a warm repository."""

import itertools
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.support.lab import Lab

from benchmarks.table import Row

TASKS = 25


def measure(folder: Path) -> Sequence[Row]:
    """Measure the gaps between the tasks of one worker, all of one repository."""
    return _gaps(Lab(folder / "lab"), _repository(folder))


def _repository(folder: Path) -> Path:
    def git(*args: str, cwd: Path) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *args], cwd=cwd, check=True, capture_output=True)

    work, bare = folder / "work", folder / "repo.git"
    work.mkdir()
    git("init", "-q", "-b", "main", cwd=work)
    (work / "stamp.sh").write_text('date +%s.%N > "$1.began"; sleep 0.2; date +%s.%N > "$1.over"\n')
    git("add", ".", cwd=work)
    git("commit", "-qm", "one", cwd=work)
    git("clone", "-q", "--bare", str(work), str(bare), cwd=folder)
    return bare


def _gaps(lab: Lab, repository: Path) -> Sequence[Row]:
    lines = ["repos:", f"  code: {repository}", "defaults: {repo: code, branch: main}"]
    lines += ["accelerators:", "  v4-8:", "    tasks:"]
    for number in range(TASKS):
        run = f"bash stamp.sh {lab.root}/task{number:02d}"
        lines.append(f"      - {{id: task{number:02d}, workdir: code, run: '{run}'}}")
    lab.write("tasks.yaml", "\n".join(lines) + "\n")
    lab.create(lab.job("worker", queue="tasks.yaml", loop="true"))
    last = lab.root / f"task{TASKS - 1:02d}.over"
    lab.until("the last task is over", last.exists, limit=300)
    lab.close()

    def moment(number: int, what: str) -> float:
        return float((lab.root / f"task{number:02d}.{what}").read_text())

    # The first task finds no code and no agent on the host yet.
    pairs = itertools.pairwise(range(1, TASKS))
    gaps = [moment(after, "began") - moment(before, "over") for before, after in pairs]
    what = "from a task's end to the next one's start, warm repository"
    longest = f"longest {max(gaps):.2f} s of {len(gaps)}"
    return [Row(what, statistics.median(gaps), "s", at_most=0.5, detail=longest)]
