"""What the live view shows, and how it fits a terminal: no terminal is needed for that."""

from datetime import UTC, datetime, timedelta
from pathlib import PurePath
from typing import Any

import attrs
import pytest
from tests.cli.conftest import NOW, FakeApp

from jobman_cli import output
from jobman_cli.monitor.choice import PARTS, Choice, load, parts_of, save
from jobman_cli.monitor.feed import Feed, pause
from jobman_cli.monitor.fit import Column, Place, fit, heights, joined, line
from jobman_cli.monitor.following import Splitter, shown
from jobman_cli.monitor.jobs import Jobs
from jobman_cli.monitor.log import Log
from jobman_cli.monitor.once import lines
from jobman_cli.monitor.parts import Part, Scope, summary
from jobman_cli.monitor.queues import Queues, bar
from jobman_cli.monitor.slices import Slices
from jobman_cli.output import Cell
from jobman_core.errors import InvalidInputError, StoreError
from jobman_core.models.event import Event
from jobman_core.models.overview import Overview, QueueLook
from jobman_core.models.queue import Queue, Tally
from jobman_core.models.slice import Slice, SliceIdentity, SlicePhase, SliceRequest
from jobman_core.models.status import JobStatus
from jobman_core.models.task import TaskStatus
from jobman_core.models.view import LogChunk, QueueWorkers

ALL = Scope()


def slice_of(job: str, **changes: Any) -> Slice:
    request = SliceRequest("gcp", "v4-8", "us-central2-b", "spot")
    identity = SliceIdentity(f"hello-{job}-g1", "us-central2-b", "uuid", "alice", job, 1)
    plain = Slice(job, 1, request, identity, NOW, "READY", SlicePhase.READY, ready_at=NOW)
    return attrs.evolve(plain, **changes)


def queue_of(path: str = "/home/alice/exp/tasks.yaml", problem: str = "") -> QueueLook:
    counts = {TaskStatus.DONE: 5, TaskStatus.RUNNING: 2, TaskStatus.FAILED: 1}
    workers = {"v4-8": QueueWorkers(working=("000001", "000002"), idle=("000003",))}
    return QueueLook(Tally(Queue(path, "", problem=problem), counts), workers)


def texts(part: Part[Any], look: Overview, scope: Scope = ALL, order: str = "") -> list[str]:
    """Give the rows, each with what it says and spaces between."""
    items = part.arrange(look, scope, order, NOW)
    return [" ".join(cell.text for cell in part.cells(item, NOW) if cell.text) for item in items]


def jobs_of(app: FakeApp) -> Overview:
    return Overview(tuple(app.jobs.values()))


def test_a_waiting_job_says_first_when_it_tries_again(app: FakeApp) -> None:
    app.add_job(
        "000001",
        status=JobStatus.QUEUEING,
        reason="no capacity in us-central1-b",
        next_try=NOW + timedelta(seconds=40),
    )
    (row,) = texts(Jobs(), jobs_of(app))
    assert "next try in 40 s: no capacity in us-central1-b" in row


@pytest.mark.parametrize(
    ("since", "said"),
    [(timedelta(seconds=75), "1m 15s"), (timedelta(minutes=25, seconds=9), "25m"),
     (timedelta(hours=2, minutes=5), "2h 05m")],
)  # fmt: skip
def test_only_short_times_go_on_by_the_second(app: FakeApp, since: timedelta, said: str) -> None:
    view = app.add_job("000001", since=NOW - since)
    assert Jobs().cells(view, NOW)[2].text == said


def test_rows_are_sorted_by_what_one_likes_and_what_needs_somebody_comes_first(
    app: FakeApp,
) -> None:
    app.add_job("000001", status=JobStatus.DONE, user="eve")
    app.add_job("000002", status=JobStatus.RUNNING, user="bob")
    app.add_job("000003", status=JobStatus.FAILED, user="ada")
    look = jobs_of(app)
    assert [row[:6] for row in texts(Jobs(), look)] == ["000001", "000002", "000003"]
    assert [row[:6] for row in texts(Jobs(), look, order="STATUS")] == [
        "000003",
        "000002",
        "000001",
    ]
    turned = Jobs().arrange(look, ALL, "USER", NOW, turned=True)
    assert [view.user for view in turned] == ["eve", "bob", "ada"]


def test_words_users_and_ids_choose_the_rows(app: FakeApp) -> None:
    app.add_job("000001", user="alice", name="Sweep-7")
    app.add_job("000002", user="bob", name="sweep-8")
    look = attrs.evolve(jobs_of(app), slices=(slice_of("000001"), slice_of("000002")))
    for scope in (Scope(user="alice"), Scope(jobs={"000001"}), Scope(words=("sweep", "-7"))):
        assert [row[:6] for row in texts(Jobs(), look, scope)] == ["000001"]
    assert len(texts(Slices(), look, Scope(user="bob"))) == 1
    assert summary(look, Scope(user="bob"))[0].text == "1 job"


def test_a_slice_says_what_it_is_and_that_it_costs() -> None:
    gone = slice_of("000002", withdrawn=True, phase=SlicePhase.DELETING, state="DELETING")
    ready, leaving = texts(Slices(), Overview(slices=(slice_of("000001"), gone)))
    for word in ("hello-000001-g1", "READY", "v4-8", "us-central2-b", "spot", "costs"):
        assert word in ready
    assert "is being given back" in leaving
    assert "costs" not in leaving


def test_a_queue_shows_how_far_it_is_and_what_its_workers_do() -> None:
    look = Overview(queues=(queue_of(problem="tasks.yaml:3:1: no such key"),))
    (row,) = texts(Queues(PurePath("/home/alice/exp")), look)
    for words in ("tasks.yaml ", "5/8", "2 RUNNING, 1 FAILED", "2 working, 1 idle", "no such key"):
        assert words in row
    assert "/home" not in row, "what lies below the home is named from there"


def test_an_opened_queue_shows_its_tasks(app: FakeApp) -> None:
    app.add_task("train", TaskStatus.RUNNING, "on job 000001", running=["000001"])
    queue = queue_of()
    queue = attrs.evolve(queue, tally=attrs.evolve(queue.tally, tasks=(app.tasks["train"],)))
    path = queue.tally.queue.path
    rows = texts(Queues(PurePath("/")), Overview(queues=(queue,)), Scope(open={path}))
    assert len(rows) == 2
    assert "train" in rows[1]
    assert "on job 000001" in rows[1]


def test_a_queue_belongs_to_those_whose_jobs_work_on_it(app: FakeApp) -> None:
    app.add_job("000001")
    app.add_job("000009", user="bob")
    look = attrs.evolve(jobs_of(app), queues=(queue_of(),))
    queues = Queues(PurePath("/"))
    assert len(texts(queues, look, Scope(user="alice"))) == 1
    assert texts(queues, look, Scope(user="bob")) == []


def test_the_newest_event_stands_first() -> None:
    events = tuple(Event(i, NOW, "job.created", f"number {i}", "000001") for i in (1, 2))
    assert [row[-8:] for row in texts(Log(), Overview(events=events))] == ["number 2", "number 1"]


@pytest.mark.parametrize(
    ("done", "total", "drawn"), [(0, 0, 0), (1, 100, 0), (99, 100, 7), (4, 4, 8)]
)
def test_a_bar_is_full_only_when_all_is_done(done: int, total: int, drawn: int) -> None:
    assert bar(done, total, 8) == "█" * drawn + "░" * (8 - drawn)


COLUMNS = (Column("ID"), Column("NAME", most=12, drop=1), Column("ZONE", drop=2), Column("WHAT"))


def cells(*words: str) -> list[Cell]:
    return [Cell(word) for word in words]


@pytest.mark.parametrize(
    ("room", "places"),
    [
        (100, [Place(0, 6), Place(1, 12), Place(2, 13), Place(3, 63)]),
        (50, [Place(0, 6), Place(1, 12), Place(3, 28)]),
        (34, [Place(0, 6), Place(3, 26)]),
    ],
)
def test_what_does_not_fit_is_left_out_in_order(room: int, places: list[Place]) -> None:
    row = cells("000001", "a-rather-long-name", "us-central2-b", "its command")
    assert fit(COLUMNS, [row], room) == places


def test_a_column_that_has_nothing_to_say_is_left_out() -> None:
    found = fit(COLUMNS, [cells("000001", "hello", "", "its command")], 80)
    assert [place.column for place in found] == [0, 1, 3]


def test_in_a_pipe_nothing_is_cut() -> None:
    row = cells("000001", "n" * 50, "z" * 50, "w" * 200)
    found = fit(COLUMNS, [row], None)
    assert "w" * 200 in "".join(cell.text for cell in line(row, found))


@pytest.mark.parametrize(
    "text", ["\x1b[2J\x1b[31mred", "[red]not markup[/]", "a\nb\tc", "日本語" * 9, "\u202eabc"]
)
def test_hostile_names_neither_steer_the_terminal_nor_break_the_table(
    app: FakeApp, text: str
) -> None:
    app.add_job("000001", name=text, user=text, reason=text)
    printed = lines(jobs_of(app), [Jobs()], ALL, choice=Choice(), now=NOW, room=80)
    assert all(row.isprintable() for row in printed)
    assert all(output.width(row) <= 80 for row in printed)


def test_what_a_line_has_no_room_for_is_cut_with_a_mark() -> None:
    cells = [Cell("200 jobs"), Cell("7 RUNNING", "green"), Cell("cores: us-central2-b 64")]
    shown = "".join(cell.text for cell in joined(cells, 30)).rstrip()
    assert shown == "200 jobs  7 RUNNING  cores…"
    assert joined(cells, 3)[0].text.rstrip() == "20…"


@pytest.mark.parametrize("room", range(24))
def test_lines_are_shared_so_that_every_part_is_seen(room: int) -> None:
    given = heights(room, [(201, 4), (201, 2), (1, 2), (7, 1)])
    assert sum(given) == room
    assert all(got <= want for got, want in zip(given, (201, 201, 1, 7), strict=True))
    if room >= 10:
        assert all(given)
        assert given[0] == max(given)


def test_lines_that_nobody_wants_are_left() -> None:
    assert heights(22, [(3, 4), (2, 1)]) == [3, 2]


def test_a_choice_is_kept_and_one_that_cannot_be_read_is_none(tmp_path: Any) -> None:
    place = tmp_path / "state" / "monitor.json"
    assert load(place) == Choice()
    choice = Choice(("jobs", "log"), {"jobs": ("STATUS", True)})
    save(place, choice)
    assert load(place) == choice
    assert [path.name for path in place.parent.iterdir()] == ["monitor.json"]
    for text in ("{", "[]", '{"parts": 3, "orders": {}}', '{"parts": [], "orders": {"jobs": 1}}'):
        place.write_text(text)
        assert load(place) == Choice()
    save(tmp_path / "state" / "monitor.json" / "x", choice)


def test_the_last_part_cannot_be_hidden() -> None:
    choice = Choice()
    for part in PARTS:
        choice = choice.switched(part)
    assert choice.parts == ("log",)
    assert choice.switched("jobs").parts == ("jobs", "log")


def test_parts_are_named_with_commas_between() -> None:
    assert parts_of("queues, jobs") == ("jobs", "queues")
    for wrong in ("jobs,queue", "", ","):
        with pytest.raises(InvalidInputError, match="name some of jobs, slices, queues, log"):
            parts_of(wrong)


class Clocks:
    def __init__(self) -> None:
        self.now = 0.0


async def test_the_home_is_read_only_when_it_has_changed_or_after_a_while(app: FakeApp) -> None:
    clocks = Clocks()
    feed = Feed(app, monotonic=lambda: clocks.now)  # type: ignore[arg-type]
    assert await feed.look() is not None
    assert await feed.look() is None
    app.version += 1
    assert await feed.look() is not None
    assert await feed.look(anyway=True) is not None
    clocks.now += 11
    assert await feed.look() is not None, "controllers die without a word"


async def test_a_home_that_cannot_be_read_is_read_again_afterwards(app: FakeApp) -> None:
    feed = Feed(app)  # type: ignore[arg-type]
    app.errors["overview", None] = StoreError("the disk gave an error: check it")
    with pytest.raises(StoreError):
        await feed.look()
    app.errors.clear()
    assert await feed.look() is not None


def test_looking_takes_a_hundredth_of_the_time_at_most() -> None:
    assert pause(2.0, 0.005) == 2.0
    assert pause(2.0, 0.06) == pytest.approx(6.0)
    assert pause(2.0, 9.0) == 10.0


@pytest.mark.parametrize(
    ("line", "left"),
    [("plain\r", "plain"), ("\x1b[1;31mloss\x1b[0m 0.5", "loss 0.5"), ("10%\r50%\r99%", "99%"),
     ("a\tb", "a       b"), ("\x1b]0;title\x07text\x07", r"text\x07")],
)  # fmt: skip
def test_a_line_of_a_log_is_what_a_terminal_would_have_left(line: str, left: str) -> None:
    assert shown(line) == left


def test_a_log_is_told_in_whole_lines_with_the_hosts_where_there_are_several() -> None:
    splitter = Splitter()
    assert splitter.lines(LogChunk(None, 1, 0, b"one\ntw")) == ["==> command, run 1 <==", "one"]
    assert splitter.begun() == ["tw"]
    assert splitter.lines(LogChunk(None, 1, 1, b"uno\n")) == ["[1] uno"]
    assert splitter.lines(LogChunk(None, 1, 0, b"o\n")) == ["[0] two"]
    assert splitter.lines(LogChunk(None, 2, 0, b"")) == ["==> command, run 2 <=="]
    assert splitter.lines(LogChunk(None, 2, 0, b"", notice="job is DONE")) == ["job is DONE"]


def test_moments_are_told_in_the_readers_zone() -> None:
    event = Event(1, datetime(2025, 3, 9, 13, 5, tzinfo=UTC), "x", "y")
    assert Log().cells(event, NOW)[0].text == "13:05:00"
