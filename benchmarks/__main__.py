"""Measure what jobman promises, and print it.

Run it from the root of the checkout, on a machine that has nothing else to do. It measures below
the folder where it is started, or --folder: what a disk costs is part of it, so that has to be a
real one. Ends with 1 if a promise does not hold, or if a part could not be measured.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks import (
    claims,
    cloud,
    contention,
    following,
    gap,
    listing,
    monitor,
    preparing,
    queue_files,
    shared,
    start_up,
    storage,
    table,
    usage,
    waiting,
    zones,
)
from benchmarks.table import Row

#: By name: the title, and what measures it in a folder of its own.
PARTS: Mapping[str, tuple[str, Callable[[Path], Sequence[Row]]]] = {
    "start-up": ("Start-up", start_up.measure),
    "listing": ("Lists of jobs", listing.measure),
    "monitor": ("The live view", monitor.measure),
    "usage": ("Reports of usage", usage.measure),
    "storage": ("Buckets", storage.measure),
    "queue-files": ("Tasks files", queue_files.measure),
    "waiting": ("What a person waits for", waiting.measure),
    "following": ("Who follows a log", following.measure),
    "gap": ("From one task to the next", gap.measure),
    "claims": ("A claim and its release", claims.measure),
    "contention": ("Many processes on one queue", contention.measure),
    "shared": ("Many jobs in one process", shared.measure),
    "zones": ("Looks at whole zones", zones.measure),
    "cloud": ("Cloud TPU, and hosts by SSH", cloud.measure),
    "preparing": ("Preparing hosts", preparing.measure),
    "shared-10000": ("Five times as many", partial(shared.measure, jobs=10_000)),
}


def main() -> int:
    """Measure the parts that were asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"parts: {', '.join(PARTS)}",
    )
    parser.add_argument("--write", action="store_true", help="put it into benchmarks/README.md")
    parser.add_argument("--folder", type=Path, default=Path.cwd(), help="where to measure")
    parser.add_argument(
        "--without", action="append", default=[], choices=PARTS, metavar="PART", help="leave it out"
    )
    parser.add_argument("part", nargs="*", metavar="PART", help="what to measure; none: all parts")
    asked = parser.parse_args()
    if unknown := set(asked.part) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    kept = True
    for name in PARTS:
        if name in (asked.part or PARTS) and name not in asked.without:
            kept = measure(name, asked.folder.resolve(), write=asked.write) and kept
    return 0 if kept else 1


def measure(name: str, folder: Path, *, write: bool) -> bool:
    """Measure a part and print it; tells whether all that it promises holds.

    One that cannot be measured is told of, and the others are measured all the same.
    """
    title, measure_in = PARTS[name]
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".benchmark-") as own:
            rows = measure_in(Path(own))
    except Exception:  # noqa: BLE001 - whatever it is, the other parts are measured
        traceback.print_exc()
        print(f"error: {name} could not be measured, for the reason above", file=sys.stderr)
        return False
    text = table.section(title, rows, time.perf_counter() - began)
    print(text, flush=True)
    if write:
        table.write(name, text, PARTS)
    return all(row.kept for row in rows)


if __name__ == "__main__":
    sys.exit(main())
