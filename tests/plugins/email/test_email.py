"""Mail over a real mail server."""

import logging
from pathlib import Path

import pytest
import trustme
from tests.plugins.email.conftest import NotifierOf, notice, owners
from tests.plugins.email.mail import PASSWORD, MailServer, mail_server

from jobman_core.errors import InvalidInputError, JobmanError
from jobman_email.password import read_password

LAB, ADA, BOB = "lab@lab.example", "ada@lab.example", "bob@lab.example"


async def test_a_batch_is_one_mail_for_each_recipient(
    server: MailServer, notifier: NotifierOf
) -> None:
    mail = notifier(server, to=[LAB, ADA], people={"ada": ADA}, domain="lab.example")
    await mail.deliver([notice(1), owners(2), owners(3, "bob"), notice(4)])
    assert sorted(to for to, _ in server.inbox.letters) == [ADA, BOB, LAB]
    (letter,) = server.inbox.to(ADA)
    assert str(letter["Subject"]) == "[jobman] job 000001 failed (and 2 more)"
    assert "job 000002 failed" in letter.get_content()
    assert "job 000003" not in letter.get_content()


async def test_a_repeat_after_a_kill_is_the_same_mail(
    server: MailServer, notifier: NotifierOf
) -> None:
    for _ in range(2):
        await notifier(server).deliver([notice(1), notice(2)])
    first, second = server.inbox.to(LAB)
    assert first["Message-ID"] == second["Message-ID"]


async def test_who_has_a_mail_does_not_get_it_again_for_the_sake_of_others(
    server: MailServer, notifier: NotifierOf
) -> None:
    mail = notifier(server, to=[LAB, ADA, BOB])
    server.inbox.refused[ADA] = "450 4.2.0 greylisted, come back"
    with pytest.raises(JobmanError, match=f"{ADA}: 450 4.2.0 greylisted.*tried again"):
        await mail.deliver([notice(1)])
    assert [to for to, _ in server.inbox.letters] == [LAB, BOB]
    server.inbox.refused.clear()
    await mail.deliver([notice(1), notice(2)])
    assert ["000001" in each.get_content() for each in server.inbox.to(LAB)] == [True, False]
    (letter,) = server.inbox.to(ADA)
    assert "000001" in letter.get_content()
    assert "000002" in letter.get_content()


async def test_a_recipient_that_there_is_not_holds_up_nobody_and_is_named(
    server: MailServer, notifier: NotifierOf, caplog: pytest.LogCaptureFixture
) -> None:
    server.inbox.refused[ADA] = "550 5.1.1 no such mailbox"
    await notifier(server, to=[ADA, LAB]).deliver([notice(1)])
    assert [to for to, _ in server.inbox.letters] == [LAB]
    (record,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert f"mail to {ADA}: 550 5.1.1 no such mailbox" in record.getMessage()


async def test_nobody_is_given_up_for_a_login_that_is_missing(
    server: MailServer, notifier: NotifierOf
) -> None:
    mail = notifier(server, to=[LAB, ADA])
    server.inbox.refused |= {LAB: "554 5.7.1 relay access denied", ADA: "550 5.1.1 no such mailbox"}
    with pytest.raises(InvalidInputError, match=r"relay access denied: .*notifiers\.email\.user"):
        await mail.deliver([notice(1)])
    del server.inbox.refused[LAB]
    await mail.deliver([notice(1)])
    assert [to for to, _ in server.inbox.letters] == [LAB]


async def test_content_that_is_refused_for_good_is_not_sent_for_ever(
    server: MailServer, notifier: NotifierOf, caplog: pytest.LogCaptureFixture
) -> None:
    server.inbox.content = "554 5.7.1 looks like spam"
    await notifier(server).deliver([notice(1)])
    assert "looks like spam" in caplog.text


async def test_content_that_is_put_off_comes_again(
    server: MailServer, notifier: NotifierOf
) -> None:
    mail = notifier(server)
    server.inbox.content = "452 4.3.1 no space left"
    with pytest.raises(JobmanError, match="no space left: it is tried again"):
        await mail.deliver([notice(1)])
    server.inbox.content = ""
    await mail.deliver([notice(1)])
    assert len(server.inbox.letters) == 1


@pytest.mark.parametrize(("cut", "times"), [("before", 1), ("after", 2)])
async def test_a_connection_that_breaks_loses_nothing(
    server: MailServer, notifier: NotifierOf, cut: str, times: int
) -> None:
    mail = notifier(server)
    server.inbox.cut = cut
    with pytest.raises(JobmanError, match="gives no answer"):
        await mail.deliver([notice(1)])
    server.inbox.cut = ""
    await mail.deliver([notice(1)])
    letters = server.inbox.to(LAB)
    assert len(letters) == times
    assert len({str(letter["Message-ID"]) for letter in letters}) == 1


async def test_a_server_that_closes_for_a_while_is_asked_again(
    server: MailServer, notifier: NotifierOf
) -> None:
    mail = notifier(server, to=[LAB, ADA])
    server.inbox.refused[LAB] = "421 4.3.2 shutting down"
    with pytest.raises(JobmanError, match=r"421 4\.3\.2 shutting down: it is tried again"):
        await mail.deliver([notice(1)])
    server.inbox.refused.clear()
    await mail.deliver([notice(1)])
    assert [to for to, _ in server.inbox.letters] == [LAB, ADA]


async def test_a_sender_that_the_server_refuses_is_a_fault_of_the_settings(
    server: MailServer, notifier: NotifierOf
) -> None:
    server.inbox.refused["jobman@lab.example"] = "550 5.7.1 not your address"
    with pytest.raises(InvalidInputError, match=r"notifiers\.email\.sender: .*not your address"):
        await notifier(server).deliver([notice(1)])


@pytest.mark.parametrize("tls", ["starttls", "tls"])
async def test_a_password_goes_over_a_secured_line_alone(
    notifier: NotifierOf, ca: trustme.CA, ca_file: str, tmp_path: Path, tls: str
) -> None:
    secret = tmp_path / "password"
    secret.touch(0o600)
    secret.write_text(PASSWORD + "\n")
    async with mail_server(ca=ca, tls=tls, login=True) as server:
        login = {"user": "jobman", "password_file": "password", "ca_file": ca_file}
        await notifier(server, security=tls, **login).deliver([notice(1)])
        assert server.inbox.logins == ["jobman"]
        assert server.inbox.secure == [True]


async def test_a_wrong_password_is_told_without_it(
    notifier: NotifierOf, ca: trustme.CA, ca_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOBMAN_SMTP_PASSWORD", "guess-what")
    async with mail_server(ca=ca, tls="starttls", login=True) as server:
        mail = notifier(server, security="starttls", user="jobman", ca_file=ca_file)
        with pytest.raises(InvalidInputError, match=r"notifiers\.email\.user: .*535") as caught:
            await mail.deliver([notice(1)])
    assert "guess-what" not in str(caught.value)


@pytest.mark.parametrize("tls", ["starttls", "tls"])
async def test_a_certificate_that_nobody_vouches_for_gets_nothing(
    notifier: NotifierOf, ca: trustme.CA, tls: str
) -> None:
    async with mail_server(ca=ca, tls=tls) as server:
        with pytest.raises(InvalidInputError, match=r"notifiers\.email\.ca_file: the certificate"):
            await notifier(server, security=tls).deliver([notice(1)])
        assert not server.inbox.letters


async def test_a_server_without_starttls_gets_nothing(
    server: MailServer, notifier: NotifierOf
) -> None:
    with pytest.raises(InvalidInputError, match=r"notifiers\.email\.security: .*STARTTLS"):
        await notifier(server, security="starttls").deliver([notice(1)])
    assert not server.inbox.letters


async def test_a_server_that_is_away_is_tried_again(notifier: NotifierOf) -> None:
    async with mail_server() as server:
        pass
    with pytest.raises(JobmanError, match=r"gives no answer: .*host and port") as caught:
        await notifier(server).deliver([notice(1)])
    assert not isinstance(caught.value, InvalidInputError)


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"host": ""}, "host: it is missing"),
        ({"sender": ""}, "sender: it is missing"),
        ({"user": "me", "security": "none"}, "security: `none` would show the password"),
        ({"user": "me", "security": "tls"}, r"password_file: no password: .*JOBMAN_SMTP_PASSWORD"),
        ({"security": "tls", "ca_file": "no-such.pem"}, r"ca_file: cannot read .*no-such\.pem"),
    ],
)
async def test_settings_that_cannot_work_say_what_to_write(
    notifier: NotifierOf, section: dict[str, str], told: str
) -> None:
    with pytest.raises(InvalidInputError, match=rf"^notifiers\.email\.{told}"):
        await notifier(None, **section).deliver([notice(1)])


@pytest.mark.parametrize(
    ("mode", "text", "told"),
    [(0o640, "x", "chmod 600"), (0o600, "", "one line"), (0o600, "a\nb", "one line")],
)
async def test_a_password_file_is_its_owners_alone(
    notifier: NotifierOf, tmp_path: Path, mode: int, text: str, told: str
) -> None:
    secret = tmp_path / "password"
    secret.write_text(text)
    secret.chmod(mode)
    mail = notifier(None, security="tls", user="me", password_file=str(secret))
    with pytest.raises(InvalidInputError, match=told):
        await mail.deliver([notice(1)])


@pytest.mark.parametrize("mode", [0o644, 0o660])
def test_where_a_group_shares_the_home_its_members_read_the_password(
    tmp_path: Path, mode: int
) -> None:
    tmp_path.chmod(0o2770)
    secret = tmp_path / "password"
    secret.write_text("x")
    secret.chmod(0o640)
    assert read_password("password", tmp_path) == "x"
    secret.chmod(mode)
    with pytest.raises(InvalidInputError, match="chmod 640"):
        read_password("password", tmp_path)


async def test_a_password_file_of_a_user_who_does_not_exist_is_told(notifier: NotifierOf) -> None:
    mail = notifier(None, security="tls", user="me", password_file="~nobody-here/password")
    with pytest.raises(InvalidInputError, match="~nobody-here/password"):
        await mail.deliver([notice(1)])


async def test_nobody_to_write_to_needs_no_server(notifier: NotifierOf) -> None:
    await notifier(None, to=[]).deliver([notice(1), owners(2)])
