"""The day before, told once a day, with a chart."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import date, datetime
from typing import Final
from zoneinfo import ZoneInfo

from jobman_core.app import App
from jobman_core.errors import JobmanError
from jobman_core.models.usage import Day, Usage
from jobman_slackbot.blocks import View
from jobman_slackbot.config import BotConfig
from jobman_slackbot.errors import SlackError
from jobman_slackbot.outbox import WHO, Draft, Outbox
from jobman_slackbot.schedule import Daily
from jobman_slackbot.slack import Answer, Slack
from jobman_slackbot.views import day as view

#: The newest day of which nothing more is told.
_LAST: Final = "day/last"
#: The days whose chart is still to be shown.
_CHART: Final = "day/chart"
#: Seconds between two looks at the clock.
_LOOK: Final = 30.0

_LOG: Final = logging.getLogger(__name__)


class DayTeller:
    """Tells of the day before at a set time; of several at once when it could not."""

    def __init__(self, app: App, slack: Slack, outbox: Outbox, config: BotConfig) -> None:
        """Take the home, who posts, and when it is told."""
        self._app = app
        self._slack = slack
        self._outbox = outbox
        self._channel = config.channel
        self._rule = config.day
        #: The newest day that was over when the clock was first seen to be far behind.
        self._doubtful: date | None = None
        #: A chart that was written down by this process and not tried yet.
        self._untried = False

    async def run(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Look at the clock, without end; where no time is set there is nothing to do."""
        while self._rule is not None:
            try:
                await self.look()
            except SlackError as error:
                if error.lasting:
                    raise
                _LOG.debug("the day waits: %s", error)
            await sleep(_LOOK)

    async def look(self) -> None:
        """Tell what is due now.

        Raises:
            JobmanError: it could not be told, or not all of it; the next look goes on.
        """
        if self._rule is None:
            return
        zone = self._zone()
        daily = Daily(self._rule.at, ZoneInfo(zone) if zone else None)
        now = self._outbox.now()
        kept = (await self._app.recall(WHO, prefix=_LAST)).get(_LAST)
        last = date.fromisoformat(kept) if kept else None
        settled = daily.settled(last, now)
        if last is None:
            await self._app.remember(WHO, {_LAST: settled.isoformat()})
        elif settled != last:
            # Which of the two clocks was wrong is not known until one of them tells of a day.
            settled = self._doubtful = min(self._doubtful or settled, settled)
        else:
            self._doubtful = None
        due = daily.due(settled, now)
        if due:
            await self._tell(due, now)
        # Before its chart comes the message, also that of a process which was killed.
        await self._outbox.send(())
        await self._show_chart()

    async def _tell(self, due: Sequence[date], now: datetime) -> None:
        days = await self._days(due)
        found = await self._view(days, now)
        chart = None if all(day.empty for day in days) else [day.isoformat() for day in due]
        self._untried = True
        await self._outbox.send(
            [Draft(_key(due[-1].isoformat()), self._channel, found.text, found.blocks)],
            {_LAST: due[-1].isoformat(), _CHART: chart},
        )

    async def _view(self, days: Sequence[Day], now: datetime) -> View:
        if len(days) == 1:
            return view.day(days[0], now)
        return view.missed(days, await self._whole(days), now)

    async def _days(self, due: Sequence[date]) -> Sequence[Day]:
        return [await self._app.day(day, zone=self._zone()) for day in due]

    def _zone(self) -> str | None:
        """Name the zone whose days are told; None: the machine's."""
        own = self._rule.zone.key if self._rule and self._rule.zone else None
        return own or self._app.time_zone

    async def _whole(self, days: Sequence[Day]) -> Usage:
        return await self._app.usage(days[0].users.since, days[-1].users.until)

    # -- the chart -------------------------------------------------------------------------

    async def _show_chart(self) -> None:
        """Put the chart beside its message; where there can be none, the message is enough."""
        due = (await self._app.recall(WHO, prefix=_CHART)).get(_CHART)
        if not due:
            return
        place = await self._outbox.place(_key(due[-1]))
        name = f"jobman-{due[-1]}.png"
        if place is not None and not await self._is_there(name, place.channel, place.stamp):
            try:
                await self._upload(name, due, place.channel)
            except SlackError as error:
                if not error.lasting:
                    raise
                _LOG.warning("the day is told without its chart: %s", error)
            except JobmanError as error:
                _LOG.warning("the day is told without its chart: %s", error)
        await self._app.remember(WHO, {_CHART: None})

    async def _is_there(self, name: str, channel: str, stamp: str) -> bool:
        """Tell whether the chart was shown, as far as that is in doubt."""
        if self._untried:
            return False

        def fits(message: Answer) -> bool:
            return any(file.get("name") == name for file in message.get("files", ()))

        return await self._slack.seek(channel, stamp, fits) is not None

    async def _upload(self, name: str, due: Sequence[str], channel: str) -> None:
        days = await self._days([date.fromisoformat(day) for day in due])
        usage = days[0].users if len(days) == 1 else await self._whole(days)
        picture = await self._app.chart(usage)
        self._untried = False
        title = due[0] if len(due) == 1 else f"{due[0]} to {due[-1]}"
        await self._slack.upload(channel, name, picture, title=f"Chip-hours of {title}")


def _key(day: str) -> str:
    return f"day/{day}"
