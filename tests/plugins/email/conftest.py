"""What the tests of mail share."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.plugins.email.mail import MailServer, mail_server

from jobman_core.interfaces.backend import Context
from jobman_core.models.notice import Audience, Notice, NoticeKind
from jobman_core.testing.fakes import FakeClock
from jobman_email import Email

NotifierOf = Callable[..., Email]


def notice(event: int, kind: NoticeKind = NoticeKind.FAILED, **more: Any) -> Notice:
    """Give a notice about a job of ada's."""
    text = f"job {event:06d} {kind.value}"
    given: dict[str, Any] = {"about": f"job {event}", "text": text, "user": "ada", **more}
    return Notice(event, datetime(2026, 1, 2, 9, 41, tzinfo=UTC), kind, **given)


def owners(event: int, user: str | None = "ada", **more: Any) -> Notice:
    """Give a notice that is for the owner."""
    return notice(event, to=Audience.OWNER, user=user, **more)


@pytest.fixture
def notifier(tmp_path: Path) -> NotifierOf:
    """Make the notifier of a home, with a section of ``jobman.yaml``."""

    def make(server: MailServer | None = None, **section: Any) -> Email:
        given = {
            "host": "localhost",
            "security": "none",
            "sender": "jobman <jobman@lab.example>",
            "to": ["lab@lab.example"],
            **({"port": server.port} if server else {}),
            **section,
        }
        clock = FakeClock(start=datetime(2026, 1, 2, 10, tzinfo=UTC))
        return Email(Context(tmp_path, "home-1", clock, given))

    return make


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    """Run a mail server that takes everything."""
    async with mail_server() as running:
        yield running


@pytest.fixture(scope="session")
def ca() -> trustme.CA:
    """Give an authority that nobody knows yet."""
    return trustme.CA()


@pytest.fixture
def ca_file(ca: trustme.CA, tmp_path: Path) -> str:
    """Write its certificate down."""
    path = tmp_path / "ca.pem"
    ca.cert_pem.write_to_path(path)
    return str(path)
