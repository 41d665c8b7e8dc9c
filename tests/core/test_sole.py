"""One process alone does some things for a home."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobman_core.app import App
from jobman_core.errors import HeldError, NotFoundError
from jobman_core.home import Home
from jobman_core.sole import sole
from jobman_core.testing.fakes import FakeClock

HOLD = """
import sys, time
from pathlib import Path
from jobman_core.clock import SystemClock
from jobman_core.sole import sole
with sole(Path(sys.argv[1]), "a Slack bot", SystemClock()):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(start=datetime(2025, 3, 9, 14, 0, tzinfo=UTC))


def test_who_comes_second_is_told_who_has_it(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "slackbot.lock"
    with (
        sole(path, "a Slack bot", clock),
        pytest.raises(HeldError) as caught,
        sole(path, "a Slack bot", clock),
    ):
        pass
    told = str(caught.value)
    assert told.startswith(f"a Slack bot serves this home already (process {os.getpid()} on ")
    assert told.endswith(", since 2025-03-09T14:00:00Z): stop that one first")
    with sole(path, "a Slack bot", clock):
        pass


def test_a_lock_that_says_nothing_yet_is_held_all_the_same(
    tmp_path: Path, clock: FakeClock
) -> None:
    path = tmp_path / "slackbot.lock"
    with sole(path, "a Slack bot", clock):
        path.write_text("{")
        with pytest.raises(HeldError, match="another process"), sole(path, "a bot", clock):
            pass


def test_it_is_free_once_its_process_was_killed(tmp_path: Path, clock: FakeClock) -> None:
    path = tmp_path / "slackbot.lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with (
            pytest.raises(HeldError, match=f"process {process.pid} on"),
            sole(path, "a Slack bot", clock),
        ):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    with sole(path, "a Slack bot", clock):
        pass


async def test_where_there_is_no_home_there_is_nothing_to_serve(tmp_path: Path) -> None:
    async with App(Home(tmp_path)) as app:
        with pytest.raises(NotFoundError):
            async with app.alone("slackbot", "a Slack bot"):
                pass
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - of one folder, once
