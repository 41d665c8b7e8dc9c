"""The fake session, held to the part of the contract that needs no process."""

from pathlib import Path

import pytest

from jobman_core.clock import SystemClock
from jobman_core.command import Command
from jobman_core.errors import CommandFailedError
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.session import Session, SessionStart
from jobman_core.testing.fake_session import FakeSession, FakeSessions
from jobman_core.testing.session_contract import SessionContract


class TestFakeSession(SessionContract):
    @pytest.fixture(autouse=True)
    def world(self) -> FakeSessions:
        self.shared = FakeSessions(failing={"bad": "boom"})
        return self.shared

    def make(self, home: Path, home_id: str) -> Session:
        return FakeSession.bound(self.shared)(Context(home, home_id, SystemClock()))

    def dying(self) -> Command:
        return Command(("bad",))


async def test_worlds_keep_apart_and_remember_what_was_asked(tmp_path: Path) -> None:
    one, two = FakeSessions(), FakeSessions(failing={"sleep": "no"})
    context = Context(tmp_path, "0" * 8, SystemClock())
    start = SessionStart("s", Command(("sleep",)), tmp_path / "log", tmp_path)
    await FakeSession.bound(one)(context).start(start)
    with pytest.raises(CommandFailedError):
        await FakeSession.bound(two)(context).start(start)
    assert one.started == two.started == [start]
    assert not two.living
    one.kill("s")
    assert not await FakeSession.bound(one)(context).alive("s")
