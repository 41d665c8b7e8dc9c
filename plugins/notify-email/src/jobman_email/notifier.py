"""The notifier ``email``: one mail a recipient for each batch of notices."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from jobman_core.errors import InvalidInputError, JobmanError
from jobman_core.interfaces.backend import Context, Scope
from jobman_core.interfaces.notifier import Notifier
from jobman_core.models.checkup import Checkup
from jobman_core.models.notice import Notice
from jobman_email.addresses import read_address
from jobman_email.letters import Desk, write
from jobman_email.recipients import sorted_out
from jobman_email.server import NotTakenError, RefusedError, Server
from jobman_email.settings import EmailSettings

_log = logging.getLogger(__name__)


class Email(Notifier):
    """Sends notices by e-mail, as the section ``notifiers.email`` says."""

    name = "email"
    Settings: ClassVar[type] = EmailSettings

    def __init__(self, context: Context) -> None:
        """Keep what it was given; nothing is touched yet."""
        super().__init__(context)
        self._settings = EmailSettings(**context.settings)
        self._server = Server(self._settings, context.home)
        #: Events that are settled with a recipient, of notices that come again for the others.
        self._settled: dict[str, set[int]] = {}

    async def deliver(self, notices: Sequence[Notice]) -> None:
        """Send each recipient one mail; those who have theirs get it once, whoever else does not.

        Whom the server refuses for good is named in the log, and not written to again about this.

        Raises:
            JobmanError: somebody could not be written to now.
        """
        letters = self._open(sorted_out(notices, self._settings))
        late = await self._send(letters) if letters else []
        if late:
            msg = f"{late[0]}: it is tried again"
            more = f"; {len(late) - 1} more were put off" if len(late) > 1 else ""
            raise JobmanError(msg + more) from late[0]
        self._settled.clear()

    async def checkups(self, scope: Scope) -> Sequence[Checkup]:
        """Say whether the server lets us in, and whether anybody is written to."""
        settings = self._settings
        if not (settings.to or settings.people or settings.domain):
            remedy = "write notifiers.email.to, people or domain"
            return [Checkup.broken(self.name, "nobody is written to", remedy)]
        if scope.offline:
            self._server.check()
            return [Checkup.unknown(self.name, "no connection was tried, as --offline says")]
        async with self._server.connected():
            return [Checkup.well(self.name, f"{self._server.name} lets us in")]

    def _open(self, sorted_: Mapping[str, Sequence[Notice]]) -> Mapping[str, Sequence[Notice]]:
        """Leave out what is settled already."""
        left = {
            to: [notice for notice in notices if notice.event not in self._settled.get(to, ())]
            for to, notices in sorted_.items()
        }
        return {to: notices for to, notices in left.items() if notices}

    async def _send(self, letters: Mapping[str, Sequence[Notice]]) -> Sequence[NotTakenError]:
        """Send letters over one connection; give what was put off."""
        late: list[NotTakenError] = []
        refused: dict[str, RefusedError] = {}
        async with self._server.connected() as smtp:
            sender = read_address(self._settings.sender)
            desk = Desk(sender, self.context.home_id, str(self.context.home))
            for to, notices in letters.items():
                letter = write(to, notices, desk, self.context.clock.now())
                try:
                    await self._server.send(smtp, letter, sender.addr_spec, to)
                    self._settle(to, notices)
                except NotTakenError as error:
                    late.append(error)
                except RefusedError as error:
                    refused[to] = error
        if len(refused) == len(letters):
            _check_sender(refused.values())
        for to, why in refused.items():
            _log.warning("%s: correct the address below notifiers.email, or ask", why)
            self._settle(to, letters[to])
        return late

    def _settle(self, to: str, notices: Sequence[Notice]) -> None:
        self._settled.setdefault(to, set()).update(notice.event for notice in notices)


def _check_sender(refused: Iterable[RefusedError]) -> None:
    """Where nobody could be written to, let it not be for a login that is missing.

    Raises:
        InvalidInputError: it may be: nothing is given up.
    """
    for error in refused:
        if error.of_sender:
            told = "log in (notifiers.email.user), or write another notifiers.email.sender"
            msg = f"{error}: nobody could be written to: {told}"
            raise InvalidInputError(msg) from error
