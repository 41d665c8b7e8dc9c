"""The real Slack bot of a home, as a process, beside a loopback Slack."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from tests.support.lab import Lab
from tests.support.slack import LoopbackSlack, Message

from jobman_core.app import App
from jobman_core.home import Home

_T = TypeVar("_T")


class BotLab:
    """A home, a Slack with people of each role, and ``jobman-slackbot run`` between the two.

    ``ada`` and ``bob`` have jobs of their own, ``vera`` only sees, ``olga`` steers, ``root`` may do
    all, and nobody has heard of ``eve``.
    """

    def __init__(self, lab: Lab, slack: LoopbackSlack) -> None:
        self.lab = lab
        self.slack = slack
        person = slack.world.person
        self.ada, self.bob, self.vera = person("ada"), person("bob"), person("vera")
        self.olga, self.root, self.eve = person("olga"), person("root"), person("eve")
        self.channel = slack.world.channel("lab")
        self.elsewhere = slack.world.channel("elsewhere")
        self.log = lab.root / "bot.log"
        self.process: asyncio.subprocess.Process | None = None
        self.configure()

    def configure(self, **more: Any) -> Path:
        """Write ``bot.yaml``; None takes a key out."""
        settings = {
            "home": str(self.lab.root),
            "channel": self.channel,
            "people": {self.ada: "ada", self.bob: "bob", self.olga: "olga", self.root: "root"},
            "viewers": [self.vera],
            "operators": [self.olga],
            "admins": [self.root],
            "reap": "off",
            "settle": "1s",
        } | more
        path = self.lab.root / "bot.yaml"
        with path.open("w", encoding="utf-8") as file:
            YAML().dump({k: v for k, v in settings.items() if v is not None}, file)
        return path

    async def spawn(self, *args: str) -> asyncio.subprocess.Process:
        """Start ``jobman-slackbot``; what it says goes to ``bot.log``."""
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "jobman_slackbot",
                *args,
                env={**self.lab.env, **self.slack.env},
                cwd=self.lab.root,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    async def start(self) -> None:
        """Let the bot run, and wait until it listens."""
        self.process = await self.spawn("run", "--config", str(self.lab.root / "bot.yaml"))
        await self.until(lambda: self.slack.sockets.open, what="the bot listens")

    async def end(self, number: int = signal.SIGTERM, limit: float = 60) -> int:
        """Signal the bot and wait until it is gone; returns what it ended with."""
        process, self.process = self.process, None
        assert process is not None
        if process.returncode is None:
            process.send_signal(number)
        code = await asyncio.wait_for(process.wait(), limit)
        await self.until(lambda: not self.slack.sockets.open, what="its connection is gone")
        return code

    async def stop(self) -> None:
        """End it as its service does, if it runs."""
        if self.process is not None and self.process.returncode is None:
            assert await self.end() == 0, self.words()

    async def kill(self) -> None:
        """End it as a power cut would."""
        await self.end(signal.SIGKILL)

    async def until(
        self, condition: Callable[[], _T | None], what: str = "it", limit: float = 60
    ) -> _T:
        """Wait for a condition; a bot that died meanwhile is shown with its last words."""

        def look() -> _T | None:
            died = self.process is not None and self.process.returncode is not None
            assert not died, f"the bot has ended:\n{self.words()}"
            return condition()

        try:
            return await self.slack.wait_for(look, limit=limit, what=what)
        except AssertionError as error:
            error.add_note(f"the bot says:\n{self.words()}\n{self.lab.story()}")
            raise

    async def reads(self, word: str, user: str | None = None, *, limit: float = 60) -> None:
        """Wait until a word is read in the bot's channel: by everybody, or by this user."""
        await self.until(
            lambda: any(word in m.plain for m in self.slack.read(self.channel, user)),
            f"{user or 'everybody'} reads {word!r}",
            limit,
        )

    async def hears(self, count: int, *, limit: float = 60) -> None:
        """Wait until everybody in the bot's channel has so many messages."""
        await self.until(lambda: len(self.told()) >= count, f"{count} messages", limit)

    def words(self, most: int = 4000) -> str:
        """What the bot has said."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-most:]

    async def ask(
        self, user: str, text: str, channel: str | None = None, *, limit: float = 60
    ) -> Message:
        """Type a command in the bot's channel, and give the first answer that is seen."""
        try:
            return await self.slack.ask(
                user, channel or self.channel, f"/jobman {text}", limit=limit
            )
        except AssertionError as error:
            error.add_note(f"the bot says:\n{self.words()}")
            raise

    def told(self, channel: str | None = None) -> list[str]:
        """What everybody reads in the bot's channel."""
        return [m.plain for m in self.slack.read(channel or self.channel)]

    def app(self, user: str) -> App:
        """The home as a user of jobman has it, in this process."""
        return App(Home(self.lab.root), user=user, make=True)

    async def create(self, user: str, name: str = "job", *, start: bool = False, **job: Any) -> str:
        """Create somebody's job, and give its id."""
        async with self.app(user) as app:
            (made,) = await app.create(self.lab.job(name, **job), start=start)
        return made.job.id

    async def status(self, job: str) -> str:
        """Give a job's status."""
        async with self.app("root") as app:
            return str((await app.show(job)).job.status)

    async def comes(
        self, look: Callable[[], Awaitable[bool]], what: str, limit: float = 120
    ) -> None:
        """Wait until the home is so; the same as :meth:`until` for what has to be asked."""
        try:
            async with asyncio.timeout(limit):
                while True:
                    if await look():
                        return
                    await asyncio.sleep(0.2)
        except TimeoutError:
            message = f"in vain for {limit} s: {what}\n{self.words()}\n{self.lab.story()}"
            raise AssertionError(message) from None

    async def until_status(self, job: str, status: str) -> None:
        """Wait for a job's status."""

        async def look() -> bool:
            return await self.status(job) == status

        await self.comes(look, f"job {job} is {status}")

    async def close(self) -> None:
        """Delete everybody's jobs; nothing may be left of any of them."""
        async with self.app("root") as app:
            for job in await app.list():
                await app.acting_for("root", admin=True).delete(job.id)
        await self.slack.wait_for(lambda: not self.lab.processes(), what="nothing runs")
        assert self.lab.slices() == []

    async def do(self, action: Callable[..., _T], *args: Any, **more: Any) -> _T:
        """Do something of the home's that blocks, while Slack goes on."""
        return await asyncio.to_thread(action, *args, **more)


@asynccontextmanager
async def bot_lab(lab: Lab) -> AsyncIterator[BotLab]:
    """Give a Slack for a home; at the end no bot runs, and nothing was written that Slack refuses.

    With JOBMAN_SLACK_PAGES, a folder, what people saw is left there as a page a test.
    """
    async with LoopbackSlack() as slack:
        bots = BotLab(lab, slack)
        try:
            yield bots
            assert slack.violations == []
            words = bots.words(10**9) if bots.log.exists() else ""
            assert "Traceback" not in words, words
            assert "xoxb-" not in words, "a token was logged"
            assert "xapp-" not in words, "a token was logged"
        finally:
            if bots.process is not None and bots.process.returncode is None:
                bots.process.kill()
                await bots.process.wait()
            if pages := os.environ.get("JOBMAN_SLACK_PAGES"):
                _leave_page(slack, Path(pages))


def _leave_page(slack: LoopbackSlack, folder: Path) -> None:
    from tests.support.slack.render import save

    test = os.environ.get("PYTEST_CURRENT_TEST", "page").rpartition("::")[2].split(" ")[0]
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() else "_" for c in test)[:80]
    save(folder / f"{name}.html", list(slack.world.messages()), test)
