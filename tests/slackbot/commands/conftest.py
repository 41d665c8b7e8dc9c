"""A bot that hears commands in this process: a home, the loopback Slack, people of each role."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient
from tests.support.slack import LoopbackSlack, Message
from tests.support.slack.server import APP_TOKEN, BOT_TOKEN
from tests.support.slack.sockets import Envelope

from jobman_core.app import App
from jobman_core.home import Home
from jobman_core.interfaces.store import Note, Store
from jobman_core.models.slice import SliceIdentity, SliceRequest
from jobman_core.testing.store_contract.scene import Scene, slice_of
from jobman_slackbot.bot import Bot
from jobman_slackbot.commands.entry import register
from jobman_slackbot.config import BotConfig, ChannelId, JobmanUser, PersonId
from jobman_slackbot.slack import Slack
from jobman_slackbot.socket import Socket

_HOME = """
reap: {places: [{zone: here, cloud: local}], grace: 0s}
"""
_JOB = """
job: {name: train, session: process}
tpu: {cloud: local, accelerator: v4-8, zone: here}
command: {cmd: "true"}
"""


class Room:
    """Where people write ``/jobman``.

    ``ada`` and ``bob`` have jobs of their own, ``vera`` only sees, ``olga`` steers, ``root`` may do
    all, and nobody has heard of ``eve``.
    """

    def __init__(
        self, root: Path, app: App, slack: LoopbackSlack, session: aiohttp.ClientSession
    ) -> None:
        self.session = session
        self.root = root
        self.app = app
        self.slack = slack
        self.now = datetime.now(UTC)
        person = slack.world.person
        self.ada, self.bob, self.vera = person("ada"), person("bob"), person("vera")
        self.olga, self.root_, self.eve = person("olga"), person("root"), person("eve")
        self.lab = slack.world.channel("lab")
        self.elsewhere = slack.world.channel("elsewhere")
        slack.rate.burst = 100_000
        users = {self.ada: "ada", self.bob: "bob", self.olga: "olga", self.root_: "root"}
        self.config = BotConfig(
            ChannelId(self.lab),
            {PersonId(who): JobmanUser(user) for who, user in users.items()},
            viewers=(PersonId(self.vera),),
            operators=(PersonId(self.olga),),
            admins=(PersonId(self.root_),),
        )

    @property
    def store(self) -> Store:
        assert self.app._opened is not None
        return self.app._opened.store

    async def job(self, user: str = "ada", name: str = "train") -> str:
        """Record a job that does not run."""
        file = self.root / "job.yaml"
        file.write_text(_JOB.replace("train", name), encoding="utf-8")
        (made,) = await self.app.acting_for(user).create(file, start=False)
        return made.job.id

    async def slice(self, job: str, generation: int, **changes: Any) -> None:
        """Let a job have a slice of this generation on the books."""
        lease = await Scene(self.store).lease(job)
        note = Note("slice.requested", "asks for another")
        await self.store.open_slice(lease, slice_of(job, generation, **changes), note)

    async def orphan(self, name: str, *, home: str | None = None) -> None:
        """Let the cloud have a slice that no job knows of, and that is lost."""
        assert self.app._opened is not None
        owner = home or await self.store.home_id()
        identity = SliceIdentity(name, "here", owner, "ada", "000077", 1)
        cloud = self.app._opened.backends.cloud("local")
        await cloud.create(identity, SliceRequest("local", "v4-8", "here"))
        await cloud.preempt(identity)

    def slices(self) -> set[str]:
        """What the cloud has."""
        return {path.parent.name for path in self.root.glob("jobs/.jobman/local/*/slice.json")}

    async def queue(self, *tasks: str, name: str = "tasks.yaml") -> Path:
        """Let the home have a queue."""
        path = self.root / name
        path.parent.mkdir(exist_ok=True, parents=True)
        entries = "".join(f"      - {{id: '{task}', run: 'true'}}\n" for task in tasks)
        path.write_text(f"accelerators:\n  v4-8:\n    tasks:\n{entries}", encoding="utf-8")
        await self.app.queue(path)
        return path

    async def ask(self, who: str, text: str, channel: str | None = None) -> Message:
        """Write a command, and give the first answer."""
        return await self.slack.ask(who, channel or self.lab, f"/jobman {text}")

    async def press(self, who: str, message: Message, label: str, **how: Any) -> Envelope:
        """Press a button."""
        return await self.slack.press(who, message, label, **how)

    async def answer(self, who: str, message: Message, label: str) -> Message:
        """Press a button, and give the new message that comes of it."""
        before = set(map(id, self.slack.world.messages()))
        await self.press(who, message, label)
        return await self.slack.fresh(who, before)

    async def reads(self, message: Message, text: str) -> Message:
        """Wait until something stands in a message."""
        return await self.slack.wait_for(
            lambda: message if text in message.plain else None, what=f"{text!r} in a message"
        )

    async def told(self, text: str) -> str:
        """Wait until all of the lab are told something."""
        return await self.slack.wait_for(
            lambda: next((m.plain for m in self.public() if text in m.plain), None), what=text
        )

    def public(self) -> list[Message]:
        """What everybody reads in the lab's channel."""
        return [m for m in self.slack.read(self.lab) if m.only_to is None]

    def later(self, **span: float) -> None:
        """Let time pass."""
        self.now += timedelta(**span)

    async def status(self, job: str) -> str:
        return str((await self.app.show(job)).job.status)

    async def wanted(self, job: str) -> str:
        return str((await self.app.show(job)).job.desired)

    async def start(self) -> None:
        """Let a bot listen."""
        client = AsyncWebClient(
            BOT_TOKEN, base_url=f"{self.slack.url}/api/", session=self.session, retry_handlers=[]
        )
        self.bot = Bot(self.config, self.app, client)
        register(self.bot.bolt, self.bot, now=lambda: self.now)
        hasty = Slack(client, patience=0)
        socket = Socket(hasty, self.session, APP_TOKEN, self.bot.take)
        self._listening = asyncio.create_task(socket.run())
        await self.slack.connected()

    async def stop(self) -> None:
        """End it when it has done what it was asked for."""
        await self.bot.settle()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def restart(self) -> None:
        """Let another bot take its place."""
        await self.stop()
        await self.slack.wait_for(lambda: not self.slack.sockets.open, what="it is gone")
        await self.start()


@pytest.fixture
async def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Room]:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    root = tmp_path / "home"
    Home(root).state.mkdir(parents=True)
    Home(root).settings.write_text(_HOME, encoding="utf-8")
    async with (
        App(Home(root), user="bot") as app,
        LoopbackSlack() as slack,
        aiohttp.ClientSession() as session,
    ):
        room = Room(root, app, slack, session)
        await app.list()
        await room.start()
        yield room
        await room.stop()
        assert slack.violations == []
