"""``queue``, over a core that is a fake."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from jobman_core.errors import NotYoursError, UnfinishedError
from jobman_core.models.task import Counters, Repo, TaskStatus
from jobman_core.models.view import Done, QueueWorkers

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp

NOW = datetime(2025, 3, 9, 14, 0, tzinfo=UTC)


@pytest.fixture
def full(app: "FakeApp") -> "FakeApp":
    app.add_job("000001")
    app.add_task(
        "base",
        TaskStatus.RUNNING,
        running=["000001"],
        counters=Counters(run_count=1, running=1),
        max_jobs=2,
    )
    app.add_task("tune", TaskStatus.WAITING, "waits for base", depends_on=("base",))
    app.add_task(
        "big",
        TaskStatus.FAILED,
        "failed 3 of 3: exit 1 on host 0",
        counters=Counters(failed=True, fail_count=3, run_count=3),
        accelerator="v6e-64",
        zone="us-east5-b",
    )
    app.add_task("probe", hide=True)
    app.workers = {"v4-8": QueueWorkers(("000001",), (), ("000002",))}
    return app


def calls(app: "FakeApp", method: str) -> list[tuple[Any, ...]]:
    return [call[1:] for call in app.calls if call[0] == method]


def test_a_task_shows_no_password_of_its_repository(cli: "Cli", full: "FakeApp") -> None:
    repo = Repo("https://me:hunter2@example.org/code.git", "main")
    full.add_task("tune", repo=repo)
    code, out, err = cli("queue", "--task", "tune")
    assert (code, err) == (0, "")
    assert "https://***@example.org/code.git at main" in out


def test_tasks_and_workers_stand_by_accelerator(cli: "Cli", full: "FakeApp") -> None:
    code, out, err = cli("queue", tty=True)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "/home/alice/exp/tasks.yaml",
        "▒▒▒▒▒▒▒▒▒▒xxxxxxxxxx░░░░░░░░░░░░░░░░░░░░",
        "0 of 4 tasks done, 1 running, 1 failed, 1 waiting, 1 pending",
        "",
        "v4-8",
        "  TASK  STATUS      FOR  RUNS  FAILS  WHAT",
        "  base  RUNNING  9m 00s     1    0/3  000001",
        "  tune  WAITING       -     0    0/3  waits for base",
        "  workers:  1 working (000001), 1 waiting for a slice (000002)",
        "",
        "v6e-64",
        "  TASK  STATUS  RUNS  FAILS  ZONE        WHAT",
        "  big   FAILED     3    3/3  us-east5-b  failed 3 of 3: exit 1 on host 0",
        "  workers:  none",
        "",
        "1 hidden: --show-all shows them",
    ]


def test_in_a_pipe_a_queue_has_no_bar(cli: "Cli", full: "FakeApp") -> None:
    assert cli("queue").out.splitlines()[:3] == [
        "/home/alice/exp/tasks.yaml",
        "0 of 4 tasks done, 1 running, 1 failed, 1 waiting, 1 pending",
        "",
    ]


@pytest.mark.parametrize(
    ("counts", "bar"),
    [
        ({}, ""),
        ({TaskStatus.DONE: 3}, "█" * 40),
        ({TaskStatus.DONE: 1, TaskStatus.PENDING: 1}, "█" * 20 + "░" * 20),
        ({TaskStatus.RUNNING: 1, TaskStatus.PENDING: 999}, "▒" + "░" * 39),
        ({TaskStatus.DONE: 998, TaskStatus.FAILED: 1, TaskStatus.RUNNING: 1}, "█" * 39 + "▒x"),
    ],
)
def test_a_bar_shows_whatever_there_is(
    cli: "Cli", app: "FakeApp", counts: dict[TaskStatus, int], bar: str
) -> None:
    for status, number in counts.items():
        for each in range(number):
            app.add_task(f"{status}-{each}", status)
    drawn = cli("queue", tty=True).out.splitlines()[1]
    assert drawn == bar if bar else drawn.startswith("0 of 0")


def test_a_task_whose_workers_wait_says_when_they_try_again(cli: "Cli", app: "FakeApp") -> None:
    app.add_task("base", TaskStatus.PENDING, "the workers wait for their slices")
    base = app.tasks["base"]
    app.tasks["base"] = attrs.evolve(base, next_try=NOW + timedelta(seconds=40))
    assert "the workers wait for their slices, next try in 40 s\n" in cli("queue").out
    assert json.loads(cli("queue", "--json").out)["tasks"][0]["next_try"] == "2025-03-09T14:00:40Z"


def test_hidden_tasks_are_shown_when_asked_for(cli: "Cli", full: "FakeApp") -> None:
    out = cli("queue", "--show-all").out
    assert "  probe  PENDING       -     0    0/3  -     hidden\n" in out
    assert "--show-all" not in out


def test_as_json_it_has_all_tasks(cli: "Cli", full: "FakeApp") -> None:
    queue = json.loads(cli("queue", "--json").out)
    assert queue["path"] == "/home/alice/exp/tasks.yaml"
    assert queue["tasks"][0] == {
        "id": "base",
        "accelerator": "v4-8",
        "zone": None,
        "status": "RUNNING",
        "reason": None,
        "priority": False,
        "running": ["000001"],
        "started": "2025-03-09T13:51:00Z",
        "next_try": None,
        "run_count": 1,
        "fail_count": 0,
        "max_jobs": 2,
        "max_retries": 3,
        "depends_on": [],
        "hidden": False,
    }
    assert queue["tasks"][1]["depends_on"] == ["base"]
    assert queue["tasks"][3]["hidden"] is True
    workers = {"working": ["000001"], "idle": [], "waiting": ["000002"], "stopped": []}
    assert queue["workers"] == {"v4-8": workers}


def test_a_file_that_was_broken_since_is_told(cli: "Cli", full: "FakeApp") -> None:
    full.problem = "tasks.yaml:3:1: a tab"
    code, out, err = cli("queue")
    assert code == 0
    assert "base" in out
    assert err == "warning: tasks.yaml:3:1: a tab: what follows is its last good version\n"


def test_one_task(cli: "Cli", full: "FakeApp") -> None:
    code, out, _ = cli("queue", "q.yaml", "--task", "tune")
    assert code == 0
    assert out.splitlines()[:4] == [
        "tune  WAITING",
        "  waits for base",
        "  accelerator   v4-8",
        "  zone          any",
    ]
    assert "    2  000001  13:10:00  10m 00s  failed   exit 3 on host 2\n" in out
    assert "/jobs/tasks/tune/run_002_job000001_worker_0.log\n" in out
    assert calls(full, "queue_task") == [(Path("q.yaml"), "tune")]


def test_the_reason_of_one_task_stays_on_the_terminal(cli: "Cli", full: "FakeApp") -> None:
    full.tasks["tune"] = attrs.evolve(full.tasks["tune"], reason="no branch of that name " * 9)
    assert max(map(len, cli("queue", "--task", "tune", tty=True).out.splitlines())) <= 80


def test_one_task_as_json(cli: "Cli", full: "FakeApp") -> None:
    task = json.loads(cli("queue", "--task", "tune", "--json").out)
    assert (task["id"], task["status"]) == ("tune", "WAITING")
    assert task["attempts"][0]["exit_code"] == 3
    assert task["logs"] == ["/home/alice/exp/jobs/tasks/tune/run_002_job000001_worker_0.log"]


def test_a_task_that_is_not_there(cli: "Cli", full: "FakeApp") -> None:
    code, out, err = cli("queue", "--task", "nope")
    assert (code, out) == (3, "")
    assert err.startswith("error: there is no task nope: ")


@pytest.mark.parametrize(
    ("argv", "match", "reset", "said"),
    [
        (
            ["--reset", "tune", "--reset", "big"],
            (None, False, False, ("tune", "big"), None),
            ("tune", "big"),
            "reset 2 tasks: tune, big\n",
        ),
        (
            ["--reset-pattern", "tu*"],
            (None, False, False, (), "tu*"),
            ("tune",),
            "reset 1 task: tune\n",
        ),
        (["--reset-failed"], (None, False, True, (), None), ("big",), "reset 1 task: big\n"),
    ],
)
def test_a_reset_of_what_does_not_run_does_not_ask(
    cli: "Cli",
    full: "FakeApp",
    *,
    argv: list[str],
    match: tuple[Any, ...],
    reset: tuple[str, ...],
    said: str,
) -> None:
    assert cli("queue", *argv) == (0, said, "")
    assert calls(full, "match_tasks") == [match]
    assert calls(full, "reset") == [(None, reset)]


def test_a_reset_of_what_runs_needs_a_yes(cli: "Cli", full: "FakeApp") -> None:
    assert cli("queue", "--reset-all")[:2] == (2, "")
    assert not calls(full, "reset")
    assert cli("queue", "--reset-all", "--yes").code == 0
    assert calls(full, "reset") == [(None, ("base", "tune", "big", "probe"))]


def test_a_reset_of_what_runs_asks_on_a_terminal(cli: "Cli", full: "FakeApp") -> None:
    code, _, err = cli("queue", "--reset", "base", tty=True, answer="n\n")
    assert code == 1
    assert err == "base runs now: end and reset? [y/N] nothing was done\n"
    assert not calls(full, "reset")
    assert cli("queue", "--reset", "base", tty=True, answer="yes\n").code == 0


def test_a_reset_says_how_many_had_been_done(cli: "Cli", app: "FakeApp") -> None:
    app.add_task("one", TaskStatus.DONE)
    app.add_task("two", TaskStatus.FAILED)
    said = "reset 2 tasks: one, two; 1 of them had been done\n"
    assert cli("queue", "--reset-all") == (0, said, "")


def test_nothing_to_reset_is_said(cli: "Cli", app: "FakeApp") -> None:
    assert cli("queue", "--reset-failed") == (0, "no task has failed\n", "")
    assert cli("queue", "--reset-all") == (0, "the queue has no tasks\n", "")


@pytest.mark.parametrize(
    ("argv", "method", "call", "said"),
    [
        (["--prioritize", "tune"], "prioritize", (None, "tune"), "tune is taken before all others"),
        (["--done", "tune"], "mark_done", (None, "tune"), "tune counts as done"),
        (["--cleanup"], "cleanup", (None,), "nothing was left by workers that are gone"),
    ],
)
def test_other_actions_say_what_they_did(
    cli: "Cli",
    full: "FakeApp",
    *,
    argv: list[str],
    method: str,
    call: tuple[Any, ...],
    said: str,
) -> None:
    assert cli("queue", *argv) == (0, said + "\n", "")
    assert calls(full, method) == [call]
    code, out, err = cli("queue", *argv, "--json")
    assert (code, err) == (0, said + "\n")
    assert len(json.loads(out)["tasks"]) == 4


def test_a_clean_up_does_all_it_can_and_ends_with_the_first_failure(
    cli: "Cli", full: "FakeApp"
) -> None:
    full.cleaned = [
        Done("000001", None, "released base, tune"),
        Done("000002", None, error=NotYoursError("job 000002 belongs to bob: ask them")),
        Done("000003", None, error=UnfinishedError("host 0 is silent: try again")),
    ]
    released = "job 000001: released base, tune\n"
    failed = (
        "error: job 000002 belongs to bob: ask them\n"
        "error: job 000003: host 0 is silent: try again\n"
    )
    assert cli("queue", "--cleanup") == (4, released, failed)
    code, out, err = cli("queue", "--cleanup", "--json")
    assert (code, err) == (4, failed + released)
    assert len(json.loads(out)["tasks"]) == 4
    full.cleaned = full.cleaned[1:]
    assert cli("queue", "--cleanup") == (4, "", failed)
