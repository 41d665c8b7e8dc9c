"""Sessions that are plain processes, held to the contract."""

from pathlib import Path

import pytest

from jobman_core.builtin.process_session import ProcessSession
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session
from jobman_core.testing.session_contract import ProcessSessionContract


@pytest.mark.e2e
class TestProcessSession(ProcessSessionContract):
    session_class = ProcessSession

    def make(self, home: Path, home_id: str) -> Session:
        session = ProcessSession(Context(home, home_id, SystemClock()))
        session.grace = 0.5
        return session
