"""Where controllers live: tmux for people who look in, and no silent death anywhere."""

import contextlib
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab

from jobman_core.errors import CommandFailedError

pytestmark = pytest.mark.e2e


@pytest.fixture
def tmux_lab(tmp_path: Path) -> Iterator[Lab]:
    """Give a home whose jobs live in tmux, on sockets of its own."""
    lab = Lab(tmp_path / "lab", session="tmux")
    lab.env["TMUX_TMPDIR"] = str(tmp_path)
    yield lab
    lab.close()


@pytest.mark.tmux
def test_attach_shows_what_the_controller_in_tmux_says(tmux_lab: Lab) -> None:
    lab = tmux_lab
    job = lab.create(lab.job(cmd="sleep 600"))
    lab.until_output("jobs/ada/*/logs/job.log", "on hosts 0")
    argv = lab.json("attach", job)["argv"]
    server = argv[: argv.index("attach-session")]
    lab.until("the pane shows it", lambda: "on hosts 0" in _pane(lab, server, job))
    lab.run("stop", job)
    lab.until("the session is gone", lambda: not _pane(lab, server, job))


def _pane(lab: Lab, server: list[str], job: str) -> str:
    shown = subprocess.run(
        [*server, "capture-pane", "-p", "-t", f"=job-{job}:"],
        env=lab.env,
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout


@pytest.mark.tmux
@pytest.mark.screen
@pytest.mark.parametrize("session", ["tmux", "screen"])
def test_a_job_in_a_terminal_survives_its_controller_like_any_other(
    tmp_path: Path, session: str
) -> None:
    lab = Lab(tmp_path / "lab", session=session)
    lab.env["TMUX_TMPDIR"] = str(tmp_path)
    job = lab.create(lab.job(cmd="for i in $(seq 1 20); do echo t$i; sleep 0.2; done"))
    log = lab.until_output("jobs/ada/*/logs/command_run_001_worker_0.log", "t3")
    lab.kill_controller(job)
    lab.run("resume", job)
    lab.until_status(job, "DONE")
    assert log.read_text() == "".join(f"t{i}\n" for i in range(1, 21))
    lab.close()
    _remove_sockets(lab, session)


@pytest.mark.tmux
@pytest.mark.screen
@pytest.mark.parametrize("session", ["process", "tmux", "screen"])
def test_a_session_that_dies_at_once_leaves_its_reason_in_the_log_and_in_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, session: str
) -> None:
    lab = Lab(tmp_path / "lab", session=session)
    lab.env["TMUX_TMPDIR"] = str(tmp_path)
    job = lab.create(lab.job(), "--no-start")
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    # What the person's shell happens to have set breaks the Python of the session.
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with pytest.raises(CommandFailedError, match="encodings"):
        lab.act(lambda app: app.resume(job))
    monkeypatch.undo()
    assert "encodings" in (lab.root / f"jobs/ada/{job}/logs/job.log").read_text()
    shown = lab.json("show", job)
    assert shown["status"] == "DEAD"
    assert "encodings" in shown["reason"]
    lab.run("resume", job)
    lab.until_status(job, "DONE")
    lab.close()
    _remove_sockets(lab, session)


def _remove_sockets(lab: Lab, session: str) -> None:
    """Remove the folder that screen has outside of the home: none may be left in it."""
    if session == "screen":
        with contextlib.closing(sqlite3.connect(lab.root / "jobs/.jobman/jobman.db")) as db:
            ((home_id,),) = db.execute("SELECT value FROM meta WHERE key = 'home_id'")
        Path(f"/tmp/jobman-screen-{os.getuid()}-{home_id[:8]}").rmdir()


def test_attach_of_a_plain_process_says_what_to_do_instead(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="sleep 600"))
    assert "logs -f --controller" in lab.run("attach", job, code=2).err


def test_what_is_not_there_is_exit_3_and_what_is_not_yours_exit_4(lab: Lab) -> None:
    job = lab.create(lab.job(cmd="sleep 600"))
    for command in ("show", "stop", "logs", "resume", "requeue", "attach", "run"):
        assert lab.run(command, "999999", code=3).err.startswith("error: ")
    lab.run("queue", "nowhere.yaml", code=3)
    lab.env["USER"] = "bob"
    lab.run("stop", job, code=4)
    lab.run("delete", "--yes", job, code=4)
    own = lab.write("person/.config/jobman/config.yaml", "admins: [bob]\n")
    said = lab.run("stop", job, code=2)
    assert said.err == (
        f"{own}:1:1: admins: this holds for everybody: write it into {lab.root}/jobman.yaml\n"
    )
    own.unlink()
    lab.write("jobman.yaml", "session: process\nadmins: [bob]\n")
    lab.run("stop", job)
