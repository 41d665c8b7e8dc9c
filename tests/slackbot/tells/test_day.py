"""The day, told in Slack once, with its chart."""

from datetime import UTC, date, datetime, timedelta

import attrs
import pytest
from tests.slackbot.tells.conftest import START, Desk, Fate, Killed

from jobman_core.errors import JobmanError
from jobman_core.models.usage import IdleSlice

TODAY = START.date()
IDLE = IdleSlice("000012", "ada", "train", "v4-8", "us-central2-b", START, 12.88)


def nine(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 9, tzinfo=UTC)


@pytest.fixture
async def running(desk: Desk) -> Desk:
    """A bot that has begun."""
    await desk.day.look()
    assert desk.texts() == []
    return desk


def charts(desk: Desk) -> list[str]:
    return [file.name for message in desk.messages() for file in message.files]


async def test_the_day_before_is_told_once_with_its_chart(running: Desk) -> None:
    running.reports.hours = {TODAY: 12.0}
    running.reports.idle = (IDLE,)
    running.reports.reaped = ("deleted train-g3 of ada: preempted",)
    for hours in (0, 12, 21, 22, 23):
        running.now = START + timedelta(hours=hours)
        await running.day.look()
    message, chart = running.messages()
    assert f"{TODAY.day} " in message.plain
    for said in ("12.0 chip-hours", "50% of them ran", "ada", "000012", "12.88 USD", "train-g3"):
        assert said in message.plain
    assert [file.name for file in chart.files] == [f"jobman-{TODAY}.png"]


async def test_an_empty_day_is_one_line_and_no_chart(running: Desk) -> None:
    running.now = nine(TODAY + timedelta(days=1))
    await running.day.look()
    (text,) = running.texts()
    assert text.endswith("nothing ran, and nothing costs")
    assert "\n" not in text


async def test_days_that_were_missed_are_one_message_with_a_line_each(running: Desk) -> None:
    running.reports.hours = {TODAY: 12.0, TODAY + timedelta(days=2): 6.0}
    running.restart()
    running.now = nine(TODAY + timedelta(days=3)) + timedelta(hours=2)
    for _ in range(3):
        await running.day.look()
    message, chart = running.messages()
    assert "3 days" in message.plain
    assert "18.0 chip-hours" in message.plain
    assert message.plain.count("•") == 3
    assert len(chart.files) == 1


async def test_while_slack_is_away_the_day_waits_and_is_told_once(running: Desk) -> None:
    running.reports.hours = {TODAY: 12.0}
    running.now = nine(TODAY + timedelta(days=1))
    async with running.slack.down():
        for _ in range(2):
            with pytest.raises(JobmanError):
                await running.day.look()
    for _ in range(2):
        await running.day.look()
    assert len(running.messages()) == 2
    assert len(charts(running)) == 1


async def test_a_chart_whose_answer_was_lost_is_not_shown_twice(running: Desk) -> None:
    running.reports.hours = {TODAY: 12.0}
    running.now = nine(TODAY + timedelta(days=1))
    running.slack.trouble("files.completeUploadExternal", lost=True)
    with pytest.raises(JobmanError):
        await running.day.look()
    await running.day.look()
    assert len(charts(running)) == 1


async def test_a_clock_that_is_wrong_for_an_hour_tells_nothing_twice(running: Desk) -> None:
    running.reports.hours = {TODAY: 12.0}
    running.now = nine(TODAY + timedelta(days=1))
    await running.day.look()
    for days in (-30, 1, -30, 1):
        running.now = nine(TODAY + timedelta(days=days)) + timedelta(hours=1)
        await running.day.look()
    assert len(running.messages()) == 2


async def test_a_clock_that_was_years_ahead_silences_nobody_for_years(running: Desk) -> None:
    running.now = nine(TODAY + timedelta(days=2000))
    await running.day.look()
    told = len(running.messages())
    for days in (1, 2, 3):
        running.now = nine(TODAY + timedelta(days=days)) + timedelta(hours=1)
        await running.day.look()
    assert len(running.messages()) == told + 2


async def test_without_a_chart_the_day_is_told_all_the_same(running: Desk) -> None:
    running.reports.hours = {TODAY: 12.0}
    running.reports.picture = JobmanError("no matplotlib: install it")
    running.now = nine(TODAY + timedelta(days=1))
    for _ in range(3):
        await running.day.look()
    assert len(running.messages()) == 1
    assert running.reports.drawn == 1


async def test_where_no_time_is_set_nothing_is_told(desk: Desk) -> None:
    desk.config = attrs.evolve(desk.config, day=None)
    desk.restart()
    await desk.day.run()
    assert desk.texts() == []


@pytest.mark.parametrize("after", [False, True])
async def test_wherever_it_is_killed_each_day_and_each_chart_is_told_once(
    running: Desk, after: bool
) -> None:
    day, step = TODAY, 0
    while True:
        step += 1
        fate = Fate(step, after)
        running.restart(fate)
        running.reports.hours[day] = 1.0
        day += timedelta(days=1)
        running.now = nine(day)
        for _ in range(2):
            try:
                await running.day.look()
            except Killed:
                running.restart()
        titles = [m.text for m in running.messages() if not m.files]
        assert len(titles) == len(set(titles)) == (day - TODAY).days, f"killed at step {step}"
        assert len(charts(running)) == len(set(charts(running))) == (day - TODAY).days
        if fate.taken < step:
            assert step > 6
            return
