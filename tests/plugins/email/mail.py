"""A real mail server on this machine, which answers as a test says."""

import asyncio
import contextlib
import email.policy
import ssl
import warnings
from collections.abc import AsyncIterator
from email.message import EmailMessage
from email.parser import BytesParser

import attrs
import trustme
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

PASSWORD = "correct horse"


@attrs.define
class Inbox:
    """What a server took, and what it answers instead."""

    #: Each letter with whom it was for.
    letters: list[tuple[str, EmailMessage]] = attrs.field(factory=list)
    #: The answer to a sender or recipient, by address, and to all content.
    refused: dict[str, str] = attrs.field(factory=dict)
    content: str = ""
    #: The connection is cut when content comes: before it is taken, or after.
    cut: str = ""
    logins: list[str] = attrs.field(factory=list)
    secure: list[bool] = attrs.field(factory=list)

    def to(self, address: str) -> list[EmailMessage]:
        """Give the letters of one recipient."""
        return [letter for to, letter in self.letters if to == address]

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's word
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address not in self.refused:
            envelope.mail_from = address
        return self.refused.get(address, "250 OK")

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's word
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address not in self.refused:
            envelope.rcpt_tos.append(address)
        return self.refused.get(address, "250 OK")

    async def handle_DATA(  # noqa: N802 - aiosmtpd's word
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        assert isinstance(server.transport, asyncio.Transport)
        if self.content:
            return self.content
        if self.cut != "before":
            assert isinstance(envelope.content, bytes)
            letter = BytesParser(EmailMessage, policy=email.policy.default).parsebytes(
                envelope.content
            )
            self.letters += [(to, letter) for to in envelope.rcpt_tos]
            self.secure.append(server.transport.get_extra_info("sslcontext") is not None)
        if self.cut:
            server.transport.abort()
        return "250 OK"


@attrs.frozen
class MailServer:
    """Where it listens, and what it got."""

    port: int
    inbox: Inbox


@contextlib.asynccontextmanager
async def mail_server(
    *, ca: trustme.CA | None = None, tls: str = "", login: bool = False
) -> AsyncIterator[MailServer]:
    """Run a mail server for the length of a block.

    Args:
        ca: who vouches for it.
        tls: ``starttls`` or ``tls``; empty: it speaks plain text alone.
        login: nobody may send mail without the password.
    """
    inbox, context = Inbox(), None
    if tls:
        assert ca is not None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        ca.issue_cert("localhost").configure_cert(context)

    def authenticate(
        server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: object
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        inbox.logins.append(data.login.decode())
        return AuthResult(success=data.password.decode() == PASSWORD, handled=False)

    def protocol() -> SMTP:
        with warnings.catch_warnings():
            # It does not know of a line that was secured before the first byte.
            warnings.filterwarnings("ignore", "Requiring AUTH while not requiring TLS")
            return SMTP(
                inbox,
                hostname="localhost",
                tls_context=context if tls == "starttls" else None,
                require_starttls=tls == "starttls",
                authenticator=authenticate if login else None,
                auth_required=login,
                auth_require_tls=tls != "tls",
            )

    server = await asyncio.get_running_loop().create_server(
        protocol, "127.0.0.1", 0, ssl=context if tls == "tls" else None
    )
    async with server:
        yield MailServer(server.sockets[0].getsockname()[1], inbox)
