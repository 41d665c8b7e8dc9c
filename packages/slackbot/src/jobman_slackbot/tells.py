"""Notices, told in Slack: in the channel, or to the owner in person."""

import logging
from collections.abc import Sequence
from typing import Final

from jobman_core.app import App
from jobman_core.models.notice import Audience, Notice
from jobman_slackbot import blocks, text
from jobman_slackbot.bursts import Burst, absorb, render
from jobman_slackbot.config import BotConfig
from jobman_slackbot.errors import SlackError
from jobman_slackbot.outbox import KEPT, WHO, Draft, Outbox

_NEWS: Final = "news/"
_NAME: Final = 64

_LOG: Final = logging.getLogger(__name__)


class Tells:
    """Tells people in Slack what happened to their jobs and tasks."""

    def __init__(self, app: App, outbox: Outbox, config: BotConfig) -> None:
        """Take the home that remembers what was told, who posts, and who is who."""
        self._app = app
        self._outbox = outbox
        self._channel = config.channel
        self._people: dict[str, str] = {user: person for person, user in config.people.items()}
        #: What was told, oldest first; None: what the home remembers is to be read.
        self._known: dict[str, Burst] | None = None

    async def deliver(self, notices: Sequence[Notice]) -> None:
        """Tell of notices; those that were told are passed over.

        What Slack does not take now is written down, and posted when it does: what comes next,
        which may be for somebody else, does not wait for that.

        Raises:
            StoreError: nothing can be remembered now, and so nothing is told.
        """
        try:
            await self._deliver(notices)
        except BaseException:
            # How far it came is written down: the next begins there, as after a restart.
            self._known = None
            raise

    async def _deliver(self, notices: Sequence[Notice]) -> None:
        known = self._known
        if known is None:
            kept = await self._app.recall(WHO, prefix=_NEWS)
            bursts = (Burst.from_json(key, burst) for key, burst in kept.items())
            known = {burst.key: burst for burst in sorted(bursts, key=lambda burst: burst.at)}
        now = self._outbox.now()
        waiting = await self._outbox.waiting()
        changed = absorb(known.values(), notices, self._address, now, waiting.__contains__)
        old = [key for key, burst in known.items() if now - burst.at > KEPT]
        facts = {burst.key: burst.to_json() for burst in changed}
        drafts = [self._draft(burst) for burst in changed]
        try:
            await self._outbox.send(drafts, {**dict.fromkeys(old), **facts})
        except SlackError as error:
            _LOG.debug("notices wait: %s", error)
        known |= {burst.key: burst for burst in changed}
        self._known = {key: burst for key, burst in known.items() if key not in old}

    def _address(self, notice: Notice) -> str:
        """Give whom to tell; of owners whom nobody knows in Slack, the channel is told."""
        if notice.to is Audience.OWNER:
            return self._people.get(notice.user or "", self._channel)
        return self._channel

    def _draft(self, burst: Burst) -> Draft:
        user = next((user for user, person in self._people.items() if person == burst.to), "")
        preface = f"For {text.mrkdwn(user, _NAME)}:\n" if user else ""
        said = blocks.said(render(burst).splitlines())
        return Draft(
            burst.key, burst.to, said.text, said.blocks, burst.events, preface, news=burst.grown
        )
