"""What a process that many jobs share is asked to run, and what it runs."""

from pathlib import Path

import pytest

from jobman_core.home import Home
from jobman_core.process import Roster


def _roster(home: Path) -> Roster:
    Home(home).state.mkdir(parents=True)
    return Roster.of_home(home, 0)


def test_what_was_asked_for_is_there_until_it_is_taken_off(tmp_path: Path) -> None:
    roster = _roster(tmp_path)
    assert roster.entries() == {}
    assert roster.get("job-000001") is None
    roster.add("job-000001", "000001")
    roster.add("job-000002", "000002")
    assert set(roster.entries()) == {"job-000001", "job-000002"}
    entry = roster.get("job-000001")
    assert entry is not None
    assert entry.job == "000001"
    roster.remove("job-000001")
    roster.remove("job-000001")
    assert set(roster.entries()) == {"job-000002"}


def test_the_end_of_one_start_does_not_take_the_next_start_off(tmp_path: Path) -> None:
    roster = _roster(tmp_path)
    roster.add("job-000001", "000001")
    first = roster.get("job-000001")
    assert first is not None
    roster.add("job-000001", "000001")
    roster.remove("job-000001", first.token)
    second = roster.get("job-000001")
    assert second is not None
    assert second.token != first.token
    roster.remove("job-000001", second.token)
    assert roster.entries() == {}


def test_every_change_can_be_told_from_the_folder_alone(tmp_path: Path) -> None:
    roster = _roster(tmp_path)
    seen = [roster.changed_at()]
    roster.add("job-000001", "000001")
    seen.append(roster.changed_at())
    assert seen[0] != seen[1]


def test_a_file_that_is_damaged_asks_for_nothing(tmp_path: Path) -> None:
    roster = _roster(tmp_path)
    for content in (b"", b"{", b"[1]", b"null", b"\xff"):
        roster.add("job-000001", "000001")
        (roster.folder / "job-000001").write_bytes(content)
        assert roster.get("job-000001") is None


def test_the_next_process_keeps_the_wishes_and_forgets_what_ran(tmp_path: Path) -> None:
    roster = _roster(tmp_path)
    roster.add("job-000001", "000001")
    roster.begin("job-000001")
    assert roster.runs("job-000001")
    assert set(roster.entries()) == {"job-000001"}
    roster.begin_afresh()
    assert not roster.runs("job-000001")
    assert set(roster.entries()) == {"job-000001"}
    roster.finish("job-000001")


def test_where_the_home_is_away_nobody_can_tell_what_is_asked_for(tmp_path: Path) -> None:
    roster = _roster(tmp_path)
    roster.add("job-000001", "000001")
    (tmp_path / "jobs").rename(tmp_path / "away")
    with pytest.raises(FileNotFoundError):
        roster.entries()
    with pytest.raises(FileNotFoundError):
        roster.add("job-000002", "000002")
    assert not (tmp_path / "jobs").exists()
    (tmp_path / "away").rename(tmp_path / "jobs")
    assert set(roster.entries()) == {"job-000001"}
