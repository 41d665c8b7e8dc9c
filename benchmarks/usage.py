"""How long ``jobman usage`` takes over the books of a large home."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.lab import Lab

from benchmarks.table import Row
from benchmarks.timing import median_of
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.builtin.sqlite.rows import slice_values, stamp
from jobman_core.builtin.sqlite.statements import INSERT_SLICE
from jobman_core.clock import SystemClock
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import JobDraft
from jobman_core.models.slice import Slice, SliceIdentity, SliceRequest

JOBS = 1_000
#: Of each job, one after the other, each with so many attempts.
SLICES = 10
ATTEMPTS = 10
#: How long one stood.
STOOD = timedelta(days=2)
#: What the hosts of an attempt said last, which is kept beside it.
TAIL = json.dumps([[0, 0, "x" * 800]])


def measure(folder: Path) -> Sequence[Row]:
    """Measure reports of all that 10,000 slices did, and of a week of it."""
    lab = Lab(folder)
    asyncio.run(_put_on_books(folder))
    everything = json.loads(lab.run("usage", "--since", "365d", "--json").out)
    assert everything["total"]["finished"] == JOBS * SLICES * ATTEMPTS
    # The newest slice ended now; before it there was another every two days.
    what = f"{JOBS * SLICES:,} slices and {JOBS * SLICES * ATTEMPTS:,} attempts"
    whole = median_of(lambda: lab.run("usage", "--since", "365d"), rounds=3)
    week = median_of(lambda: lab.run("usage", "--since", "7d"), rounds=3)
    return [
        Row(f"`jobman usage` of {what}", whole, "s", at_most=4.0),
        Row("`jobman usage` of a week of them", week, "s", at_most=1.5),
    ]


async def _put_on_books(root: Path) -> None:
    """Write what years of work leave behind; by statements, since that is how it is fast."""
    store = SqliteStore(Context(root, "", SystemClock()))
    await store.open()
    for number in range(JOBS):
        draft = JobDraft(
            f"user{number % 30}", "job", "v4-8", "here", "local", "process", None, None
        )
        await store.publish_job((await store.draft_job(draft)).id, spec_hash="")
    await store.aclose()
    connection = sqlite3.connect(Home(root).database)
    try:
        for slice_ in _slices(datetime.now(UTC)):
            _write(connection, slice_)
        connection.commit()
    finally:
        connection.close()


def _slices(now: datetime) -> Iterator[Slice]:
    for job in (f"{number:06d}" for number in range(1, JOBS + 1)):
        for generation in range(1, SLICES + 1):
            asked = now - STOOD * (SLICES + 1 - generation)
            yield Slice(
                job=job,
                generation=generation,
                request=SliceRequest("local", "v4-8", "here"),
                identity=SliceIdentity(f"{job}-{generation}", "here", "", "", job, generation),
                requested_at=asked,
                ready_at=asked + timedelta(minutes=5),
                lost_at=asked + STOOD - timedelta(minutes=1),
                gone_at=asked + STOOD,
                withdrawn=True,
            )


def _write(connection: sqlite3.Connection, slice_: Slice) -> None:
    values = slice_values(slice_)
    connection.execute(INSERT_SLICE, values)
    each = STOOD / (ATTEMPTS + 1)
    for number in range(ATTEMPTS):
        claimed = slice_.requested_at + timedelta(hours=1) + each * number
        name = f"{slice_.identity.name}-{number}"
        moments = (stamp(claimed + after) for after in (timedelta(), each / 100, each * 0.9))
        connection.execute(
            "INSERT INTO attempts (token, job, generation, number, run_id, mode, stage, exits,"
            " outcome, cause, detail, final, claimed_at, started_at, ended_at)"
            " VALUES (?, ?, ?, ?, '', 'fresh', 0, ?, 'succeeded', 'exited', '', 1, ?, ?, ?)",
            (name, int(slice_.job), slice_.generation, number, TAIL, *moments),
        )
