"""How long things take, in words."""

from datetime import UTC, datetime, timedelta

import pytest

from jobman_cli import durations

NOW = datetime(2025, 3, 9, 14, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (40, "next try in 40 s"),
        (72.4, "next try in 72 s"),
        (150, "next try in 2m 30s"),
        (0.4, "next try now"),
        (-3, "next try now"),
        # Whoever was to try has not: nothing is promised any more.
        (-60, ""),
    ],
)
def test_the_next_try_is_counted_down(seconds: float, words: str) -> None:
    assert durations.countdown(NOW + timedelta(seconds=seconds), NOW) == words


def test_a_reason_without_a_moment_stands_alone() -> None:
    assert durations.waiting("waits for tasks", None, NOW) == "waits for tasks"
    assert durations.waiting("", NOW, NOW) == "next try now"


def test_what_has_no_beginning_has_lasted_no_time_that_is_known() -> None:
    assert durations.since(None, NOW) == "-"
