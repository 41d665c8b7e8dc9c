"""What people see, of whatever there is to be seen."""

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.slack.limits import of_message

from jobman_core.models.attempt import Attempt
from jobman_core.models.event import Event
from jobman_core.models.job import Desired
from jobman_core.models.lease import Liveness
from jobman_core.models.listing import JobView
from jobman_core.models.outcome import Outcome, OutcomeKind
from jobman_core.models.quota import Allowance, Holding, Quota
from jobman_core.models.reap import Dead, Fate, Reaped
from jobman_core.models.slice import Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.status import JobStatus
from jobman_core.models.task import Counters, Running, Task, TaskSpec, TaskStatus
from jobman_core.models.usage import Prices, Share, Usage
from jobman_core.models.view import HostView, JobDetail, QueueView, QueueWorkers
from jobman_slackbot import actions
from jobman_slackbot.actions import Thing
from jobman_slackbot.blocks import View
from jobman_slackbot.commands.table import CHANGES
from jobman_slackbot.views import jobs, queues, reports, words
from jobman_slackbot.views.paging import Place

NOW = datetime(2026, 3, 9, 14, 0, tzinfo=UTC)
#: Names, reasons and outputs of people who mean no good, or had an accident.
WORDS = st.sampled_from(
    [
        "",
        "train",
        "<!channel> <@U0123456789> <https://evil.example|your bank>",
        "```*bold* _it_ ~no~ `code`",
        "\0\x1b[31m\u202e\u200b\r\n\ud800",
        "😀" * 400,
        "&<>" * 20_000,
        "word " * 8_000,
    ]
)
MOMENTS = st.timedeltas(timedelta(days=-4000), timedelta(days=400)).map(lambda by: NOW + by)
NUMBERS = st.integers(0, 10**12)


def built(cls: Any, **given: Any) -> st.SearchStrategy[Any]:
    return st.builds(
        cls, **{k: v if isinstance(v, st.SearchStrategy) else st.just(v) for k, v in given.items()}
    )


THINGS = built(Thing, id="000001", name=WORDS, shown=WORDS, mark="")
JOBS = built(
    JobView,
    id=st.integers(1, 999_999).map("{:06d}".format),
    user=WORDS,
    name=WORDS,
    accelerator=WORDS,
    zone=WORDS,
    ip=st.none() | WORDS,
    status=st.sampled_from(JobStatus),
    reason=WORDS,
    running=st.none() | WORDS,
    submitted=MOMENTS,
    recoveries=NUMBERS,
    cores=NUMBERS,
    desired=st.sampled_from(Desired),
    controller=st.sampled_from(Liveness),
)
ATTEMPTS = built(
    Attempt,
    token="t",
    job="000001",
    generation=1,
    number=NUMBERS,
    run_id="r",
    claimed_at=MOMENTS,
    task=st.none() | WORDS,
    ended_at=st.none() | MOMENTS,
    end_cause=st.none() | WORDS,
    outcome=st.none()
    | built(Outcome, kind=st.sampled_from(OutcomeKind), cause=WORDS, detail=WORDS),
)
SLICES = built(
    Slice,
    job="000001",
    generation=1,
    request=built(SliceRequest, cloud="gcp", accelerator=WORDS, zone=WORDS),
    identity=built(
        SliceIdentity, name=WORDS, zone=WORDS, home="h", owner=WORDS, job="000001", generation=1
    ),
    requested_at=MOMENTS,
    state=WORDS,
    phase=st.sampled_from(SlicePhase),
    detail=WORDS,
    ready_at=st.none() | MOMENTS,
    gone_at=st.none() | MOMENTS,
)
DETAILS = built(
    JobDetail,
    job=JOBS,
    slice=st.none() | SLICES,
    hosts=st.lists(built(HostView, index=NUMBERS, ip=st.none() | WORDS), max_size=64).map(tuple),
    attempts=st.lists(ATTEMPTS, max_size=30).map(tuple),
    events=st.lists(built(Event, id=NUMBERS, at=MOMENTS, kind=WORDS, text=WORDS), max_size=30).map(
        tuple
    ),
    settings=st.fixed_dictionaries({"queue": WORDS}),
    folder=Path("/home/lab"),
)
TASKS = built(
    Task,
    queue="/q",
    spec=built(
        TaskSpec,
        id=WORDS,
        run="true",
        accelerator=WORDS,
        zone=st.none() | WORDS,
        hide=st.booleans(),
    ),
    counters=built(Counters, fail_count=NUMBERS, run_count=NUMBERS, priority=st.booleans()),
    status=st.sampled_from(TaskStatus),
    reason=WORDS,
    running=st.lists(built(Running, job="000001", started=MOMENTS, token="t"), max_size=20).map(
        tuple
    ),
)
QUEUES = built(
    QueueView,
    path=Path("/q"),
    tasks=st.lists(TASKS, max_size=60).map(tuple),
    workers=st.dictionaries(
        WORDS,
        built(QueueWorkers, working=st.lists(st.just("000001"), max_size=40).map(tuple)),
        max_size=12,
    ),
    problem=WORDS,
)
SHARES = built(
    Share,
    name=WORDS,
    hours=st.floats(0, 1e9),
    running=st.floats(0, 1e9),
    cost=st.none() | st.floats(0, 1e12),
)
USAGES = built(
    Usage,
    since=NOW,
    until=NOW,
    by="user",
    shares=st.lists(SHARES, max_size=60).map(tuple),
    total=SHARES,
    prices=built(Prices, of=date(2026, 1, 1), currency=WORDS),
    recovery=st.none() | st.floats(0, 1e6),
    notes=st.lists(WORDS, max_size=20).map(tuple),
)
REAPED = built(
    Reaped,
    found=st.lists(
        built(
            Dead,
            cloud="gcp",
            project=WORDS,
            zone=WORDS,
            name=WORDS,
            state=WORDS,
            why=WORDS,
            ours=st.booleans(),
            fate=st.sampled_from(Fate),
            since=MOMENTS,
            owner=st.none() | WORDS,
            trouble=WORDS,
        ),
        max_size=60,
    ).map(tuple),
    unseen=st.lists(st.tuples(WORDS, WORDS), max_size=20).map(tuple),
)
HOLDINGS = st.lists(
    built(
        Holding,
        cloud="gcp",
        project=WORDS,
        zone=WORDS,
        family=WORDS,
        pricing=WORDS,
        dead=NUMBERS,
        uncounted=st.just(0) | NUMBERS,
        limit=st.none() | NUMBERS,
        trouble=st.just("") | WORDS,
    ),
    max_size=60,
)
PAGES = st.integers(-1, 40)
VIEWS = st.one_of(
    st.builds(
        lambda found, page: jobs.jobs(found, Place("list", "", page)),
        st.lists(JOBS, max_size=60),
        PAGES,
    ),
    st.builds(lambda found: jobs.job(found, NOW), DETAILS),
    st.builds(
        lambda found, name, page: queues.queue(found, name, Place("queue", "k", page)),
        QUEUES,
        WORDS,
        PAGES,
    ),
    st.builds(
        lambda found, whose: reports.usage(found, "the last day", whose=whose), USAGES, WORDS
    ),
    st.builds(lambda found: reports.reaped(found, NOW), REAPED),
    HOLDINGS.map(lambda held: reports.quota(Quota(tuple(held)))),
    st.lists(WORDS, max_size=60).map(queues.which),
    st.builds(
        lambda change, things, value: actions.question(change, things, value, []),
        st.sampled_from(list(CHANGES.values())),
        st.lists(
            built(Thing, id="000001", name=WORDS, shown=WORDS, mark=""), min_size=1, max_size=40
        ),
        st.integers(1, 2000).map(lambda size: "x" * size),
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(VIEWS)
def test_whatever_there_is_fits_into_a_message(view: View) -> None:
    assert of_message({"text": view.text, "blocks": list(view.blocks)}) is None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(VIEWS)
def test_nobody_is_called_and_nothing_is_linked_by_the_names_of_things(view: View) -> None:
    shown = json.dumps([view.text, list(view.blocks)], ensure_ascii=False)
    marked = [view.text, *_markup(list(view.blocks))]
    assert not any(bad in one for one in marked for bad in ("<!channel", "<@U", "<https"))
    assert "\\u0000" not in shown
    assert "\u202e" not in shown


def _markup(value: Any) -> list[str]:
    """Every text that Slack reads as markup."""
    if isinstance(value, list):
        return [found for one in value for found in _markup(one)]
    if not isinstance(value, dict):
        return []
    if value.get("type") == "mrkdwn":
        return [value["text"]]
    return [found for one in value.values() for found in _markup(one)]


def _job(number: int) -> JobView:
    return JobView(
        id=f"{number:06d}",
        user="ada",
        name=f"train_{number:06d}",
        accelerator="v4-8",
        zone="us-central2-b",
        ip=None,
        status=JobStatus.RUNNING,
        reason="its command",
        running="command",
        submitted=NOW,
        recoveries=0,
        cores=8,
        desired=Desired.RUNNING,
        controller=Liveness.ALIVE,
    )


def _rows(view: View) -> list[list[str]]:
    tables = [block for block in view.blocks if block["type"] == "table"]
    return [[cell["text"] for cell in row] for table in tables for row in table["rows"][1:]]


def _buttons(view: View) -> dict[str, Place]:
    return {
        button["text"]["text"]: Place.unpacked(button["value"])
        for block in view.blocks
        if block["type"] == "actions"
        for button in block["elements"]
    }


def _all_pages(show: Callable[[Place], View], place: Place) -> list[list[str]]:
    rows = []
    while True:
        view = show(place)
        rows += _rows(view)
        if "Next" not in (buttons := _buttons(view)):
            return rows
        place = buttons["Next"]


def test_a_list_of_few_jobs_is_one_page_with_no_buttons_newest_first() -> None:
    view = jobs.jobs([_job(1), _job(2)], Place("list"))
    assert [row[0] for row in _rows(view)] == ["000002", "000001"]
    assert _buttons(view) == {}
    assert view.text == "*2 jobs*: 2 running"


def test_every_job_of_a_long_list_is_on_one_of_its_pages() -> None:
    views = [_job(number) for number in range(1, 500)]
    rows = _all_pages(lambda place: jobs.jobs(views, place), Place("list"))
    assert [row[0] for row in rows] == [view.id for view in reversed(views)]


def test_a_list_that_has_become_shorter_shows_its_last_page() -> None:
    views = [_job(number) for number in range(1, 200)]
    assert _rows(jobs.jobs(views, Place("list", "", 99)))[-1][0] == "000001"


def _task(number: int, status: TaskStatus) -> Task:
    return Task("/q", TaskSpec(f"sweep-{number}", "true", "v4-8"), Counters(), status, "")


def test_ten_thousand_tasks_are_paged_what_runs_first() -> None:
    tasks = [
        _task(n, TaskStatus.RUNNING if n % 5000 == 7 else TaskStatus.DONE) for n in range(10_000)
    ]
    view = QueueView(Path("/q"), tuple(tasks), {})
    first = queues.queue(view, "tasks.yaml", Place("queue", "k"))
    assert first.text == "`tasks.yaml`: *10,000 tasks*: 9,998 done, 2 running"
    assert [row[0] for row in _rows(first)][:3] == ["sweep-7", "sweep-5007", "sweep-0"]
    last = queues.queue(view, "tasks.yaml", _buttons(first)["Last"])
    assert _rows(last)[-1][0] == "sweep-9999"
    assert set(_buttons(last)) == {"First", "Previous"}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (61, "1m 1s"), (3 * 3600, "3h 0m"), (90_000, "1d 1h"), (-5, "0s")],
)
def test_a_span_is_told_in_its_two_greatest_units(seconds: float, shown: str) -> None:
    assert words.span(seconds) == shown


def test_queues_are_called_by_as_much_of_their_path_as_tells_them_apart() -> None:
    paths = [Path("/lab/a/tasks.yaml"), Path("/lab/b/tasks.yaml"), Path("/lab/sweep.yaml")]
    assert [queues.name_of(path, paths) for path in paths] == [
        "a/tasks.yaml",
        "b/tasks.yaml",
        "sweep.yaml",
    ]


def test_a_report_of_several_ends_with_the_whole() -> None:
    shares = (Share("ada", 8.0, 6.0, 0.4, 1.6, cost=25.8), Share("eve", 1.0))
    prices = Prices(date(2026, 1, 1))
    found = Usage(NOW, NOW, "user", shares, Share("", 9.0), prices)
    rows = _rows(reports.usage(found, "the last day"))
    assert [row[0] for row in rows] == ["ada", "eve", "total"]
    assert rows[0] == ["ada", "8.0", "75%", "5%", "20%", "0.0", "0", "0", "0", "25.80 USD"]
    alone = attrs.evolve(found, shares=shares[:1])
    assert [row[0] for row in _rows(reports.usage(alone, "the last day", whose="ada"))] == ["ada"]


def test_a_zone_that_could_not_be_asked_is_told_and_is_no_row_of_zeros() -> None:
    held = Holding("gcp", "lab", "zone-a", "v4", "spot", ready=8)
    unseen = Holding("gcp", "lab", "zone-b", "", "", trouble="no answer")
    odd = Holding("gcp", "lab", "zone-a", "v9x-64", "spot", uncounted=2)
    free = Holding("gcp", "lab", "zone-c", "v6e", "spot", limit=64, limited_in="zone-c", used=0)
    used = Allowance("zone", ("zone-a",), "external IPs", 8, used=8)
    view = reports.quota(Quota((held, unseen, odd, free), (("gcp", "lab", used),)))
    assert [row[0] for row in _rows(view)] == ["v4", "v9x-64"]
    shown = json.dumps(view.blocks)
    assert "nothing is known of zone-b: no answer" in shown
    assert "2 slices of type v9x-64 in zone-a not counted" in shown
    assert "all 8 external IPs of zone are in use" in shown
    assert not [
        block for block in reports.quota(Quota((unseen,))).blocks if block["type"] == "table"
    ]


def test_what_is_only_noted_says_when_it_is_to_be_deleted() -> None:
    noted = Dead(
        "gcp",
        "lab",
        "zone-a",
        "train-000003-g2",
        "PREEMPTED",
        "it is PREEMPTED",
        True,
        Fate.NOTED,
        NOW - timedelta(minutes=3),
        owner="ada",
        job="000003",
        due=NOW + timedelta(minutes=12),
    )
    (row,) = _rows(reports.reaped(Reaped((noted,)), NOW))
    assert row == [
        "train-000003-g2",
        "zone-a",
        "ada, job 000003",
        "3m 0s",
        "noted",
        "it is PREEMPTED; to be deleted after 12m 0s more",
    ]


def test_a_home_without_slices_has_nothing_that_could_be_dead() -> None:
    assert "no zone to look at" in reports.reaped(Reaped(()), NOW).text
    assert reports.reaped(Reaped((), looked=("zone-a",)), NOW).text == "nothing is dead in zone-a"


def test_costs_by_prices_of_no_list_are_said_to_be_by_the_labs_own() -> None:
    own = Usage(NOW, NOW, "user", (), Share(""), Prices(None, "EUR"))
    assert reports.remarks(own)[0] == "costs are estimates, by the lab's own prices"
    listed = attrs.evolve(own, prices=Prices(date(2026, 1, 1), source="a list"))
    assert reports.remarks(listed)[0] == "costs are estimates, by prices of 2026-01-01"
