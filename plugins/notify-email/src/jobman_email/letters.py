"""Notices to letters: what a mail says, whatever stands in the notices. Touches nothing."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from itertools import groupby
from typing import Final

import attrs

from jobman_core.errors import printable
from jobman_core.models.notice import Notice, NoticeKind

#: Most important first, with what stands above its lines.
_HEADINGS: Final = {
    NoticeKind.FAILED: "Failed for good",
    NoticeKind.PREFIX_FAILED: "A required prefix script failed",
    NoticeKind.UNREACHABLE: "Hosts do not answer",
    NoticeKind.STUCK: "Waiting for long",
    NoticeKind.PREEMPTED: "Preempted",
    NoticeKind.REAPED: "Reaped",
    NoticeKind.RECOVERED: "Recovered",
    NoticeKind.FINISHED: "Finished",
}
_ORDER: Final = {kind: place for place, kind in enumerate(_HEADINGS)}
#: Notices that one mail tells of; of more it says how many.
_MOST: Final = 200
#: Characters of a notice that are shown.
_LONGEST: Final = 500
_LONGEST_SUBJECT: Final = 120


@attrs.frozen
class Desk:
    """Where letters are written: from whom, about which home."""

    sender: Address
    home_id: str
    #: The home's folder, as people know it.
    home: str


def write(to: str, notices: Sequence[Notice], desk: Desk, now: datetime) -> EmailMessage:
    """Write one letter about notices.

    The same notices give the same Message-ID, so that a letter that is sent once more is the same
    one to a mail reader.

    Args:
        to: a plain address.
        notices: in their order; at least one.
        desk: who writes.
        now: for the letter's date.
    """
    letter = EmailMessage(policy=SMTP)
    letter["From"] = desk.sender
    letter["To"] = Address(addr_spec=to)
    letter["Subject"] = subject(notices)
    letter["Date"] = format_datetime(now)
    letter["Message-ID"] = message_id(notices, desk)
    # Nobody's holiday notice is to answer (RFC 3834).
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(body(notices, desk))
    return letter


def subject(notices: Sequence[Notice]) -> str:
    """Say the most important of it, and how much more there is."""
    first = min(notices, key=lambda notice: _ORDER[notice.kind])
    more = f" (and {len(notices) - 1} more)" if len(notices) > 1 else ""
    return f"[jobman] {_shown(first.text, _LONGEST_SUBJECT)}{more}"


def body(notices: Sequence[Notice], desk: Desk) -> str:
    """Give a line a notice, by kind, the most important first."""
    ranked = sorted(notices, key=lambda notice: _ORDER[notice.kind])
    lines: list[str] = []
    for kind, group in groupby(ranked[:_MOST], key=lambda notice: notice.kind):
        lines += [f"{_HEADINGS[kind]}:", *map(_line, group), ""]
    if len(ranked) > _MOST:
        lines += [
            f"… and {len(ranked) - _MOST} more: `jobman list` and `jobman queue` show all",
            "",
        ]
    return "\n".join([*lines, "-- ", f"jobman, home {printable(desk.home)}", ""])


def message_id(notices: Sequence[Notice], desk: Desk) -> str:
    """Give a letter's Message-ID: of the home and the events, whoever sends it and when."""
    events = ",".join(str(notice.event) for notice in notices)
    digest = hashlib.sha256(f"{desk.home_id}:{events}".encode()).hexdigest()
    return f"<{digest[:32]}.jobman@{desk.sender.domain}>"


def _line(notice: Notice) -> str:
    at = notice.at.astimezone(UTC)
    return f"  {at:%Y-%m-%d %H:%M} UTC  {_shown(notice.text, _LONGEST)}"


def _shown(text: str, most: int) -> str:
    """Show what could begin a line or a header as harmless text, and cut it."""
    shown = printable(" ".join(text[: 2 * most].split()))
    return shown if len(shown) <= most and len(text) <= 2 * most else f"{shown[: most - 1]}…"
