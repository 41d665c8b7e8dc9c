"""The bot: what there is once a process, and how it is wired together."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.context.async_context import AsyncBoltContext
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from jobman_core.app import App
from jobman_core.errors import JobmanError
from jobman_slackbot.check import channel_found
from jobman_slackbot.commands.entry import register
from jobman_slackbot.config import BotConfig
from jobman_slackbot.connection import connection
from jobman_slackbot.day import DayTeller
from jobman_slackbot.errors import SlackError
from jobman_slackbot.outbox import WHO, Outbox
from jobman_slackbot.slack import Slack
from jobman_slackbot.socket import Socket
from jobman_slackbot.tells import Tells
from jobman_slackbot.tend import Tender
from jobman_slackbot.tokens import Tokens

_log = logging.getLogger(__name__)

#: Seconds that what people asked for may take to end when the bot is told to.
_GRACE: Final = 5.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 300.0
#: What ran for so many seconds before it failed begins again soon.
_WELL: Final = 600.0
_SORRY: Final = "Something went wrong, and nobody expected it: the bot's log has it."


class Bot:
    """A running bot: what its parts share."""

    def __init__(self, config: BotConfig, app: App, client: AsyncWebClient) -> None:
        """Wire the parts together; nothing runs yet.

        Args:
            config: what ``bot.yaml`` says.
            app: the home, open.
            client: of the SDK, with a session.
        """
        self.config = config
        self.app = app
        self.slack = Slack(client)
        #: Takes what people do: the parts register with it. What they do about it may take its
        #: time: Slack has its acknowledgement already.
        self.bolt = AsyncApp(
            # Bolt would ask Slack who it is before the first command, and fail where it is away.
            client=AsyncWebClient(
                base_url=client.base_url, session=client.session, retry_handlers=[]
            ),
            authorize=_as_bot(client.token),
            logger=logging.getLogger("slack_bolt"),
            process_before_response=True,
            request_verification_enabled=False,
        )
        self.bolt.error(_apologize)
        self._background: dict[str, Callable[[], Awaitable[None]]] = {}
        #: What people asked for, and is being done.
        self._work: set[asyncio.Task[None]] = set()

    def background(self, name: str, body: Callable[[], Awaitable[None]]) -> None:
        """Add something that the bot does by itself for as long as it runs.

        Args:
            name: what it does, for the log: ``telling of notices``.
            body: begun again when it fails; whoever returns is not.
        """
        self._background[name] = body

    def take(self, request: SocketModeRequest) -> None:
        """Begin to do something about what somebody did in Slack."""
        task = asyncio.create_task(self._handle(request))
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    async def serve(self, socket: Socket) -> None:
        """Do everything, without end."""
        async with asyncio.TaskGroup() as group:
            for name, body in self._background.items():
                group.create_task(keep_up(name, body))
            group.create_task(keep_up("listening to Slack", socket.run))

    async def settle(self) -> None:
        """Let what people asked for come to its end, for some seconds."""
        if self._work:
            _, late = await asyncio.wait(self._work, timeout=_GRACE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _handle(self, request: SocketModeRequest) -> None:
        try:
            await run_async_bolt_app(self.bolt, request)
        except Exception:  # noqa: BLE001 - whatever it is, the next one is taken
            # Bolt tells of what listeners raise; this is for what it stumbles on itself.
            _log.exception("an envelope of Slack was not understood: %s", request.type)


async def keep_up(
    name: str,
    body: Callable[[], Awaitable[None]],
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Do something until it returns, again when it fails: later each time it fails soon."""
    pause = _FIRST_PAUSE
    while True:
        begun = now()
        try:
            await body()
        except Exception as error:  # noqa: BLE001 - the rest of the bot goes on
            failed = error
        else:
            return
        if now() - begun > _WELL:
            pause = _FIRST_PAUSE
        _tell(f"{name} stopped, and begins again in {pause:g} s", failed)
        await sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
        pause = min(2 * pause, _LONGEST_PAUSE)


async def run_bot(config: BotConfig, tokens: Tokens) -> None:
    """Serve a home until this is cancelled.

    Raises:
        HeldError: another bot serves it.
        NotFoundError: there is no home.
        SlackError: Slack refuses the bot's token.
    """
    async with (
        App.at(config.home) as app,
        app.alone("slackbot", "a Slack bot"),
        connection(tokens) as client,
    ):
        bot = Bot(config, app, client)
        wire(bot)
        assert client.session is not None  # noqa: S101 - for the type checker
        hasty = Slack(client, patience=0)
        await _greet(bot, hasty)
        bot.background("looking at the channels", lambda: _look_at_channels(config, bot.slack))
        socket = Socket(hasty, client.session, tokens.app, bot.take)
        try:
            await bot.serve(socket)
        finally:
            await bot.settle()
            _log.info("stopped")


def wire(bot: Bot) -> None:
    """Let all parts of the bot register what they do."""
    register(bot.bolt, bot)
    config, app = bot.config, bot.app
    outbox = Outbox(app, bot.slack, config.channel)
    tells = Tells(app, outbox, config)

    async def tell() -> None:
        await app.tell(WHO, tells.deliver, settle=config.settle)

    bot.background("telling of notices", tell)
    bot.background("delivering to notifiers", app.notify_all)
    bot.background("telling what is left over", outbox.run)
    bot.background("telling of the day", DayTeller(app, bot.slack, outbox, config).run)
    bot.background("looking after slices", Tender(app, outbox, config).run)


async def _greet(bot: Bot, slack: Slack) -> None:
    """Write the one line that says what this bot is.

    Raises:
        SlackError: Slack refuses the token.
    """
    config = bot.config
    try:
        who = await slack.identity()
    except SlackError as error:
        if error.lasting:
            raise
        name = "a bot that Slack has not answered yet"
    else:
        name = f"@{who.name} in {who.team}"
    day = "off" if config.day is None else f"{config.day.at:%H:%M} {config.day.zone or ''}".strip()
    _log.info(
        "%s serves %s: tells in %s, listens in %s; people: %d, viewers: %d, operators: %d, "
        "admins: %d; reap: %s; day: %s; keeps alive: %d",
        name,
        bot.app.home,
        config.channel,
        ", ".join(config.listens),
        len(config.people),
        len(config.viewers),
        len(config.operators),
        len(config.admins),
        config.reap,
        day,
        len(config.keep_alive),
    )


async def _look_at_channels(config: BotConfig, slack: Slack) -> None:
    """Say where nobody could be told anything, before there is something to tell."""
    for channel in config.listens:
        found = await channel_found(slack, channel)
        if not found.good:
            _log.warning("%s: %s", found.what, found.said)


def _as_bot(token: str | None) -> Callable[..., Awaitable[AuthorizeResult]]:
    """Let whatever comes be answered with the bot's own token."""

    async def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=enterprise_id, team_id=team_id, bot_token=token)

    return authorize


async def _apologize(error: Exception, context: AsyncBoltContext) -> None:
    """Log what a listener did not expect, and say so to who waits."""
    _tell("what somebody asked for failed", error)
    if context.respond is not None and context.respond.response_url:
        with contextlib.suppress(Exception):
            await context.respond(text=_SORRY, response_type="ephemeral", replace_original=False)


def _tell(what: str, error: Exception) -> None:
    """Log an error: one line where it is expected, else with its traceback."""
    expected = isinstance(error, JobmanError | SlackApiError | aiohttp.ClientError | OSError)
    said = " ".join(str(error).split()) or type(error).__name__
    _log.error("%s: %s", what, said, exc_info=None if expected else error)
