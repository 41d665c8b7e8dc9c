"""Chip-hours of slices: what ran, what was paid for, what it cost, whose it was."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobman_core.errors import InvalidInputError
from jobman_core.models.outcome import OutcomeKind
from jobman_core.models.usage import WAYS, Prices, Run, Share, SliceLife, Usage, Used
from jobman_core.prices import Tariff
from jobman_core.usage import day_of, life_of, usage_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TARIFF = Tariff(Prices(date(2026, 3, 1)), {"v4": 2.0}, {})


def at(hours: float) -> datetime:
    """Give a moment so many hours after noon."""
    return NOON + timedelta(hours=hours)


def life(job: str = "000001", **changes: Any) -> SliceLife:
    """Give a slice of four chips that was ready from noon until it was gone at six."""
    plain = SliceLife(
        job=job,
        name="train",
        user="ada",
        generation=1,
        cloud="gcp",
        accelerator="v4-8",
        zone="us-central2-b",
        pricing="spot",
        requested_at=at(-1),
        ready_at=at(0),
        gone_at=at(6),
        began_at=at(1),
    )
    return attrs.evolve(plain, **changes)


def run(job: str = "000001", **changes: Any) -> Run:
    """Give an attempt that was claimed at one, started at two and done at five."""
    plain = Run(
        job=job,
        generation=1,
        name="train",
        user="ada",
        accelerator="v4-8",
        claimed_at=at(1),
        started_at=at(2),
        ended_at=at(5),
        outcome=OutcomeKind.SUCCEEDED,
        final=True,
    )
    return attrs.evolve(plain, **changes)


def report(
    *things: SliceLife | Run,
    since: float = -12,
    until: float = 12,
    now: float = 24,
    by: str = "user",
    tariff: Tariff = TARIFF,
) -> Usage:
    used = Used(
        tuple(thing for thing in things if isinstance(thing, SliceLife)),
        tuple(thing for thing in things if isinstance(thing, Run)),
    )
    return usage_of(used, at(since), at(until), by=by, tariff=tariff, now=at(now), zone=UTC)


def parts(share: Share) -> tuple[float, float, float, float]:
    return share.waiting, share.preparing, share.running, share.idle


def test_a_slices_hours_are_told_apart_by_what_was_done_with_it() -> None:
    found = report(life(), run())
    (share,) = found.shares
    assert share.name == "ada"
    # An hour of waiting; from READY to the claim and to the start; three hours of work; the rest.
    assert parts(share) == (4, 8, 12, 4)
    assert share.hours == 24
    assert share.goodput == 0.5
    assert share.cost == 48
    assert (share.finished, share.failed, share.preemptions) == (1, 0, 0)
    assert found.total == attrs.evolve(share, name="")


def test_only_what_lies_in_the_span_counts() -> None:
    assert parts(report(life(), run(), since=1.5, until=4).total) == (0, 2, 8, 0)
    assert parts(report(life(), run(), since=6).total) == (0, 0, 0, 0)
    assert report(life(), run(), since=6).shares == ()
    assert report(life(), run(), until=5).total.finished == 0
    assert report(life(), run(), since=5).total.finished == 1


def test_a_slice_that_is_there_still_costs_until_now() -> None:
    open_ = life(gone_at=None)
    assert report(open_, run(ended_at=None, outcome=None, final=False), now=4).total.hours == 16
    assert report(open_, now=4, until=2).total.hours == 8


def test_a_request_that_was_given_up_was_only_waited_for() -> None:
    found = report(life(ready_at=None, began_at=None)).total
    assert parts(found) == (28, 0, 0, 0)
    assert found.cost == 0
    assert found.preemptions == 0


def test_what_was_lost_costs_no_more_although_its_husk_is_deleted_later() -> None:
    lost = life(lost_at=at(3), gone_at=at(6), resumed_at=at(3.5))
    found = report(lost, run(ended_at=at(4), outcome=OutcomeKind.INTERRUPTED, final=False))
    assert parts(found.total) == (4, 8, 4, 0)
    assert found.total.preemptions == 1
    assert found.recovery == 1800


def test_a_loss_before_it_was_ready_is_no_preemption() -> None:
    found = report(life(ready_at=None, lost_at=at(3), resumed_at=at(4)))
    assert found.total.preemptions == 0
    assert found.recovery is None


def test_a_slice_without_an_attempt_is_idle_unless_it_is_prepared_now() -> None:
    assert parts(report(life(began_at=None)).total) == (4, 0, 0, 24)
    assert parts(report(life(began_at=None, preparing=True)).total) == (4, 24, 0, 0)


def test_between_two_tasks_a_worker_is_idle_until_it_claims_one() -> None:
    second = run(task="b", claimed_at=at(5.5), started_at=at(5.5), ended_at=at(6))
    assert parts(report(life(), run(task="a"), second).total) == (4, 8, 14, 2)


def test_a_moment_of_two_attempts_counts_once_for_the_first() -> None:
    found = report(
        life(),
        run(task="a"),
        run(task="b", claimed_at=at(4), started_at=at(4), ended_at=at(6)),
        by="task",
    )
    assert [(share.name, share.running) for share in found.shares] == [
        ("a", 12),
        ("(no task)", 0),
        ("b", 4),
    ]


def test_by_task_each_has_its_own_time_and_the_rest_is_nobodys() -> None:
    found = report(life(), run(task="sweep", queue="/lab/tasks.yaml"), by="task")
    sweep, rest = found.shares
    assert (sweep.name, sweep.note) == ("sweep", "/lab/tasks.yaml")
    assert parts(sweep) == (0, 4, 12, 0)
    assert (sweep.finished, sweep.cost) == (1, 32)
    assert rest.name == "(no task)"
    assert parts(rest) == (4, 4, 0, 4)


def test_a_command_goes_by_the_name_of_its_job() -> None:
    found = report(life(), run(), by="task")
    assert [share.name for share in found.shares] == ["command of job 000001", "(no task)"]


def test_a_failure_counts_only_if_it_was_for_good() -> None:
    failed = run(outcome=OutcomeKind.FAILED)
    assert report(life(), failed).total.failed == 1
    assert report(life(), attrs.evolve(failed, final=False)).total.failed == 0


def test_the_most_hours_come_first() -> None:
    small = life("000002", user="bob", accelerator="v5e-1", requested_at=at(0))
    big = life("000003", user="eve", accelerator="v5litepod-16", requested_at=at(0))
    found = report(small, big, life())
    assert [share.name for share in found.shares] == ["eve", "ada", "bob"]
    by_type = report(small, attrs.evolve(big, accelerator="v5e-16"), by="accelerator")
    assert [share.name for share in by_type.shares] == ["v5litepod-16", "v5litepod-1"]


def test_a_total_without_all_prices_is_not_known_and_says_what_is_missing() -> None:
    found = report(life(), life("000002", user="bob", accelerator="v5e-8"))
    assert {share.name: share.cost for share in found.shares} == {"ada": 48, "bob": None}
    assert found.total.cost is None
    (note,) = found.notes
    assert note.startswith("no price is known of v5litepod, spot, in us-central2-b: write one")


def test_what_was_only_waited_for_needs_no_price() -> None:
    found = report(life(accelerator="v5e-8", ready_at=None))
    assert found.total.cost == 0
    assert found.notes == ()


def test_a_type_that_nobody_knows_counts_as_one_chip() -> None:
    found = report(life(accelerator="warp-9"))
    assert found.total.hours == 6
    assert "warp-9 is no TPU type that is known: counted as 1 chip" in found.notes


@pytest.mark.parametrize(
    "slice_",
    [
        life(requested_at=at(3)),
        life(requested_at=at(9), ready_at=at(8), gone_at=at(7)),
        life(lost_at=at(-3)),
        life(requested_at=at(0), ready_at=at(0), gone_at=at(0)),
        life(began_at=at(-5)),
    ],
)
def test_a_clock_that_jumped_makes_nothing_less_than_nothing(slice_: SliceLife) -> None:
    for attempt in (run(), run(started_at=at(7)), run(ended_at=at(0)), run(claimed_at=at(30))):
        stretches = [*life_of(slice_, [attempt], at(24))]
        assert all(stretch.start < stretch.end for stretch in stretches)
        assert all(a.end <= b.start for a, b in pairwise(stretches))


def test_days_are_those_of_the_zone_and_none_is_left_out() -> None:
    used = Used((life(gone_at=at(48)),))
    paris = ZoneInfo("Europe/Paris")
    found = usage_of(used, at(-24), at(48), by="day", tariff=TARIFF, now=at(48), zone=paris)
    assert [(share.name, share.hours) for share in found.shares] == [
        ("2026-02-28", 0),
        # It is one o'clock there: eleven hours are left of the day.
        ("2026-03-01", 44),
        ("2026-03-02", 96),
        ("2026-03-03", 52),
    ]


@pytest.mark.parametrize("by", WAYS)
def test_hours_are_those_that_passed_and_not_those_on_the_wall(by: str) -> None:
    paris = ZoneInfo("Europe/Paris")
    since, until = (datetime(2026, 3, day, tzinfo=paris) for day in (29, 30))
    always = life(ready_at=at(0), requested_at=at(0), gone_at=None, accelerator="v5e-1")
    found = usage_of(Used((always,)), since, until, by=by, tariff=TARIFF, now=at(9999), zone=paris)
    assert found.total.hours == 23
    assert (found.since, found.until) == (since, until)


def test_a_report_of_no_time_is_empty() -> None:
    for by in WAYS:
        found = report(life(), run(), since=2, until=2, by=by)
        assert (found.shares, found.total) == ((), Share("", cost=0.0))


def test_what_cannot_be_reported_says_what_can() -> None:
    with pytest.raises(InvalidInputError, match="user, accelerator, job, task, day"):
        report(by="colour")
    with pytest.raises(InvalidInputError, match="let --until come after --since"):
        report(since=2, until=1)


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2026, 3, 28), 24), (date(2026, 3, 29), 23), (date(2026, 10, 25), 25)]
)
def test_a_day_has_as_many_hours_as_the_clocks_on_the_wall_say(day: date, hours: int) -> None:
    since, until = day_of(day, ZoneInfo("Europe/Paris"))
    assert (until - since).total_seconds() == hours * 3600
    assert since.astimezone(ZoneInfo("Europe/Paris")).date() == day


def test_a_day_that_has_no_midnight_begins_an_hour_later() -> None:
    # Cairo puts its clocks from midnight to one.
    since, until = day_of(date(2026, 4, 24), ZoneInfo("Africa/Cairo"))
    assert (until - since).total_seconds() == 23 * 3600
    assert since.astimezone(ZoneInfo("Africa/Cairo")).hour == 1


moments = st.integers(-20, 20).map(at)
maybe = st.none() | moments
lives = st.builds(
    life,
    st.sampled_from(["000001", "000002"]),
    user=st.sampled_from(["ada", "bob"]),
    accelerator=st.sampled_from(["v4-8", "v4-16", "v5e-4"]),
    requested_at=moments,
    ready_at=maybe,
    lost_at=maybe,
    gone_at=maybe,
    began_at=maybe,
    preparing=st.booleans(),
)
runs = st.builds(
    run,
    st.sampled_from(["000001", "000002", "000009"]),
    task=st.sampled_from([None, "a", "b"]),
    claimed_at=moments,
    started_at=maybe,
    ended_at=maybe,
    outcome=st.sampled_from([None, *OutcomeKind]),
    final=st.booleans(),
)
books = st.builds(
    Used,
    st.lists(lives, max_size=4, unique_by=lambda found: found.job).map(tuple),
    st.lists(runs, max_size=6).map(tuple),
)
COUNTED = ("hours", "running", "preparing", "idle", "waiting", "preemptions", "finished", "failed")


def numbers(*shares: Share) -> list[float]:
    return [sum(getattr(share, name) for share in shares) for name in COUNTED]


@given(books, st.sampled_from(WAYS))
def test_shares_add_up_to_the_total_and_parts_to_the_hours(used: Used, by: str) -> None:
    found = usage_of(used, at(-15), at(15), by=by, tariff=TARIFF, now=at(18), zone=UTC)
    assert numbers(*found.shares) == pytest.approx(numbers(found.total))
    for share in (*found.shares, found.total):
        assert share.running + share.preparing + share.idle == pytest.approx(share.hours)
        assert min(numbers(share)) >= 0
    same = usage_of(used, at(-15), at(15), by="user", tariff=TARIFF, now=at(18))
    assert numbers(found.total) == pytest.approx(numbers(same.total))


@given(books, moments, st.sampled_from(WAYS))
def test_the_parts_of_a_span_add_up_to_it_wherever_it_is_split(
    used: Used, middle: datetime, by: str
) -> None:
    first, last = at(-20), at(20)
    whole, before, after = (
        usage_of(used, start, end, by=by, tariff=TARIFF, now=at(18), zone=UTC).total
        for start, end in ((first, last), (first, middle), (middle, last))
    )
    assert numbers(before, after) == pytest.approx(numbers(whole))
