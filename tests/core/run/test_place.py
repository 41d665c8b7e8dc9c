"""Where the next slice is asked for."""

from datetime import UTC, datetime, timedelta

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_core.models.place import (
    GiveUp,
    Place,
    PlaceContext,
    Refusal,
    Stockout,
    Wait,
    Where,
)
from jobman_core.models.slice import SliceRequest
from jobman_core.run.place import BAD_NEWS, FIRST_WAIT, LONGEST_WAIT, empty, place, wait_after

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

HERE = SliceRequest("local", "v4-8", "here")
THERE = SliceRequest("local", "v4-8", "there")


def ask(
    refusals: dict[int, Refusal], now: float = 100.0, *, bad_news: tuple[int, ...] = ()
) -> Place | Wait | GiveUp:
    return place(PlaceContext((HERE, THERE), refusals, now, dict.fromkeys(bad_news, "full")))


def test_the_first_candidate_is_asked_first() -> None:
    assert ask({}) == Place(HERE, 0)


def test_a_zone_without_capacity_sends_the_request_to_the_next_one() -> None:
    assert ask({0: Refusal(100.0, "no capacity")}) == Place(THERE, 1)


def test_when_all_refused_it_waits_for_the_one_that_is_due_first() -> None:
    answer = ask({0: Refusal(99.5, "full here", times=3), 1: Refusal(99.5, "full there")})
    assert answer == Wait(0.5, "full there")


def test_the_first_candidate_is_asked_again_once_its_wait_is_over() -> None:
    assert ask({0: Refusal(98.0, "full"), 1: Refusal(99.9, "full")}) == Place(HERE, 0)


def test_no_wait_is_longer_than_a_minute() -> None:
    answer = ask({0: Refusal(100.0, "full", times=40), 1: Refusal(100.0, "full", times=41)})
    assert answer == Wait(LONGEST_WAIT, "full")


def test_a_permanent_refusal_strikes_only_its_own_candidate() -> None:
    assert ask({0: Refusal(0.0, "Limit: 0", permanent=True)}) == Place(THERE, 1)


def test_it_gives_up_with_all_reasons_when_no_candidate_is_left() -> None:
    no = {i: Refusal(0.0, f"no {i}", permanent=True) for i in (0, 1)}
    assert ask(no) == GiveUp("no 0; no 1")


def test_a_place_of_which_others_brought_bad_news_comes_after_one_without() -> None:
    assert ask({}, bad_news=(0,)) == Place(THERE, 1)


def test_where_there_is_bad_news_of_all_the_first_wanted_is_asked_first() -> None:
    assert ask({}, bad_news=(0, 1)) == Place(HERE, 0)


def test_bad_news_of_others_is_no_reason_to_wait() -> None:
    context = PlaceContext((HERE,), {}, 100.0, {0: "full"})
    assert place(context) == Place(HERE, 0)
    refused = {1: Refusal(99.9, "full")}
    assert ask(refused, bad_news=(0, 1)) == Place(HERE, 0)


def test_a_place_that_is_struck_stays_so_whatever_is_said_of_the_others() -> None:
    zero = {0: Refusal(0.0, "Limit: 0", permanent=True)}
    assert ask(zero, bad_news=(1,)) == Place(THERE, 1)


@pytest.mark.parametrize(
    ("age", "told"),
    [
        (timedelta(0), True),
        (BAD_NEWS - timedelta(seconds=1), True),
        (BAD_NEWS, False),
        (-timedelta(seconds=1), False),
    ],
)
def test_bad_news_is_news_for_ten_minutes_and_never_of_the_future(
    age: timedelta, told: bool
) -> None:
    stockouts = {Where.of(HERE): Stockout(NOON - age, "full")}
    assert empty((THERE, HERE), stockouts, NOON) == ({1: "full"} if told else {})


@pytest.mark.parametrize(
    "other",
    [
        attrs.evolve(HERE, pricing="spot"),
        attrs.evolve(HERE, mode="queued-resources"),
        attrs.evolve(HERE, accelerator="v4-16"),
        attrs.evolve(HERE, options={"project": "other"}),
    ],
)
def test_bad_news_is_of_one_way_to_ask_for_a_slice_alone(other: SliceRequest) -> None:
    assert empty((other,), {Where.of(HERE): Stockout(NOON, "full")}, NOON) == {}


def test_a_runtime_and_its_options_make_no_other_place() -> None:
    other = attrs.evolve(HERE, runtime="v2-alpha", options={"tags": ["a"]})
    assert Where.of(other) == Where.of(HERE)


refusals = st.builds(
    Refusal,
    at=st.floats(0, 100),
    reason=st.text(),
    permanent=st.booleans(),
    times=st.integers(1, 100_000),
)


@st.composite
def contexts(draw: st.DrawFn) -> PlaceContext:
    count = draw(st.integers(1, 4))
    candidates = tuple(SliceRequest("any", "v4-8", f"zone-{index}") for index in range(count))
    indices = st.sampled_from(range(count))
    return PlaceContext(
        candidates,
        draw(st.dictionaries(indices, refusals)),
        draw(st.floats(100, 1000)),
        draw(st.dictionaries(indices, st.text())),
    )


@given(contexts())
def test_whatever_was_refused_the_choice_is_a_place_that_is_due_or_the_shortest_wait(
    context: PlaceContext,
) -> None:
    def due(index: int) -> bool:
        refusal = context.refusals.get(index)
        if refusal is None:
            return True
        return not refusal.permanent and refusal.at + wait_after(refusal) <= context.now

    indices = range(len(context.candidates))
    match place(context):
        case Place(request, index):
            assert context.candidates[index] == request
            assert due(index)
            better = [
                i
                for i in indices
                if due(i) and (i in context.empty, i) < (index in context.empty, index)
            ]
            assert better == []
        case Wait(seconds, _):
            assert not any(map(due, indices))
            assert 0 < seconds <= LONGEST_WAIT
        case GiveUp():
            assert all(i in context.refusals and context.refusals[i].permanent for i in indices)


@given(st.integers(1, 1_000_000))
def test_waits_double_from_one_second_to_a_minute(times: int) -> None:
    wait = wait_after(Refusal(0.0, "full", times=times))
    assert FIRST_WAIT <= wait <= LONGEST_WAIT
    following = wait_after(Refusal(0.0, "full", times=times + 1))
    assert following == min(2 * wait, LONGEST_WAIT)
