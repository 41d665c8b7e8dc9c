"""The fake notifier passes the contract."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.interfaces.notifier import Notifier
from jobman_core.models.notice import Notice
from jobman_core.testing.fake_notifier import FakeNotifier
from jobman_core.testing.notifier_contract import NotifierContract


class TestFakeNotifier(NotifierContract):
    @pytest.fixture
    def board(self) -> dict[int, Notice]:
        return {}

    @pytest.fixture
    def made(self) -> list[FakeNotifier]:
        return []

    @pytest.fixture
    def make(self, board: dict[int, Notice], made: list[FakeNotifier]) -> Callable[[], Notifier]:
        def make() -> Notifier:
            made.append(FakeNotifier(Context(Path("/nowhere"), "home-1", SystemClock()), board))
            return made[-1]

        return make

    @pytest.fixture
    def told(self, board: dict[int, Notice]) -> Callable[[], Sequence[str]]:
        return lambda: [notice.text for notice in board.values()]

    @pytest.fixture
    def broken(self, made: list[FakeNotifier]) -> Callable[[], AbstractContextManager[None]]:
        @contextlib.contextmanager
        def broken() -> Iterator[None]:
            made[-1].broken = "nobody is there: wait"
            yield
            made[-1].broken = None

        return broken
