"""The ends of logs, of whatever length their lines are."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobman_core.app import App
from jobman_core.home import Home

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
