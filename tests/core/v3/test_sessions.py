"""Whether v3 still runs is read off the sessions of tmux."""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobman_core.v3.sessions import live_sessions


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the user's own server be one that is not there."""
    monkeypatch.delenv("TMUX", raising=False)
    # The path of a socket has to be short.
    with tempfile.TemporaryDirectory(prefix="v3-") as folder:
        monkeypatch.setenv("TMUX_TMPDIR", folder)
        yield


@pytest.fixture
def running(empty: None) -> Iterator[None]:
    """Let v3 drive a job."""
    subprocess.run(["tmux", "new-session", "-d", "-s", "job_000045", "cat"], check=True)
    yield
    subprocess.run(["tmux", "kill-server"], check=True)


@pytest.mark.tmux
async def test_sessions_of_the_users_own_server_are_seen(running: None) -> None:
    assert await live_sessions() == {"job_000045"}


@pytest.mark.tmux
async def test_where_no_server_runs_no_session_does(empty: None) -> None:
    assert await live_sessions() == frozenset()


async def test_without_tmux_there_is_no_v3_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert await live_sessions() == frozenset()
