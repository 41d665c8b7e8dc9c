"""``jobman monitor``: the live view, with keys pressed as a user does, and one look printed."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest
from tests.cli.conftest import NOW, Cli, FakeApp
from tests.cli.test_monitor_rows import queue_of, slice_of

from jobman_cli.monitor.app import Monitor
from jobman_cli.monitor.choice import Choice
from jobman_cli.monitor.jobs import Jobs
from jobman_cli.monitor.log import Log
from jobman_cli.monitor.parts import Scope
from jobman_cli.monitor.queues import Queues
from jobman_cli.monitor.slices import Slices
from jobman_core.errors import NotYoursError, StoreError
from jobman_core.models.event import Event
from jobman_core.models.status import JobStatus
from jobman_core.models.task import TaskStatus
from jobman_core.models.view import LogChunk

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from jobman_core.app import App


@pytest.fixture
def lab(app: FakeApp) -> FakeApp:
    """Two jobs, a slice, a queue with a task, and an event."""
    app.add_job("000001", status=JobStatus.RUNNING, reason="task train")
    app.add_job("000002", status=JobStatus.QUEUEING, user="bob", reason="no capacity", cores=0)
    app.slices.append(slice_of("000001"))
    app.add_task("train", TaskStatus.RUNNING, "on job 000001", running=["000001"])
    queue = queue_of()
    tally = attrs.evolve(queue.tally, tasks=tuple(app.tasks.values()))
    app.queue_looks.append(attrs.evolve(queue, tally=tally))
    app.events.append(Event(1, NOW, "job.created", "job 000001 created by alice", "000001"))
    return app


class Person:
    """Somebody who looks at the view and presses keys."""

    def __init__(self, monitor: Monitor, pilot: "Pilot[None]") -> None:
        self.monitor = monitor
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)
        await self._pilot.pause()

    @property
    def screen(self) -> str:
        """What is on the terminal."""
        screen = self.monitor.screen
        strips = screen._compositor.render_strips(screen.size)
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def sees(self, text: str) -> None:
        """Wait until something is on the terminal."""
        await self.until(lambda: text in self.screen, text)

    async def misses(self, text: str) -> None:
        await self.until(lambda: text not in self.screen, f"no {text}")

    async def until(self, true: Callable[[], bool], what: str) -> None:
        for _ in range(500):
            if true():
                return
            await self._pilot.pause(0.02)
        pytest.fail(f"never seen: {what}; but\n{self.screen}")


@asynccontextmanager
async def looking(
    cli: Cli,
    *,
    size: tuple[int, int] = (80, 24),
    choice: Choice | None = None,
    scope: Scope | None = None,
    every: float = 0.05,
) -> AsyncIterator[Person]:
    core = cast("App", cli.app)
    parts = (Jobs(), Slices(), Queues(cli.app.home), Log())
    monitor = Monitor(
        core,
        cli.front(tty=True, columns=size[0]),
        parts,
        choice=choice or Choice(),
        scope=scope or Scope(),
        every=every,
    )
    async with monitor.run_test(size=size) as pilot:
        await pilot.pause()
        yield Person(monitor, pilot)
    if monitor.fault is not None:
        raise monitor.fault


def calls(app: FakeApp, method: str) -> list[tuple[Any, ...]]:
    return [call[1:] for call in app.calls if call[0] == method]


async def test_all_of_a_home_is_seen_on_a_small_terminal(cli: Cli, lab: FakeApp) -> None:
    async with looking(cli) as person:
        await person.sees("2 jobs  1 QUEUEING  1 RUNNING  cores: us-central2-b 8")
        for text in ("000001", "no capacity", "hello-000001-g1", "5/8", "job.created", "q quit"):
            await person.sees(text)
        assert max(map(len, person.screen.splitlines())) <= 80


async def test_a_change_is_seen_in_place_and_times_go_on_without_reading(
    cli: Cli, lab: FakeApp
) -> None:
    clock = {"now": NOW}
    cli.clock = lambda: clock["now"]
    lab.jobs["000001"] = attrs.evolve(lab.jobs["000001"], since=NOW)
    async with looking(cli) as person:
        await person.sees("RUNNING   0s")
        looks = len(calls(lab, "overview"))
        clock["now"] += timedelta(seconds=63)
        await person.sees("RUNNING   1m 03s")
        assert len(calls(lab, "overview")) == looks
        lab.add_job("000001", status=JobStatus.DONE)
        lab.version += 1
        await person.sees("DONE")


async def test_a_store_that_cannot_be_read_for_a_moment_is_told_and_the_rest_stays(
    cli: Cli, lab: FakeApp
) -> None:
    async with looking(cli) as person:
        await person.sees("000001")
        lab.errors["changes", None] = StoreError("the database is locked: try again")
        await person.sees("cannot be read now: error: the database is locked")
        assert "000001" in person.screen
        lab.errors.clear()
        await person.misses("cannot be read")


async def test_parts_are_switched_by_keys_and_the_last_one_stays(cli: Cli, lab: FakeApp) -> None:
    async with looking(cli) as person:
        await person.sees("hello-000001-g1")
        await person.press("2")
        await person.misses("hello-000001-g1")
        await person.press("3", "4", "1")
        assert person.monitor.choice.parts == ("jobs",)
        await person.press("2")
        await person.sees("hello-000001-g1")


async def test_rows_are_filtered_while_one_writes(cli: Cli, lab: FakeApp) -> None:
    async with looking(cli) as person:
        await person.sees("no capacity")
        await person.press("slash", *"TRAIN")
        await person.misses("no capacity")
        await person.sees("filter: train")
        await person.press("enter", "escape")
        await person.sees("no capacity")
        await person.press("m")
        await person.misses("no capacity")


async def test_rows_are_sorted_by_keys(cli: Cli, lab: FakeApp) -> None:
    def first() -> str:
        return person.screen.splitlines()[2][:6]

    async with looking(cli) as person:
        await person.sees("JOB↑")
        await person.press("s")
        await person.sees("STATUS↑")
        assert first() == "000002", "what waits comes before what runs"
        await person.press("S")
        await person.sees("STATUS↓")
        assert first() == "000001"
        assert person.monitor.choice.orders == {"jobs": ("STATUS", True)}


async def test_the_cursor_stays_on_its_job_when_rows_move(cli: Cli, lab: FakeApp) -> None:
    async with looking(cli) as person:
        await person.sees("000002")
        await person.press("down", "s")
        assert person.monitor.grids["jobs"].chosen.id == "000002"
        await person.press("up", "pagedown", "home", "end")
        assert person.monitor.grids["jobs"].chosen.id == "000001"


async def test_a_job_is_stopped_after_a_yes_and_the_answer_is_told(cli: Cli, lab: FakeApp) -> None:
    async with looking(cli) as person:
        await person.sees("000001")
        await person.press("x")
        await person.sees("stop job 000001 (hello_000001, v4-8, RUNNING)?")
        await person.press("n")
        await person.sees("nothing was done")
        assert not calls(lab, "stop")
        await person.press("x", "y")
        await person.sees("job 000001 is IDLE: stop went well")
        assert calls(lab, "stop") == [("000001",)]


async def test_a_refusal_is_told_and_the_view_goes_on(cli: Cli, lab: FakeApp) -> None:
    lab.errors["stop", "000002"] = NotYoursError("job 000002 belongs to bob: ask them")
    async with looking(cli) as person:
        await person.sees("000002")
        await person.press("down", "x", "y")
        await person.sees("error: job 000002 belongs to bob: ask them")
        await person.press("up", "x", "y")
        await person.sees("stop went well")


async def test_a_job_is_resumed_and_asked_about_only_if_something_is_lost(
    cli: Cli, lab: FakeApp
) -> None:
    async with looking(cli) as person:
        await person.sees("000001")
        await person.press("r")
        await person.sees("resume went well")
        lab.lost = ("gives its slice back",)
        await person.press("r")
        await person.sees("job 000001 gives its slice back: go on? [y/N]")
        await person.press("n")
        assert len(calls(lab, "resume")) == 1


async def test_a_task_is_put_first_and_on_a_queue_one_that_is_named(cli: Cli, lab: FakeApp) -> None:
    queue = Path("/home/alice/exp/tasks.yaml")
    async with looking(cli) as person:
        await person.sees("5/8")
        await person.press("p")
        await person.sees("no queue or task is chosen")
        await person.press("tab", "tab", "enter")
        await person.sees("on job 000001")
        await person.press("down", "p")
        await person.sees("task train is put first")
        await person.press("up", "p", *"eval", "enter")
        await person.sees("task eval is put first")
    assert calls(lab, "prioritize") == [(queue, "train"), (queue, "eval")]


async def test_all_about_a_job_is_shown_and_escape_goes_back(cli: Cli, lab: FakeApp) -> None:
    async with looking(cli) as person:
        await person.sees("000001")
        await person.press("enter")
        await person.sees("/home/alice/exp/jobs/alice/000001")
        await person.press("escape")
        await person.sees("q quit")
        await person.press("question_mark")
        await person.sees("put a task first in its queue")
        await person.press("q")
        await person.sees("q quit")


async def test_a_page_is_broken_anew_when_the_terminal_gets_narrower(
    cli: Cli, lab: FakeApp
) -> None:
    async with looking(cli, size=(100, 30)) as person:
        await person.press("question_mark")
        await person.sees("PgUp PgDn Home End, or j k g G")
        await person.resize(40, 30)
        await person.sees("PgUp PgDn Home End, or j\nk g G")


async def test_a_log_is_followed_on_the_whole_terminal(cli: Cli, lab: FakeApp) -> None:
    lab.chunks = [
        LogChunk("train", 3, 0, b"".join(b"step %d\n" % i for i in range(900))),
        LogChunk("train", 3, 0, b"\x1b[31mloss\x1b[0m 0.5\n10%\r99%"),
    ]
    async with looking(cli) as person:
        await person.sees("000001")
        await person.press("l")
        await person.sees("-- the end --")
        for text in ("log of job 000001", "step 899", "loss 0.5", "99%"):
            assert text in person.screen
        assert "10%" not in person.screen
        await person.press("home")
        await person.sees("==> task train, run 3 <==")
        await person.press("escape")
        await person.sees("q quit")
    assert calls(lab, "logs")[0] == (True, "000001", 200_000, 500)


async def test_what_happens_comes_in_at_the_top_of_the_log_and_fills_what_is_left(
    cli: Cli, lab: FakeApp
) -> None:
    async with looking(cli, size=(80, 40)) as person:
        await person.sees("job 000001 created by alice")
        lab.events += [Event(2 + i, NOW, "test", f"number {i}", "000001") for i in range(90)]
        lab.version += 1
        await person.sees("number 89")
        await person.sees("number 70")


async def test_another_size_is_filled(cli: Cli, lab: FakeApp) -> None:
    for number in range(3, 40):
        lab.add_job(f"{number:06d}")
    async with looking(cli) as person:
        await person.sees("of 39")
        await person.resize(160, 60)
        await person.sees("000039")
        await person.misses("of 39")
        await person.resize(40, 10)
        await person.sees("of 39")
        assert max(map(len, person.screen.splitlines())) <= 40


async def test_an_empty_home_says_what_to_do(cli: Cli) -> None:
    async with looking(cli) as person:
        await person.sees("no jobs: `jobman create job.yaml` makes one")
        await person.press("p", "s", "down", "enter", "l", "x")
        await person.sees("no job is chosen")


async def test_hostile_names_are_shown_as_they_are(cli: Cli, app: FakeApp) -> None:
    app.add_job("000001", name="[red]x[/] \x1b[2J", reason="[b]日本語[/b]")
    async with looking(cli, size=(120, 20)) as person:
        await person.sees(r"[red]x[/] \x1b[2J")
        await person.sees("[b]日本語[/b]")
        await person.press("x")
        await person.sees(r"stop job 000001 ([red]x[/] \x1b[2J")


async def test_a_fault_of_ours_is_not_swallowed(cli: Cli, lab: FakeApp) -> None:
    lab.errors["stop", "000001"] = ZeroDivisionError("a bug")
    async with looking(cli) as person:
        await person.sees("000001")
        await person.press("x", "y")
        await person.until(lambda: person.monitor.fault is not None, "the fault")
        assert isinstance(person.monitor.fault, ZeroDivisionError)
        person.monitor.fault = None


def test_one_look_is_printed(cli: Cli, lab: FakeApp) -> None:
    code, out, err = cli("monitor", "--once", "--show", "jobs,queues", tty=True)
    assert (code, err) == (0, "")
    assert out.startswith("2 jobs  1 QUEUEING  1 RUNNING")
    assert "5/8" in out
    assert "hello-000001-g1" not in out
    assert "\x1b[" in cli.colours("monitor", "--once").out


def test_in_a_pipe_one_look_is_printed_and_that_is_told(cli: Cli, lab: FakeApp) -> None:
    lab.add_job("000003", reason="r" * 300)
    code, out, err = cli("monitor")
    assert code == 0
    assert "r" * 300 in out
    assert err == "no terminal to draw on: this is one view, as of --once\n"


def test_one_look_as_json(cli: Cli, lab: FakeApp) -> None:
    code, out, err = cli("monitor", "1", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [job["id"] for job in found["jobs"]] == ["000001"]
    assert found["slices"][0]["name"] == "hello-000001-g1"
    assert found["queues"][0]["counts"] == {"DONE": 5, "RUNNING": 2, "FAILED": 1}
    assert found["queues"][0]["workers"]["v4-8"]["idle"] == ["000003"]
    assert found["log"][0]["job"] == "000001"
    assert [*json.loads(cli("monitor", "--json", "--show", "jobs").out)] == ["jobs"]


def test_a_part_that_there_is_not_is_refused(cli: Cli) -> None:
    code, out, err = cli("monitor", "--once", "--show", "job")
    assert (code, out) == (2, "")
    assert "name some of jobs, slices, queues, log" in err


def test_an_empty_home_prints_what_to_do(cli: Cli) -> None:
    code, out, err = cli("monitor", "--once")
    assert (code, out) == (0, "")
    assert "`jobman create job.yaml` makes one" in err
