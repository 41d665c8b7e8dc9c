"""What the bot does by itself for the slices of a lab: reaps what is dead, keeps some alive."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any, Final

import attrs

from jobman_core.app import App
from jobman_core.errors import JobmanError
from jobman_core.models.reap import Dead
from jobman_slackbot import blocks
from jobman_slackbot.config import BotConfig, ReapMode
from jobman_slackbot.errors import SlackError
from jobman_slackbot.outbox import KEPT, WHO, Draft, Outbox
from jobman_slackbot.views import tending

_TOLD: Final = "reap/told/"
_TROUBLE: Final = "tend/trouble/"
#: What stands for a place where it is not one zone that cannot be looked at.
_REAPER: Final = "the cloud, to reap"
_KEEPER: Final = "the cloud, to keep slices alive"
#: Rounds in a row that have to fail before people are told: clouds have a bad moment now and then.
_PATIENT: Final = 2

_LOG: Final = logging.getLogger(__name__)


@attrs.frozen
class Round:
    """What one round has to say, and to remember."""

    lines: tuple[str, ...] = ()
    facts: Mapping[str, Any] = attrs.field(factory=dict)


class Tender:
    """Looks at a lab's slices every some minutes, and tells people what is new."""

    def __init__(self, app: App, outbox: Outbox, config: BotConfig) -> None:
        """Take the home, who posts, and what the bot may do."""
        self._app = app
        self._outbox = outbox
        self._config = config

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Do rounds, without end."""
        while True:
            await self.round()
            await sleep(self._config.reap_every)

    async def round(self) -> None:
        """Reap, keep alive, and tell what is new of both.

        Raises:
            StoreError: nothing can be remembered now, so nothing is told.
        """
        now = self._outbox.now()
        troubles: dict[str, str] = {}
        rounds = []
        if self._config.reap is not ReapMode.OFF:
            rounds.append(await self._reap(now, troubles))
        # What is on the list no more is heard of as well.
        rounds.append(await self._keep(troubles))
        rounds.append(await self._well_or_not(now, troubles))
        lines = [line for one in rounds for line in one.lines]
        facts = {key: fact for one in rounds for key, fact in one.facts.items()}
        said = blocks.said(lines)
        drafts = [Draft(f"tend/{now.isoformat()}", self._config.channel, said.text, said.blocks)]
        try:
            await self._outbox.send(drafts if lines else [], facts)
        except SlackError as error:
            # It is written down, and posted when Slack can be reached.
            _LOG.info("what is new of slices is told later: %s", error)

    async def _reap(self, now: datetime, troubles: dict[str, str]) -> Round:
        """Reap; people are told of each dead thing once for each thing that becomes of it."""
        mode = self._config.reap
        try:
            found = await self._app.reap(dry_run=mode is ReapMode.DRY_RUN, all=mode is ReapMode.ALL)
        except JobmanError as error:
            troubles[_REAPER] = str(error)
            return Round()
        troubles.update(found.unseen)
        told = await self._app.recall(WHO, prefix=_TOLD)
        marks = {_mark(dead): dead for dead in found.found if tending.worth_telling(dead)}
        news = [dead for mark, dead in marks.items() if mark not in told]
        facts: dict[str, Any] = {
            mark: now.isoformat()
            for mark in marks
            if mark not in told or _old(told[mark], now, KEPT.total_seconds() / 2)
        }
        facts |= {
            mark: None
            for mark, at in told.items()
            if mark not in marks and _old(at, now, KEPT.total_seconds())
        }
        return Round(tuple(tending.reaped(news, now)), facts)

    async def _keep(self, troubles: dict[str, str]) -> Round:
        """Ask again for slices that died; who keeps them says what is news."""
        try:
            lines = await self._app.keep(self._config.keep_alive)
        except JobmanError as error:
            troubles[_KEEPER] = str(error)
            return Round()
        return Round(tuple(tending.kept(lines)))

    async def _well_or_not(self, now: datetime, troubles: Mapping[str, str]) -> Round:
        """Tell of a place that cannot be looked at once, and once more when it is well again."""
        kept = await self._app.recall(WHO, prefix=_TROUBLE)
        lines: list[str] = []
        facts: dict[str, Any] = {}
        for place, why in troubles.items():
            key = f"{_TROUBLE}{place}"
            fact = kept.get(key) or {"since": now.isoformat(), "rounds": 0}
            fact = {**fact, "rounds": min(fact["rounds"] + 1, _PATIENT + 1)}
            if fact["rounds"] == _PATIENT:
                lines.append(tending.trouble(place, why))
            if fact != kept.get(key):
                facts[key] = fact
        for key, fact in kept.items():
            place = key.removeprefix(_TROUBLE)
            if place not in troubles:
                facts[key] = None
                if fact["rounds"] >= _PATIENT:
                    since = datetime.fromisoformat(fact["since"])
                    lines.append(tending.well(place, (now - since).total_seconds()))
        return Round(tuple(lines), facts)


def _mark(dead: Dead) -> str:
    """Give the key of something dead and of what becomes of it; a namesake has another."""
    said = [dead.cloud, dead.project, dead.zone, dead.name, dead.since.isoformat(), dead.fate]
    return _TOLD + hashlib.sha256("\0".join(said).encode()).hexdigest()[:32]


def _old(at: str, now: datetime, seconds: float) -> bool:
    return (now - datetime.fromisoformat(at)).total_seconds() > seconds
