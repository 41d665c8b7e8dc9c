"""Logs: their ends, of whatever length, what of a job's logs is chosen, and what is told."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobman_core.app import App
from jobman_core.builtin.sqlite import SqliteStore
from jobman_core.errors import NotFoundError
from jobman_core.home import Home
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.store import Note
from jobman_core.models.attempt import Attempt
from jobman_core.models.job import Step
from jobman_core.models.lease import Lease
from jobman_core.models.view import LogChunk
from jobman_core.testing.fakes import FakeClock
from jobman_core.testing.store_contract.scene import NOON, Scene, slice_of

JOB = """
job: {name: train, session: process}
tpu: {cloud: local, accelerator: v4-8, zone: here}
command: {cmd: "true"}
"""
#: More than is looked through at a time.
LONG = 1 << 16
EndOf = Callable[..., Awaitable[bytes]]


@pytest.fixture
async def end_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EndOf]:
    """Give the end of a log with some content."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    async with App(Home(tmp_path), user="ada", make=True) as app:
        (made,) = await app.create(file, start=False)
        path = Home(tmp_path).logs("ada", made.job.id) / "job.log"
        path.parent.mkdir(parents=True, exist_ok=True)

        async def end(content: bytes, tail: int, most: int | None = None) -> bytes:
            path.write_bytes(content)
            chunks = app.logs(job=made.job.id, controller=True, tail=tail, most=most)
            return b"".join([chunk.data async for chunk in chunks])

        yield end


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    lengths=st.lists(st.sampled_from([0, 1, 7, LONG - 1, LONG, LONG + 1, 3 * LONG]), max_size=6),
    over=st.booleans(),
    tail=st.integers(0, 8),
)
async def test_so_many_lines_are_given_as_are_asked_for(
    end_of: EndOf, lengths: list[int], over: bool, tail: int
) -> None:
    content = b"\n".join(b"x" * length for length in lengths) + (b"\n" if over else b"")
    lines = content.splitlines(keepends=True)
    assert await end_of(content, tail) == b"".join(lines[-tail:] if tail else [])


async def test_of_a_line_that_never_ends_there_is_only_its_end(end_of: EndOf) -> None:
    progress = b"\r".join(b"step %d" % number for number in range(200_000))
    assert await end_of(b"first\n" + progress, 20, 1000) == progress[-1000:]
    assert await end_of(b"first\n" + progress + b"\nlast\n", 1, 1000) == b"last\n"


class Books:
    """A home with one job, whose books and logs are written by the test."""

    def __init__(self, root: Path, app: App, store: SqliteStore, lease: Lease) -> None:
        self.app, self.store, self.lease = app, store, lease
        self.folder = Home(root).logs("ada", lease.job)
        self.folder.mkdir(parents=True, exist_ok=True)

    async def read(self, **options: Any) -> list[LogChunk]:
        """Read logs of the job."""
        return [chunk async for chunk in self.app.logs(job=self.lease.job, **options)]

    async def attempt(self, *, hosts: tuple[int, ...] = (0,)) -> Attempt:
        """Put a slice and an attempt of the command on the books."""
        job = self.lease.job
        await self.store.open_slice(self.lease, slice_of(job, 1), Note("slice.ready", "ready"))
        attempt = await self.store.open_attempt(self.lease, generation=1, now=NOON)
        attempt = attrs.evolve(attempt, hosts=hosts, started_at=NOON)
        await self.store.save_attempt(self.lease, attempt)
        return attempt


@pytest.fixture
async def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Books]:
    """Give a home with one job."""
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    file = tmp_path / "job.yaml"
    file.write_text(JOB)
    async with App(Home(tmp_path), user="ada", make=True) as app:
        (made,) = await app.create(file, start=False)
        store = SqliteStore(Context(tmp_path, "", FakeClock()))
        await store.open()
        yield Books(tmp_path, app, store, await Scene(store).lease(made.job.id))
        await store.aclose()


async def test_a_step_of_preparing_is_read_by_its_name(books: Books) -> None:
    (books.folder / "venv_worker_0.log").write_text("collects\n")
    (books.folder / "venv_worker_1.log").write_text("collects too\n")
    (books.folder / "prefix_set_worker_0.log").write_text("other\n")
    said = await books.read(step="venv")
    assert [(chunk.worker, chunk.data) for chunk in said] == [
        (0, b"collects\n"),
        (1, b"collects too\n"),
    ]
    (one,) = await books.read(step="venv", worker=1, tail=1)
    assert one.data == b"collects too\n"


@pytest.mark.parametrize(
    ("step", "hint"), [("vnev", "did you mean venv?"), ("xyz", "there are those of venv")]
)
async def test_a_step_that_is_not_there_is_answered_with_those_that_are(
    books: Books, step: str, hint: str
) -> None:
    (books.folder / "venv_worker_0.log").write_text("collects\n")
    (books.folder / "command_run_001_worker_0.log").write_text("runs\n")
    with pytest.raises(NotFoundError, match=hint.replace("?", r"\?")):
        await books.read(step=step)


async def test_where_no_step_has_run_that_is_said(books: Books) -> None:
    with pytest.raises(NotFoundError, match="no step has run yet"):
        await books.read(step="venv")


async def test_who_follows_a_step_does_so_while_hosts_are_prepared(books: Books) -> None:
    log = books.folder / "venv_worker_0.log"
    log.write_text("one\n")
    await books.store.set_step(books.lease, Step.PREPARE, "venv")
    said = []
    async for chunk in books.app.logs(job=books.lease.job, step="venv", follow=True):
        said.append(chunk.data)
        if chunk.first:
            with log.open("a") as file:
                file.write("two\n")
            await books.store.set_step(books.lease, Step.EXECUTE, "")
    assert b"".join(said) == b"one\ntwo\n"


async def test_a_chunk_says_how_many_hosts_may_speak(books: Books) -> None:
    await books.attempt(hosts=(0, 1))
    for host in (0, 1):
        (books.folder / f"command_run_001_worker_{host}.log").write_text("line\n")
    assert [chunk.hosts for chunk in await books.read()] == [2, 2]
    assert [chunk.hosts for chunk in await books.read(worker=1)] == [1]


async def test_a_script_that_failed_and_was_passed_over_is_told_with_its_log(
    books: Books,
) -> None:
    job = books.lease.job
    await books.store.add_event(Note("step.failed", "prefix script old went wrong"), job=job)
    await books.attempt()
    await books.store.add_event(Note("step.failed", "prefix script set went wrong"), job=job)
    (books.folder / "prefix_set_worker_0.log").write_text("no such file\n")
    (told,) = await books.read()
    assert told.urgent
    assert told.notice == (
        f"prefix script set went wrong: `jobman logs {job} --step prefix_set` shows what it said"
    )


async def test_of_a_huge_log_only_the_end_is_read(books: Books) -> None:
    await books.attempt()
    huge = books.folder / "command_run_001_worker_0.log"
    with huge.open("wb") as file:
        file.truncate(5 << 30)
        file.seek(0, 2)
        file.write(b"\n" + b"a line\n" * 100)
    read = bytes_read()
    (chunk,) = await books.read(tail=20)
    assert chunk.data == b"a line\n" * 20
    assert bytes_read() - read < 10 << 20


@pytest.mark.parametrize("tail", [None, 1])
@pytest.mark.parametrize("rotated", [False, True])
async def test_who_follows_reads_on_where_the_log_was_emptied_or_replaced(
    books: Books, tail: int | None, rotated: bool
) -> None:
    log = books.folder / "venv_worker_0.log"
    log.write_text("a long first line\n")
    await books.store.set_step(books.lease, Step.PREPARE, "venv")
    said = []
    async for chunk in books.app.logs(job=books.lease.job, step="venv", follow=True, tail=tail):
        said.append(chunk.data)
        if chunk.first:
            if rotated:
                log.rename(log.with_suffix(".old"))
                log.write_text("a line that is longer than the first\n")
            else:
                log.write_text("short\n")
        else:
            await books.store.set_step(books.lease, Step.EXECUTE, "")
    new = b"a line that is longer than the first\n" if rotated else b"short\n"
    assert said == [b"a long first line\n", new]


async def test_a_long_log_is_read_in_pieces(books: Books) -> None:
    await books.attempt()
    (books.folder / "command_run_001_worker_0.log").write_bytes(b"x" * (5 << 20))
    said = await books.read()
    assert sum(len(chunk.data) for chunk in said) == 5 << 20
    assert max(len(chunk.data) for chunk in said) <= 1 << 20


def bytes_read() -> int:
    """Give how many bytes this process has read in all."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("rchar:"))
