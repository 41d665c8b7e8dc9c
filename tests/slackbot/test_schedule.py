"""When the day is told, and of which days."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_slackbot.schedule import Daily

PARIS = ZoneInfo("Europe/Paris")
NINE = Daily(time(9), PARIS)


def at(text: str) -> datetime:
    """Give a moment of Paris."""
    return datetime.fromisoformat(text).replace(tzinfo=PARIS)


def test_a_day_is_told_at_the_set_time_of_the_day_after() -> None:
    assert NINE.due(date(2026, 11, 29), at("2026-12-01 08:59:59")) == []
    assert NINE.due(date(2026, 11, 29), at("2026-12-01 09:00:00")) == [date(2026, 11, 30)]
    assert NINE.due(date(2026, 11, 30), at("2026-12-01 23:59:59")) == []


def test_the_first_start_tells_nothing_of_the_past() -> None:
    now = at("2026-12-01 10:00")
    assert NINE.due(NINE.settled(None, now), now) == []
    assert NINE.due(NINE.settled(None, now), now + timedelta(days=1)) == [date(2026, 12, 1)]


def test_after_an_outage_all_days_that_were_missed_are_due_together() -> None:
    assert NINE.due(date(2026, 11, 27), at("2026-12-01 12:00")) == [
        date(2026, 11, 28),
        date(2026, 11, 29),
        date(2026, 11, 30),
    ]


def test_a_clock_that_was_decades_behind_once_makes_no_message_of_decades() -> None:
    days = NINE.due(date(1969, 12, 31), at("2026-12-01 12:00"))
    assert days[-1] == date(2026, 11, 30)
    assert len(days) == 92


def test_a_time_that_is_left_out_in_spring_comes_once() -> None:
    half_past_two = Daily(time(2, 30), PARIS)
    night = at("2026-03-29 00:00").astimezone(UTC)
    told = _told(half_past_two, [night + timedelta(minutes=m) for m in range(0, 24 * 60, 10)])
    assert [day for _, day in told] == [date(2026, 3, 28)]
    assert told[0][0] == at("2026-03-29 03:30")


def test_a_time_that_comes_twice_in_autumn_is_taken_once_and_first() -> None:
    half_past_two = Daily(time(2, 30), PARIS)
    night = at("2026-10-25 00:00").astimezone(UTC)
    told = _told(half_past_two, [night + timedelta(minutes=m) for m in range(0, 24 * 60, 10)])
    assert told == [(datetime(2026, 10, 25, 0, 30, tzinfo=UTC), date(2026, 10, 24))]


def test_a_clock_that_was_years_ahead_once_silences_nobody_for_years() -> None:
    now = at("2026-12-01 10:00")
    assert NINE.settled(date(2031, 1, 1), now) == date(2026, 11, 30)


def test_who_moves_to_another_zone_hears_of_no_day_twice() -> None:
    now = datetime(2026, 12, 1, 3, tzinfo=UTC)
    last = Daily(time(9), ZoneInfo("Asia/Tokyo")).newest(now)
    los_angeles = Daily(time(9), ZoneInfo("America/Los_Angeles"))
    assert los_angeles.newest(now) < last
    assert los_angeles.due(los_angeles.settled(last, now), now) == []


ZONES = [
    "UTC",
    "Europe/Paris",
    "America/Los_Angeles",
    # Half an hour of daylight saving.
    "Australia/Lord_Howe",
    # Clocks were put back just after midnight, into the day before.
    "America/St_Johns",
    # A day was left out.
    "Pacific/Apia",
    # Midnight was left out.
    "America/Sao_Paulo",
    "Asia/Kathmandu",
]


@given(
    zone=st.sampled_from(ZONES),
    at_=st.times().map(lambda moment: moment.replace(fold=0)),
    start=st.datetimes(datetime(2005, 1, 1), datetime(2026, 1, 1)),  # noqa: DTZ001 - UTC is added
    gaps=st.lists(
        st.one_of(st.integers(0, 3 * 3600), st.integers(0, 5 * 86400)), min_size=1, max_size=40
    ),
)
def test_every_day_is_told_exactly_once_in_every_zone_and_after_every_gap(
    zone: str, at_: time, start: datetime, gaps: list[int]
) -> None:
    moments = [start.replace(tzinfo=UTC)]
    for gap in gaps:
        moments.append(moments[-1] + timedelta(seconds=gap))
    daily = Daily(at_, ZoneInfo(zone))
    told = _told(daily, moments)
    days = [day for _, day in told]
    first = daily.newest(moments[0])
    assert days == [first + timedelta(days=n) for n in range(1, len(days) + 1)]
    assert first + timedelta(days=len(days)) == daily.newest(moments[-1])
    for moment, day in told:
        # Never of a day that goes on, and at the first look at which it is due.
        assert daily.due_at(day) <= moment
        assert all(early < daily.due_at(day) for early in moments if early < moment)


@pytest.mark.parametrize("zone", ZONES)
def test_days_are_due_in_their_order(zone: str) -> None:
    daily = Daily(time(0, 0, 30), ZoneInfo(zone))
    days = [date(2005, 1, 1) + timedelta(days=n) for n in range(9000)]
    assert all(daily.due_at(a) <= daily.due_at(b) for a, b in pairwise(days))


def _told(daily: Daily, moments: list[datetime]) -> list[tuple[datetime, date]]:
    """Look at each of the moments, and remember as the bot does."""
    last, told = None, []
    for now in moments:
        last = daily.settled(last, now)
        for day in daily.due(last, now):
            told.append((now, day))
            last = day
    return told
