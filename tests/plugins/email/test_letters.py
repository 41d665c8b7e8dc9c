"""What a mail says."""

from email import message_from_bytes, policy
from email.headerregistry import Address

import pytest
from tests.plugins.email.conftest import notice, owners

from jobman_core.models.notice import Audience, NoticeKind
from jobman_core.testing.fakes import FakeClock
from jobman_email.addresses import is_plain, read_address
from jobman_email.letters import Desk, body, message_id, subject, write
from jobman_email.recipients import sorted_out
from jobman_email.settings import EmailSettings

DESK = Desk(Address("jobman", addr_spec="jobman@lab.example"), "home-1", "/home/lab")
HOSTILE = "evil\r\nBcc: all@lab.example\r\n\r\nowned \x00 \ud800 \u202e \u2028x"


def test_the_subject_says_the_most_important_and_how_much_more_there_is() -> None:
    batch = [notice(1, NoticeKind.FINISHED), notice(2), notice(3, NoticeKind.PREEMPTED)]
    assert subject(batch) == "[jobman] job 000002 failed (and 2 more)"
    assert subject(batch[:1]) == "[jobman] job 000001 finished"


def test_a_mail_has_a_line_a_notice_grouped_by_what_happened() -> None:
    batch = [notice(1, NoticeKind.FINISHED), notice(2), notice(3, NoticeKind.FINISHED)]
    assert body(batch, DESK).splitlines() == [
        "Failed for good:",
        "  2026-01-02 09:41 UTC  job 000002 failed",
        "",
        "Finished:",
        "  2026-01-02 09:41 UTC  job 000001 finished",
        "  2026-01-02 09:41 UTC  job 000003 finished",
        "",
        "-- ",
        "jobman, home /home/lab",
    ]


@pytest.mark.parametrize("text", [HOSTILE, "x" * 40_000, "", "ünïcode ☃ 日本", "=?utf-8?q?x?="])
def test_no_text_makes_a_header_or_a_line_of_its_own(text: str) -> None:
    written = write("ada@lab.example", [notice(1, text=text)], DESK, FakeClock().now())
    letter = message_from_bytes(written.as_bytes(), policy=policy.default)
    assert sorted(letter.keys()) == sorted(
        [
            "From",
            "To",
            "Subject",
            "Date",
            "Message-ID",
            "Auto-Submitted",
            "MIME-Version",
            "Content-Type",
            "Content-Transfer-Encoding",
        ]
    )
    assert len(str(letter["Subject"])) < 200
    content = letter.get_content()
    assert len(content.splitlines()) == 5
    assert len(content) < 1000
    assert all(len(line) <= 998 for line in written.as_bytes().splitlines())


def test_every_kind_of_notice_has_a_heading() -> None:
    text = body([notice(n, kind) for n, kind in enumerate(NoticeKind)], DESK)
    assert text.count(":\n") == len(NoticeKind)


def test_a_burst_of_ten_thousand_is_one_mail_of_some_lines() -> None:
    text = body([notice(n, NoticeKind.PREEMPTED) for n in range(10_000)], DESK)
    assert "… and 9800 more" in text
    assert len(text.splitlines()) < 210


def test_the_same_notices_are_the_same_mail_whenever_they_are_sent() -> None:
    batch = [notice(1), notice(2)]
    assert message_id(batch, DESK) == message_id(batch, DESK)
    assert message_id(batch, DESK) != message_id(batch[:1], DESK)
    assert message_id(batch, DESK) != message_id(batch, Desk(DESK.sender, "home-2", "/home/lab"))


def test_a_mail_says_that_nobody_wrote_it() -> None:
    letter = write("ada@lab.example", [notice(1)], DESK, FakeClock().now())
    assert letter["Auto-Submitted"] == "auto-generated"
    assert letter["Date"] == "Thu, 01 Jan 2026 00:00:00 +0000"
    assert letter["From"] == "jobman <jobman@lab.example>"


def test_owners_are_written_to_and_the_lab_where_they_have_no_address() -> None:
    settings = EmailSettings(to=("lab@x.org",), people={"ada": "a@x.org"})
    batch = [notice(1), owners(2), owners(3, "bob"), owners(4, None)]
    batch.append(notice(5, to=Audience.NOBODY))
    found = sorted_out(batch, settings)
    events = {to: [each.event for each in notices] for to, notices in found.items()}
    assert events == {"lab@x.org": [1, 3, 4], "a@x.org": [2]}


def test_a_domain_gives_owners_their_addresses_but_not_those_who_would_be_somebody_else() -> None:
    settings = EmailSettings(to=("lab@x.org",), people={"ada": "a@y.org"}, domain="x.org")
    odd = "eve@evil.org, bob"
    found = sorted_out([owners(1), owners(2, "bob"), owners(3, odd)], settings)
    assert set(found) == {"a@y.org", "bob@x.org", "lab@x.org"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "ada@",
        "@x.org",
        "a b@x.org",
        "a@x.org\r\nBcc: b@x.org",
        "a@x..org",
        "a@-x.org",
        "ada@x.org,bob@x.org",
        "ünï@x.org",
        "a@" + "x" * 300,
    ],
)
def test_what_is_no_address_is_none(text: str) -> None:
    assert not is_plain(text)
    with pytest.raises(ValueError, match="write one like"):
        read_address(text)


def test_a_sender_may_have_a_name() -> None:
    assert str(read_address("The Lab <lab@x.org>")) == "The Lab <lab@x.org>"
    assert read_address("lab@x.org").display_name == ""
