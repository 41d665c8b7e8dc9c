"""A bot's desk: a home that remembers, the loopback Slack, and a clock that stands still."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import aiohttp
import attrs
import pytest
from slack_sdk.web.async_client import AsyncWebClient
from tests.support.slack import LoopbackSlack, Message
from tests.support.slack.server import BOT_TOKEN

from jobman_core.app import App
from jobman_core.errors import JobmanError
from jobman_core.home import Home
from jobman_core.models.notice import Audience, Notice, NoticeKind
from jobman_core.models.reap import KeptSlice, Reaped
from jobman_core.models.usage import Day, IdleSlice, Prices, Share, Usage
from jobman_slackbot.config import BotConfig, ChannelId, DayRule, JobmanUser, PersonId
from jobman_slackbot.day import DayTeller
from jobman_slackbot.outbox import EVENT_TYPE, Outbox
from jobman_slackbot.slack import Slack
from jobman_slackbot.tells import Tells
from jobman_slackbot.tend import Tender

#: Noon, for nothing in a test may come to the end of a day unasked.
START = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)


class Killed(BaseException):
    """The process ends here."""


@attrs.define
class Fate:
    """Says at which of the steps that leave a trace the process is killed, and on which side."""

    step: int = 0
    after: bool = False
    taken: int = 0

    def strikes(self, *, after: bool) -> bool:
        """Count a side of a step."""
        if not after:
            self.taken += 1
        return self.taken == self.step and after is self.after


class MortalSlack(Slack):
    """A bot's Slack, that may be killed before or after any call."""

    fate = Fate()

    async def call(
        self, method: str, *, lane: str = "", once: bool = False, **arguments: Any
    ) -> Mapping[str, Any]:
        if self.fate.strikes(after=False):
            raise Killed
        answer = await super().call(method, lane=lane, once=once, **arguments)
        if self.fate.strikes(after=True):
            raise Killed
        return answer


class MortalApp(App):
    """A bot's home, that may be killed before or after anything is written."""

    fate = Fate()
    #: What the reports of this home say.
    reports: "Reports"

    async def day(self, day: date, *, zone: str | None = None) -> Day:
        return self.reports.day(day)

    async def usage(
        self, since: datetime, until: datetime, *, by: str = "user", mine: bool = False
    ) -> Usage:
        return self.reports.usage(since, until, by)

    async def chart(self, usage: Usage) -> bytes:
        return self.reports.chart(usage)

    async def reap(self, *, dry_run: bool = False, all: bool = False) -> Reaped:  # noqa: A002
        return self.reports.reap(dry_run=dry_run)

    async def keep(self, kept: Sequence[KeptSlice]) -> Sequence[str]:
        return self.reports.keep(kept)

    async def remember(self, who: str, facts: Mapping[str, Any]) -> None:
        if self.fate.strikes(after=False):
            raise Killed
        await super().remember(who, facts)
        if self.fate.strikes(after=True):
            raise Killed


@attrs.define
class Reports:
    """What a home would report, as a test says."""

    #: Chip-hours of the days on which there were any.
    hours: dict[date, float] = attrs.field(factory=dict)
    idle: tuple[IdleSlice, ...] = ()
    reaped: tuple[str, ...] = ()
    picture: bytes | JobmanError = b"a picture"
    drawn: int = 0
    found: Reaped | JobmanError = attrs.field(factory=lambda: Reaped(()))
    dry: list[bool] = attrs.field(factory=list)
    kept: Sequence[str] | JobmanError = ()

    def usage(self, since: datetime, until: datetime, by: str) -> Usage:
        days = [day for day in self.hours if since.date() <= day < until.date()]
        hours = sum(self.hours[day] for day in days)
        total = Share("", hours, hours / 2, hours / 4, hours / 4, 1.0, 2 * hours, 1, 2, 3)
        shares = [attrs.evolve(total, name="ada" if by == "user" else "v4-8")] if hours else []
        return Usage(since, until, by, tuple(shares), total, Prices(date(2026, 11, 1)))

    def day(self, day: date) -> Day:
        since = datetime.combine(day, time(), UTC)
        if day not in self.hours:
            nothing = Usage(since, since, "user", (), Share(""), Prices(date(2026, 11, 1)))
            return Day(day, "UTC", nothing, nothing)
        until = since + timedelta(days=1)
        users, types = self.usage(since, until, "user"), self.usage(since, until, "accelerator")
        return Day(day, "UTC", users, types, self.idle, self.reaped)

    def chart(self, usage: Usage) -> bytes:
        self.drawn += 1
        if isinstance(self.picture, JobmanError):
            raise self.picture
        return self.picture

    def reap(self, *, dry_run: bool) -> Reaped:
        self.dry.append(dry_run)
        if isinstance(self.found, JobmanError):
            raise self.found
        return self.found

    def keep(self, kept: Sequence[KeptSlice]) -> Sequence[str]:
        if isinstance(self.kept, JobmanError):
            raise self.kept
        return self.kept


class Desk:
    """A bot as far as it tells people."""

    def __init__(self, app: MortalApp, slack: LoopbackSlack, client: AsyncWebClient) -> None:
        self.app = app
        self.slack = slack
        self.client = client
        self.now = START
        app.reports = self.reports = Reports()
        self.ada, self.bob = slack.world.person("ada"), slack.world.person("bob")
        self.lab = slack.world.channel("lab")
        self.config = BotConfig(
            ChannelId(self.lab),
            {PersonId(self.ada): JobmanUser("ada"), PersonId(self.bob): JobmanUser("bob")},
            day=DayRule(time(9), ZoneInfo("UTC")),
            keep_alive=(KeptSlice("demo", "v4-8", "us-central2-b"),),
        )
        slack.rate.burst = 100_000
        slack.world.now = self._seconds
        self.restart()

    def restart(self, fate: Fate | None = None) -> None:
        """Begin as a new process does."""
        self.sender = MortalSlack(self.client, patience=0, now=self._seconds, sleep=self._sleep)
        self.sender.fate = self.app.fate = fate or Fate()
        self.outbox = Outbox(self.app, self.sender, self.lab, lambda: self.now)
        self.tells = Tells(self.app, self.outbox, self.config)
        self.day = DayTeller(self.app, self.sender, self.outbox, self.config)
        self.tender = Tender(self.app, self.outbox, self.config)

    def _seconds(self) -> float:
        return self.now.timestamp()

    async def _sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def later(self, **span: float) -> None:
        """Let time pass."""
        self.now += timedelta(**span)

    def messages(self, channel: str | None = None) -> list[Message]:
        """What stands in a channel, by default the lab's."""
        return self.slack.read(channel or self.lab)

    def texts(self, channel: str | None = None) -> list[str]:
        return [message.plain for message in self.messages(channel)]

    def told(self) -> list[int]:
        """Of which events people were told, each time that they were."""
        return sorted(
            event
            for message in self.slack.world.messages()
            if message.metadata and message.metadata["event_type"] == EVENT_TYPE
            for event in message.metadata["event_payload"]["events"]
        )

    def direct(self, person: str) -> str:
        return self.slack.world.talk_with(person).id


def notice(
    event: int,
    kind: NoticeKind = NoticeKind.PREEMPTED,
    *,
    at: datetime = START,
    about: str = "",
    text: str = "",
    to: Audience = Audience.CHANNEL,
    user: str = "ada",
) -> Notice:
    about = about or f"job {event:06d} slice 1"
    return Notice(event, at, kind, about, text or f"{about}: {kind}", to, user)


def burst(count: int, first: int = 1, **more: Any) -> Sequence[Notice]:
    return [notice(event, **more) for event in range(first, first + count)]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    home = Home(tmp_path / "home")
    home.state.mkdir(parents=True)
    async with (
        MortalApp(home, user="bot") as app,
        LoopbackSlack() as slack,
        aiohttp.ClientSession() as session,
    ):
        client = AsyncWebClient(
            BOT_TOKEN, base_url=f"{slack.url}/api/", session=session, retry_handlers=[]
        )
        yield Desk(app, slack, client)
        assert slack.violations == []
