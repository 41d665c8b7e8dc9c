"""What is of no use any more, by what one look shows and the books say; and what becomes of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from jobman_core.interfaces.cloud import Listed
from jobman_core.models.reap import KEPT, Fate, ReapRules
from jobman_core.models.slice import Present, Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.zone import Zone
from jobman_core.reap import (
    Booked,
    Books,
    Finding,
    Look,
    Sighting,
    fate_of,
    found_in,
    judge,
    key_of,
)

HOME, OTHER, LOST = "home-1", "home-2", "home-0"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIVING = [SlicePhase.PENDING, SlicePhase.READY]
BEFORE = NOW - timedelta(hours=1)
GOING = [SlicePhase.LOSING, SlicePhase.DELETING]
JOB = "000001"


def listed(
    phase: SlicePhase,
    *,
    home: str | None = HOME,
    job: str | None = JOB,
    generation: str | None = "1",
    **more: Any,
) -> Listed:
    words = {"jobman-home": home, "jobman-job": job, "jobman-generation": generation}
    labels = {key: value for key, value in words.items() if value is not None}
    state = "PREEMPTED" if phase is SlicePhase.LOST else phase.value.upper()
    return Listed(**{"name": "t-g1", "zone": "z", "observation": Present(phase, state, (), labels),
                     "uid": "1", **more})  # fmt: skip


def booked(generation: int = 1, *, attended: bool = False, **changes: Any) -> Booked:
    """Give a job that has asked for one slice, which may still be there unless changes say so."""
    identity = SliceIdentity("t-g1", "z", HOME, "ada", JOB, generation)
    request = SliceRequest("fake", "v4-8", "z")
    slice_ = attrs.evolve(Slice(JOB, generation, request, identity, NOW), **changes)
    return Booked(attended, {generation: slice_})


def books(job: Booked | None = None) -> Books:
    return Books(HOME, NOW, {JOB: job} if job else {}, frozenset({LOST}))


# -- what is of no use --------------------------------------------------------------------


@pytest.mark.parametrize("phase", GOING)
@pytest.mark.parametrize("home", [HOME, OTHER, LOST, None])
def test_what_is_on_its_way_out_is_left_to_go(phase: SlicePhase, home: str | None) -> None:
    assert judge(listed(phase, home=home), books()) is None


@pytest.mark.parametrize("home", [OTHER, None])
def test_of_others_only_what_is_dead_is_told_of(home: str | None) -> None:
    for phase in LIVING:
        assert judge(listed(phase, home=home), books()) is None
    found = judge(listed(SlicePhase.LOST, home=home), books())
    assert found == Finding("it is PREEMPTED", ours=False)


def test_another_homes_job_of_the_same_number_is_not_ours() -> None:
    gone = books(booked(gone_at=BEFORE))
    assert judge(listed(SlicePhase.READY, home=OTHER), gone) is None


@pytest.mark.parametrize("phase", [*LIVING, SlicePhase.LOST])
def test_what_a_job_that_runs_or_is_to_run_holds_is_its_controllers(phase: SlicePhase) -> None:
    for state in ({}, {"withdrawn": True}, {"lost_at": NOW}):
        assert judge(listed(phase), books(booked(attended=True, **state))) is None


@pytest.mark.parametrize("phase", LIVING)
def test_a_slice_that_a_stopped_job_keeps_is_kept(phase: SlicePhase) -> None:
    assert judge(listed(phase), books(booked())) is None


def test_what_died_under_a_job_that_nobody_drives_is_given_back_by_the_books() -> None:
    found = judge(listed(SlicePhase.LOST), books(booked()))
    assert found == Finding("it is PREEMPTED", ours=True, booked=1)


@pytest.mark.parametrize("phase", [*LIVING, SlicePhase.LOST])
def test_what_a_job_gives_back_without_anybody_to_see_to_it_is_given_back(
    phase: SlicePhase,
) -> None:
    found = judge(listed(phase), books(booked(withdrawn=True)))
    assert found is not None
    assert (found.ours, found.booked) == (True, 1)


@pytest.mark.parametrize("phase", [*LIVING, SlicePhase.LOST])
@pytest.mark.parametrize("attended", [True, False])
def test_what_came_after_it_was_given_up_is_an_orphan(phase: SlicePhase, attended: bool) -> None:
    found = judge(listed(phase), books(booked(gone_at=BEFORE, attended=attended)))
    assert found == Finding("its job 000001 has given it back", ours=True)


def test_what_was_given_back_while_the_list_was_on_its_way_is_not_there_any_more() -> None:
    for attended in (True, False):
        given_back = books(booked(gone_at=NOW, attended=attended))
        assert judge(listed(SlicePhase.LOST), given_back) is None


@pytest.mark.parametrize("phase", [*LIVING, SlicePhase.LOST])
def test_what_belongs_to_no_job_of_the_books_is_an_orphan(phase: SlicePhase) -> None:
    found = judge(listed(phase), books())
    assert found == Finding("its job 000001 is not on the books of this home", ours=True)


@pytest.mark.parametrize("generation", ["2", "nonsense", None])
def test_a_generation_that_the_books_do_not_have_yet_is_left_to_whoever_drives_the_job(
    generation: str | None,
) -> None:
    thing = listed(SlicePhase.READY, generation=generation, name="t-g2")
    assert judge(thing, books(booked(attended=True))) is None
    found = judge(thing, books(booked()))
    assert found == Finding("its job 000001 knows nothing of it", ours=True)


@pytest.mark.parametrize("generation", ["2", "nonsense", "", None])
@pytest.mark.parametrize("phase", LIVING)
def test_what_a_stopped_job_keeps_is_kept_whatever_became_of_its_labels(
    phase: SlicePhase, generation: str | None
) -> None:
    assert judge(listed(phase, generation=generation), books(booked())) is None
    found = judge(listed(phase, generation=generation), books(booked(gone_at=BEFORE)))
    assert found == Finding("its job 000001 knows nothing of it", ours=True)


def test_a_generation_that_the_books_never_had_is_an_orphan_beside_a_live_job() -> None:
    thing = listed(SlicePhase.READY, name="t-g0", generation="1")
    found = judge(thing, books(booked(2, attended=True)))
    assert found == Finding("its job 000001 knows nothing of it", ours=True)


@pytest.mark.parametrize("job", [KEPT, None, "", "demo", "٣"])
def test_what_belongs_to_no_job_at_all_is_only_reaped_dead(job: str | None) -> None:
    for phase in LIVING:
        assert judge(listed(phase, job=job, generation=None), books()) is None
    found = judge(listed(SlicePhase.LOST, job=job, generation=None), books())
    assert found == Finding("it is PREEMPTED", ours=True)


@pytest.mark.parametrize("phase", [*LIVING, SlicePhase.LOST])
def test_all_of_a_home_whose_database_was_lost_is_an_orphan(phase: SlicePhase) -> None:
    found = judge(listed(phase, home=LOST), books(booked(attended=True)))
    assert found == Finding("its home's database was lost", ours=True)


# -- what becomes of it -------------------------------------------------------------------

GRACE = 900.0
OURS, THEIRS = Finding("it is dead", ours=True), Finding("it is dead", ours=False)


def fate(
    finding: Finding = OURS, ago: float | None = GRACE, now: datetime = NOW, **rules: Any
) -> Fate | None:
    before = None if ago is None else Sighting(NOW - timedelta(seconds=ago))
    return fate_of("t-g1", finding, before, now, ReapRules(grace=GRACE, **rules))


def test_two_looks_the_grace_apart_make_it_due() -> None:
    assert fate(ago=None) is Fate.NOTED
    assert fate(ago=GRACE - 1) is Fate.NOTED
    assert fate(ago=GRACE) is Fate.DUE


def test_one_look_makes_nothing_due_whatever_the_grace() -> None:
    none = ReapRules(grace=0)
    assert fate_of("t", OURS, None, NOW, none) is Fate.NOTED
    assert fate_of("t", OURS, Sighting(NOW), NOW, none) is Fate.DUE


def test_what_others_made_is_told_of_and_deleted_only_where_the_lab_says_all() -> None:
    assert fate(THEIRS, ago=None) is Fate.NOTED
    assert fate(THEIRS) is Fate.REPORTED
    assert fate(THEIRS, ago=None, all=True) is Fate.NOTED
    assert fate(THEIRS, all=True) is Fate.DUE


@pytest.mark.parametrize("finding", [OURS, THEIRS])
def test_what_a_pattern_keeps_or_passes_over_is_never_due(finding: Finding) -> None:
    assert fate(finding, all=True, keep=("x", "t-*")) is Fate.KEPT
    assert fate(finding, all=True, ignore=("t-g?",)) is None
    assert fate(finding, all=True, keep=("t",), ignore=("T-*",)) is Fate.DUE


def test_a_clock_that_was_set_back_makes_nothing_due_sooner() -> None:
    before = Sighting(NOW)
    back = NOW - timedelta(hours=1)
    rules = ReapRules(grace=GRACE)
    assert fate_of("t", OURS, before, back, rules) is Fate.NOTED
    again = before.again(back)
    assert fate_of("t", OURS, again, back + timedelta(seconds=GRACE - 1), rules) is Fate.NOTED
    assert fate_of("t", OURS, again, back + timedelta(seconds=GRACE), rules) is Fate.DUE


def test_another_one_of_the_same_name_is_seen_for_the_first_time() -> None:
    zone, rules = Zone("fake", "z"), ReapRules()
    first, second = listed(SlicePhase.LOST), listed(SlicePhase.LOST, uid="2")
    known = {key_of(zone, first): Sighting(NOW - timedelta(hours=1))}
    found = found_in(Look(zone, [first, second]), books(), known, NOW, rules)
    assert [each.fate for each in found] == [Fate.DUE, Fate.NOTED]


def test_what_is_remembered_of_a_sighting_comes_back() -> None:
    for sighting in (Sighting(NOW), Sighting(NOW, asked=True)):
        assert Sighting.of_data(sighting.to_data()) == sighting
