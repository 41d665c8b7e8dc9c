"""Sessions that are plain processes, held to the contract."""

import os
from pathlib import Path

import pytest

from jobman_core.builtin.process_session import ProcessSession
from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session
from jobman_core.testing.session_contract import ProcessSessionContract, SessionBed


@pytest.mark.e2e
class TestProcessSession(ProcessSessionContract):
    session_class = ProcessSession

    def make(self, home: Path, home_id: str) -> Session:
        session = ProcessSession(Context(home, home_id, SystemClock()))
        session.grace = 0.5
        return session

    async def test_has_a_session_of_its_own_and_no_terminal(self, bed: SessionBed) -> None:
        # A terminal that closes hangs up every process of its session.
        identity = await self._started(bed, "s")
        assert os.getsid(identity.pid) not in {os.getsid(0), identity.pid}
        assert read_tty(identity.pid) == 0


def read_tty(pid: int) -> int:
    """Give the controlling terminal of a process (proc(5), field 7)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4])
