"""``demo``: its verdict, its picture, and the whole of it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs
import pytest

from jobman_cli import output
from jobman_cli.commands import demo as command
from jobman_cli.demo import files, leftovers, picture, verdict
from jobman_cli.demo.interruption import Interruption
from jobman_cli.demo.play import LIMIT, Play, Said
from jobman_core.models.attempt import Attempt
from jobman_core.models.outcome import Outcome, OutcomeKind
from jobman_core.models.status import JobStatus
from jobman_core.models.task import Counters, TaskStatus
from jobman_core.models.view import JobDetail

if TYPE_CHECKING:
    from tests.cli.conftest import Cli, FakeApp, Stream

    from jobman_core.app import App

OK, BAD, CUT = OutcomeKind.SUCCEEDED, OutcomeKind.FAILED, OutcomeKind.INTERRUPTED


def play_of(app: "FakeApp", tmp_path: Path, runs: dict[str, Sequence[OutcomeKind]]) -> Play:
    """Give a play that is over, in which each run took a second and the tasks came in turn."""
    play = Play(cast("App", app), files.write(tmp_path), lambda _: None, [])
    for job in ("000001", "000002"):
        app.add_job(job, name=f"worker_{job[-1]}", recoveries=1)
    attempts = []
    moment = app.add_job("000003").submitted
    for task, kinds in runs.items():
        app.add_task(task, TaskStatus.DONE, counters=Counters(done=True, run_count=len(kinds)))
        for number, kind in enumerate(kinds, 1):
            ended = moment + timedelta(seconds=1)
            attempts.append(
                Attempt(
                    f"{task}{number}",
                    f"{min(number, 2):06d}",
                    1,
                    number,
                    "r",
                    moment,
                    task=task,
                    started_at=moment,
                    ended_at=ended,
                    outcome=Outcome(kind, "exited"),
                )
            )
            moment = ended
    play.jobs = [app.jobs["000001"], app.jobs["000002"]]
    play.tasks = list(app.tasks.values())
    play.struck = play.jobs[0]
    play.details = [
        JobDetail(job, None, (), tuple(a for a in attempts if a.job == job.id), (), {}, tmp_path)
        for job in play.jobs
    ]
    return play


GOOD: dict[str, Sequence[OutcomeKind]] = {
    files.FIRST: [OK],
    files.FLAKY: [BAD, OK],
    files.LONG: [CUT, OK],
    files.LAST: [OK],
}


def failed(play: Play) -> list[str]:
    return [check.instead for check in verdict.checks(play) if not check.holds]


def test_a_play_that_went_well_passes(app: "FakeApp", tmp_path: Path) -> None:
    play = play_of(app, tmp_path, GOOD)
    assert failed(play) == []
    texts = " ".join(check.text for check in verdict.checks(play))
    assert "worker_2 took it up within a second" in texts
    assert "worker_1 got a new slice" in texts


@pytest.mark.parametrize(
    ("change", "instead"),
    [
        ({files.FLAKY: [OK]}, "runs of fetch: succeeded"),
        ({files.FLAKY: [BAD, BAD, OK]}, "runs of fetch: failed, failed, succeeded"),
        ({files.LONG: [OK]}, "runs of train: succeeded"),
        ({files.LONG: []}, "runs of train: never ran"),
        ({files.LONG: [CUT, BAD, OK]}, "runs of train: interrupted, failed, succeeded"),
    ],
)
def test_a_run_too_many_or_too_few_is_found(
    app: "FakeApp", tmp_path: Path, change: dict[str, Sequence[OutcomeKind]], instead: str
) -> None:
    assert instead in failed(play_of(app, tmp_path, {**GOOD, **change}))


def test_a_task_that_did_not_wait_is_found(app: "FakeApp", tmp_path: Path) -> None:
    order = (files.LONG, files.FIRST, files.FLAKY, files.LAST)
    assert failed(play_of(app, tmp_path, {task: GOOD[task] for task in order}))


def test_a_task_that_is_not_done_is_found(app: "FakeApp", tmp_path: Path) -> None:
    play = play_of(app, tmp_path, GOOD)
    play.tasks = [*play.tasks[:3], attrs.evolve(play.tasks[3], status=TaskStatus.RETRY)]
    assert failed(play) == ["evaluate is RETRY"]


def test_a_slice_that_was_never_replaced_is_found(app: "FakeApp", tmp_path: Path) -> None:
    play = play_of(app, tmp_path, GOOD)
    play.details = [
        attrs.evolve(detail, job=attrs.evolve(detail.job, recoveries=0)) for detail in play.details
    ]
    assert failed(play) == ["no worker got a new slice"]


def test_what_is_left_is_found(app: "FakeApp", tmp_path: Path) -> None:
    play = play_of(app, tmp_path, GOOD)
    play.left.append("slice demo-1-g2 still stands")
    assert failed(play) == ["slice demo-1-g2 still stands"]


@pytest.mark.parametrize("room", [60, 79, 100])
def test_the_picture_fits_a_terminal_whatever_happens(
    app: "FakeApp", tmp_path: Path, room: int
) -> None:
    play = play_of(app, tmp_path, GOOD)
    play.jobs = [attrs.evolve(job, reason="because " * 20) for job in play.jobs]
    play.tasks = [attrs.evolve(task, reason="since " * 20) for task in play.tasks]
    play.said = [Said(i, "something \x1b[2J happened " * 5, "red") for i in range(40)]
    lines = picture.frame(play, room, output.plain)
    assert len(lines) <= 22
    assert all(output.width(line) <= room for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_a_status_is_a_word_in_the_picture(app: "FakeApp", tmp_path: Path) -> None:
    play = play_of(app, tmp_path, GOOD)
    play.jobs = [attrs.evolve(job, status=JobStatus.PREEMPTED) for job in play.jobs]
    text = "\n".join(picture.frame(play, 79, output.plain))
    assert "worker_1  PREEMPTED  2" in text
    assert "train     DONE" in text


def test_a_process_of_the_demo_is_found_by_its_environment(tmp_path: Path) -> None:
    env = {**os.environ, "CHECKPOINTS": str(tmp_path / "checkpoints")}
    argv = ["sh", "-c", "echo ready; read end"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        found = leftovers.processes_of(tmp_path)
        child.communicate()
    assert found == [f"process {child.pid} (sh -c echo ready; read end) still runs"]
    assert leftovers.processes_of(tmp_path) == []


def test_what_could_not_be_tidied_up_comes_with_the_command_that_does(
    cli: "Cli", tmp_path: Path
) -> None:
    (tmp_path / "jobs" / "alice" / "000002").mkdir(parents=True)
    front = cli.front(env={"JOBMAN_COMMAND": "./dev run"})
    command.clear(front, tmp_path, ["a slice still stands"], keep=False)
    assert cast("Stream", front.stderr).text() == (
        "warning: a slice still stands\n"
        f"warning: `./dev run --home {tmp_path} delete --yes 000002` ends the rest\n"
        f"the files of the demo are in {tmp_path}\n"
    )


def start(tmp_path: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "jobman_cli", "demo", *options],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def test_a_play_that_does_not_come_to_its_end_is_ended_at_its_limit_and_tidied_up(
    app: "FakeApp", tmp_path: Path
) -> None:
    play = play_of(app, tmp_path, {files.LONG: [OK]})
    app.tasks[files.LONG] = attrs.evolve(app.tasks[files.LONG], status=TaskStatus.RUNNING)
    play._began -= LIMIT
    with Interruption() as interruption:
        await play.run(interruption)
    assert not play.done
    assert f"{files.LONG} is RUNNING" in failed(play)
    assert sorted(call[1] for call in app.calls if call[0] == "delete") == sorted(app.jobs)


@pytest.mark.e2e
def test_the_demo_shows_all_of_it_and_leaves_nothing(tmp_path: Path) -> None:
    with start(tmp_path, "--json") as demo:
        out, err = demo.communicate()
    assert demo.returncode == 0, err
    shown = json.loads(out)
    assert shown["ok"] is True
    assert [check["ok"] for check in shown["checks"]] == [True] * 5
    assert "the slice under train is taken away" in err
    assert list(tmp_path.iterdir()) == []
    assert leftovers.processes_of(tmp_path) == []


@pytest.mark.e2e
@pytest.mark.parametrize("more", [0, 2])
def test_an_interrupted_demo_leaves_nothing_either(tmp_path: Path, more: int) -> None:
    with start(tmp_path) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "took task train" in line:
                break
        running = leftovers.processes_of(tmp_path)
        demo.send_signal(signal.SIGINT)
        for _ in range(more):
            time.sleep(0.2)
            demo.send_signal(signal.SIGINT)
        out, err = demo.communicate()
    assert demo.returncode == 130
    assert "interrupted: cleaning up …" in out
    assert err == "the demo was interrupted: its slices were given back, and nothing runs\n"
    assert running, "it was too early to say"
    assert list(tmp_path.iterdir()) == []
    assert leftovers.processes_of(tmp_path) == []
