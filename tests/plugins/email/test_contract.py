"""The notifier keeps the contract of all notifiers, by a real mail server."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import pytest
from tests.plugins.email.conftest import NotifierOf
from tests.plugins.email.mail import MailServer

from jobman_core.interfaces.notifier import Notifier
from jobman_core.testing.notifier_contract import NotifierContract


class TestEmail(NotifierContract):
    @pytest.fixture
    def make(self, server: MailServer, notifier: NotifierOf) -> Callable[[], Notifier]:
        return lambda: notifier(server, domain="lab.example")

    @pytest.fixture
    def told(self, server: MailServer) -> Callable[[], Sequence[str]]:
        def read() -> Sequence[str]:
            letters = {str(each["Message-ID"]): each for _, each in server.inbox.letters}
            return [each.get_content() for each in letters.values()]

        return read

    @pytest.fixture
    def broken(self, server: MailServer) -> Callable[[], AbstractContextManager[None]]:
        @contextlib.contextmanager
        def away() -> Iterator[None]:
            server.inbox.content = "451 4.3.0 try later"
            yield
            server.inbox.content = ""

        return away
