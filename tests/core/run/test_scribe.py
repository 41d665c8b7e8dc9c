"""What people read is written in order, and a disk that hangs holds up nobody."""

import asyncio
import threading
from functools import partial
from pathlib import Path

import pytest

from jobman_core.run.scribe import ROOM, Scribe


def _until(go: threading.Event) -> None:
    """Hang, as a disk does."""
    go.wait()


async def test_pieces_are_written_in_the_order_in_which_they_came() -> None:
    scribe, written = Scribe(), list[int]()
    for number in range(100):
        scribe.soon(partial(written.append, number))
    assert await scribe.do(lambda: len(written)) == 100
    assert written == list(range(100))
    await scribe.aclose()


async def test_whoever_waits_for_a_piece_hears_what_went_wrong_with_it(tmp_path: Path) -> None:
    scribe = Scribe()
    with pytest.raises(FileNotFoundError):
        await scribe.do((tmp_path / "none").read_bytes)
    assert await scribe.do(lambda: "goes on") == "goes on"
    await scribe.aclose()


async def test_a_piece_that_fails_is_not_the_end_of_the_next_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scribe = Scribe()
    scribe.soon(lambda: 1 // 0)  # type: ignore[arg-type]
    assert await scribe.do(lambda: "goes on") == "goes on"
    assert "could not be written" in caplog.text
    await scribe.aclose()


async def test_who_is_cancelled_leaves_the_piece_to_be_written() -> None:
    scribe, go, written = Scribe(), threading.Event(), list[str]()
    scribe.soon(partial(_until, go))
    waiting = asyncio.create_task(scribe.do(partial(written.append, "still")))
    await asyncio.sleep(0)
    waiting.cancel()
    go.set()
    await scribe.do(lambda: None)
    assert written == ["still"]
    await scribe.aclose()


async def test_a_disk_that_hangs_takes_no_more_than_so_much_memory(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scribe, go, written = Scribe(), threading.Event(), list[int]()
    scribe.soon(partial(_until, go))
    for number in range(ROOM + 500):
        scribe.soon(partial(written.append, number))
    go.set()
    await scribe.do(lambda: None)
    assert ROOM - 2 <= len(written) <= ROOM
    scribe.soon(lambda: None)
    assert f"{ROOM + 500 - len(written)} lines were let go" in caplog.text
    await scribe.aclose()
