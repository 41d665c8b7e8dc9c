"""Where the next slice is asked for."""

from jobman_core.models.place import GiveUp, Place, PlaceContext, Refusal, Wait
from jobman_core.models.slice import SliceRequest
from jobman_core.run.place import LONGEST_WAIT, place

HERE = SliceRequest("local", "v4-8", "here")
THERE = SliceRequest("local", "v4-8", "there")


def ask(refusals: dict[int, Refusal], now: float = 100.0) -> Place | Wait | GiveUp:
    return place(PlaceContext((HERE, THERE), refusals, now))


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
