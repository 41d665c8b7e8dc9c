"""What a controller says: all of it once, and what goes on for hours not every second."""

from pathlib import Path

from jobman_core.run.journal import REMIND_EVERY, Journal
from jobman_core.run.scribe import Scribe
from jobman_core.testing.fakes import FakeClock


async def test_a_reason_that_stays_is_told_once_and_again_after_some_minutes(
    tmp_path: Path,
) -> None:
    clock, said = FakeClock(), list[str]()
    journal = Journal(tmp_path, clock, Scribe(), said.append, own_log=False)
    for _ in range(100):
        journal.retrying("the disk is full")
        journal.retrying("it cannot be deleted yet", of_slice=True)
        await clock.advance(1)
    told = [line.partition(" ")[2] for line in said]
    assert told == ["the disk is full", "it cannot be deleted yet"]
    await clock.advance(REMIND_EVERY)
    journal.retrying("the disk is full")
    assert len(said) == 3


async def test_reasons_that_are_new_each_time_are_all_told(tmp_path: Path) -> None:
    said = list[str]()
    journal = Journal(tmp_path, FakeClock(), Scribe(), said.append, own_log=False)
    for number in range(100):
        journal.retrying(f"silent for {number} s")
    assert len(said) == 100


async def test_what_others_said_cannot_steer_the_terminal_that_shows_it(tmp_path: Path) -> None:
    said, scribe = list[str](), Scribe()
    journal = Journal(tmp_path, FakeClock(), scribe, said.append)
    journal.tpu("refused: \x1b]0;mine\x07\r\u202e zone\nsecond\tline")
    await scribe.aclose()
    shown = said[0].partition(" ")[2]
    assert shown == "refused: \\x1b]0;mine\\x07\\r\\u202e zone\n    second  line"
    assert (tmp_path / "tpu.log").read_text() == said[0] + "\n"
