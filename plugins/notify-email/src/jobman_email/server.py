"""The mail server: one connection, and what each of its answers means."""

import asyncio
import contextlib
import os
import ssl
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import attrs

from jobman_core.errors import InvalidInputError, JobmanError, printable
from jobman_email.password import read_password
from jobman_email.settings import EmailSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiosmtplib import SMTP, SMTPResponseException

_E = TypeVar("_E", bound=BaseException)
#: Seconds for each answer of the server.
_PATIENCE: Final = 30.0
#: Answers from here on are for good (RFC 5321): the same mail would get the same one again.
_FOR_GOOD: Final = 500
#: "Service not available, closing the channel".
_CLOSING: Final = 421
#: "Authentication required", and the class of answers that are about security or policy (RFC 3463).
_LOGIN_WANTED: Final = 530
_POLICY: Final = "5.7."
#: Characters of a server's own words that are shown.
_LONGEST: Final = 200


class NotTakenError(JobmanError):
    """The server did not take one letter now, and may do so later."""


class RefusedError(JobmanError):
    """The server refused one letter for good."""

    def __init__(self, message: str, *, of_sender: bool) -> None:
        """Keep what it said.

        Args:
            message: all of it.
            of_sender: it is about who sends, and not about this recipient alone.
        """
        super().__init__(message)
        self.of_sender = of_sender


@attrs.frozen
class Server:
    """A mail server as the settings name it."""

    settings: EmailSettings
    home: Path

    @contextlib.asynccontextmanager
    async def connected(self) -> "AsyncIterator[SMTP]":
        """Give a connection, secured and logged in as the settings say.

        Raises:
            InvalidInputError: the settings are wrong, each with the key to change.
            JobmanError: the server is away, or too busy: an error that passes.
        """
        from aiosmtplib import SMTP, SMTPException

        settings = self.settings
        self.check()
        tls = await asyncio.to_thread(self._tls)
        login = settings.user and await asyncio.to_thread(
            read_password, settings.password_file, self.home
        )
        smtp = SMTP(
            hostname=settings.host,
            port=settings.server_port,
            timeout=_PATIENCE,
            use_tls=settings.security == "tls",
            start_tls=settings.security == "starttls",
            tls_context=tls,
            username=settings.user or None,
            password=login or None,
        )
        try:
            async with smtp:
                yield smtp
        except (SMTPException, OSError) as error:
            raise self._explained(error) from error

    async def send(self, smtp: "SMTP", letter: EmailMessage, sender: str, to: str) -> None:
        """Hand one letter over.

        Raises:
            NotTakenError: not now.
            RefusedError: never.
        """
        from aiosmtplib import SMTPDataError, SMTPRecipientsRefused

        try:
            await smtp.sendmail(sender, to, letter.as_bytes())
        except (SMTPRecipientsRefused, SMTPDataError) as error:
            answer = error if isinstance(error, SMTPDataError) else error.recipients[0]
            if answer.code == _CLOSING:
                # It holds for all letters.
                raise answer from error
            msg = f"mail server {self.name} refused mail to {to}: {_said(answer)}"
            if answer.code < _FOR_GOOD:
                raise NotTakenError(msg) from error
            policy = answer.code == _LOGIN_WANTED or answer.message.startswith(_POLICY)
            # Of content it says no more than that the same would be refused again.
            of_sender = policy and not isinstance(error, SMTPDataError)
            raise RefusedError(msg, of_sender=of_sender) from error

    @property
    def name(self) -> str:
        """What people know it as: host and port."""
        return f"{self.settings.host}:{self.settings.server_port}"

    def check(self) -> None:
        """Refuse settings that lack something, or would give a secret away.

        Raises:
            InvalidInputError: they do; with the key to change.
        """
        settings = self.settings
        if not settings.host:
            raise _wrong("host", "it is missing: name the mail server")
        if not settings.sender:
            raise _wrong("sender", "it is missing: write the address that mail comes from")
        if settings.user and settings.security == "none":
            told = "`none` would show the password to the network: write starttls or tls"
            raise _wrong("security", told)

    def _tls(self) -> ssl.SSLContext | None:
        """Give what certificates are checked by; None: there is nothing to check."""
        settings = self.settings
        if settings.security == "none":
            return None
        context = ssl.create_default_context()
        if settings.ca_file:
            path = self.home / os.path.expanduser(settings.ca_file)  # noqa: PTH111 - Path's own raises
            try:
                context.load_verify_locations(path)
            except OSError as error:
                told = f"cannot read {path} ({error.strerror or error}): it must hold certificates"
                raise _wrong("ca_file", f"{told} (PEM)") from error
        return context

    def _explained(self, error: Exception) -> JobmanError:
        """Turn an error of the connection into one that says what to do."""
        from aiosmtplib import (
            SMTPAuthenticationError,
            SMTPResponseException,
            SMTPSenderRefused,
        )

        name = f"mail server {self.name}"
        certificate = _cause(error, ssl.SSLCertVerificationError)
        if certificate is not None:
            told = f"the certificate of {name} is not to be trusted: {certificate.verify_message}"
            return _wrong("ca_file", f"{told}: name its authority's certificate here, or mend host")
        if _cause(error, ssl.SSLError) is not None:
            return _wrong("security", f"{name} does not speak TLS so: {_brief(error)}: try another")
        if isinstance(error, SMTPResponseException):
            told = f"{name}: {_said(error)}"
            if error.code < _FOR_GOOD:
                return JobmanError(f"{told}: it is tried again")
            if isinstance(error, SMTPAuthenticationError):
                return _wrong("user", f"{told}: correct it, or the password")
            if isinstance(error, SMTPSenderRefused):
                return _wrong(
                    "sender", f"{told}: write an address that {self.settings.host} sends for"
                )
            return _wrong("host", f"{told}: ask who runs it")
        if "not supported" in str(error):
            return _wrong(
                "security", f"{name}: {_brief(error)} choose another `security`, or no `user`"
            )
        return JobmanError(
            f"{name} gives no answer: {_brief(error)}: it is tried again; if that does not help, "
            "correct notifiers.email.host and port"
        )


def _wrong(key: str, told: str) -> InvalidInputError:
    return InvalidInputError(f"notifiers.email.{key}: {told}")


def _cause(error: BaseException | None, kind: type[_E]) -> _E | None:
    """Find what lies behind an error."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__
    return error


def _said(answer: "SMTPResponseException") -> str:
    """Give an answer of the server, its own words cut."""
    return f"{answer.code} {_brief(answer.message)}"


def _brief(words: object) -> str:
    return printable(" ".join(str(words).split())[:_LONGEST])
