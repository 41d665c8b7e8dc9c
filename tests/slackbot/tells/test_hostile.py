"""What the bot tells by itself, of whatever there is to be told."""

from datetime import date, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.slackbot.test_views import MOMENTS, NOW, REAPED, USAGES, WORDS, built
from tests.support.slack.limits import of_message
from tests.support.slack.plain import pings_of

from jobman_core.models.notice import Audience, Notice, NoticeKind
from jobman_core.models.reap import Reaped
from jobman_core.models.usage import Day, IdleSlice
from jobman_slackbot import blocks
from jobman_slackbot.blocks import View
from jobman_slackbot.bursts import Burst, absorb, render
from jobman_slackbot.views import day, tending

IDLE = built(
    IdleSlice,
    job=WORDS,
    user=WORDS,
    name=WORDS,
    accelerator=WORDS,
    zone=WORDS,
    since=MOMENTS,
    cost_per_hour=st.none() | st.floats(0, 1e9),
)
DAYS = built(
    Day,
    day=st.dates(date(2000, 1, 1), date(2100, 1, 1)),
    zone=WORDS,
    users=USAGES,
    accelerators=USAGES,
    idle=st.lists(IDLE, max_size=12).map(tuple),
    reaped=st.lists(WORDS, max_size=12).map(tuple),
)
VIEWS = st.one_of(
    st.builds(lambda one: day.day(one, NOW), DAYS),
    st.builds(
        lambda few, whole: day.missed(few * 20, whole, NOW),
        st.lists(DAYS, min_size=2, max_size=3),
        USAGES,
    ),
)
NOTICES = st.lists(
    built(
        Notice,
        event=st.integers(1, 40),
        at=MOMENTS,
        kind=st.sampled_from(NoticeKind),
        about=st.sampled_from(["a", "b", "c"]) | WORDS,
        text=WORDS,
        to=st.sampled_from([Audience.CHANNEL, Audience.OWNER]),
        user=st.sampled_from(["ada", "bob"]),
    ),
    max_size=40,
)


@given(view=VIEWS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_day_fits_into_a_message_and_calls_nobody(view: View) -> None:
    assert of_message({"text": view.text, "blocks": list(view.blocks)}) is None
    assert pings_of(view.text, list(view.blocks), []) == set()


@given(found=REAPED)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_was_reaped_fits_into_a_message_and_calls_nobody(found: Reaped) -> None:
    lines = tending.reaped(found.found, NOW)
    lines += [tending.trouble(*one) for one in found.unseen]
    said = blocks.said(lines)
    assert not lines or of_message({"text": said.text, "blocks": list(said.blocks)}) is None
    assert pings_of(said.text, list(said.blocks), []) == set()


@given(batches=st.lists(NOTICES, max_size=6), gap=st.integers(0, 5 * 86400))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_each_event_is_in_one_message_to_whom_it_is_for_and_survives_being_remembered(
    batches: list[list[Notice]], gap: int
) -> None:
    known: dict[str, Burst] = {}
    now = NOW
    told: dict[int, str] = {}
    for batch in batches:
        for notice in batch:
            told.setdefault(notice.event, _address(notice))
        for burst in absorb(known.values(), batch, _address, now, lambda _: False):
            again = Burst.from_json(burst.key, burst.to_json())
            assert again == burst
            known[burst.key] = again
        now += timedelta(seconds=gap)
    for burst in known.values():
        said = blocks.said(render(burst).splitlines())
        assert of_message({"text": said.text, "blocks": list(said.blocks)}) is None
        assert pings_of(said.text, list(said.blocks), []) == set()
    events = [(event, burst.to) for burst in known.values() for event in burst.events]
    assert sorted(events) == sorted(told.items())


def _address(notice: Notice) -> str:
    return f"U{notice.user}" if notice.to is Audience.OWNER else "C1"
