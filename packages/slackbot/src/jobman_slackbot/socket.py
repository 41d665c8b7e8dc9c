"""Socket Mode: the connection over which Slack sends what people do, held for as long as it takes.

Each envelope is acknowledged before anything is done about it. What was not acknowledged, because
a connection broke, Slack sends again; what comes twice is dropped here.
"""

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import aiohttp
from slack_sdk.socket_mode.request import SocketModeRequest

from jobman_slackbot.errors import CONNECT, SlackError
from jobman_slackbot.slack import Slack

_log = logging.getLogger(__name__)

#: Seconds between two signs of life on a connection.
_HEARTBEAT: Final = 10.0
#: A connection that ends after so many seconds is made again at once.
_STEADY: Final = 5.0
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
#: So many names of what was taken are kept: minutes' worth, where Slack sends again for some.
_KEPT: Final = 4096
#: What Slack says before it closes a connection that the app's settings forbid.
_SWITCHED_OFF: Final = "link_disabled"


class Seen:
    """What was taken already, by all the names that it may come back under."""

    def __init__(self, size: int = _KEPT) -> None:
        """Keep so many of the newest names."""
        self._size = size
        self._names: dict[str, None] = {}

    def again(self, request: SocketModeRequest) -> bool:
        """Tell whether something came before, and remember it."""
        payload = request.payload
        names = {request.envelope_id, payload.get("trigger_id"), payload.get("event_id")}
        known = any(name in self._names for name in names if name)
        for name in names:
            if name:
                self._names[name] = None
        while len(self._names) > self._size:
            del self._names[next(iter(self._names))]
        return known


class Socket:
    """The connection, made again whenever it is lost."""

    def __init__(
        self,
        slack: Slack,
        session: aiohttp.ClientSession,
        token: str,
        take: Callable[[SocketModeRequest], None],
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Name who takes what comes.

        Args:
            slack: one that gives up at once.
            session: makes the connections.
            token: of the app.
            take: begins to do something about an envelope, and returns at once.
            sleep: waits.
        """
        self._slack = slack
        self._session = session
        self._token = token
        self._take = take
        self._sleep = sleep
        self._seen = Seen()
        #: Since when Slack is away; None: it is there.
        self._away: float | None = None

    async def run(self) -> None:
        """Be connected, without end."""
        pause = _FIRST_PAUSE
        while True:
            begun, wait = time.monotonic(), pause
            try:
                await self._connect()
            except (SlackError, aiohttp.ClientError, OSError, ValueError) as error:
                self._lost(error)
                wait = max(getattr(error, "after", 0.0), pause)
            else:
                if time.monotonic() - begun > _STEADY:
                    # What people do meanwhile would be lost.
                    pause = _FIRST_PAUSE
                    continue
            await self._sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _connect(self) -> None:
        """Make one connection, and serve it until it ends."""
        opened = await self._slack.call(CONNECT, app_token=self._token)
        async with self._session.ws_connect(opened["url"], heartbeat=_HEARTBEAT) as socket:
            greeted = False
            async for message in socket:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    continue
                told = json.loads(message.data)
                if told.get("type") == "hello":
                    greeted = True
                    self._back()
                elif told.get("type") == "disconnect":
                    if told.get("reason") == _SWITCHED_OFF:
                        raise SlackError(CONNECT, _SWITCHED_OFF, lasting=True)
                    # Slack refreshes its connections every some hours.
                    return
                else:
                    await self._acknowledge(socket, told)
            if not greeted:
                msg = "the connection ended before it began"
                raise ConnectionError(msg)

    async def _acknowledge(
        self, socket: aiohttp.ClientWebSocketResponse, told: dict[str, Any]
    ) -> None:
        request = SocketModeRequest.from_dict(told)
        if request is None:
            return
        await socket.send_json({"envelope_id": request.envelope_id})
        if self._seen.again(request):
            _log.debug("dropped what came before: %s", request.envelope_id)
        else:
            self._take(request)

    def _lost(self, error: Exception) -> None:
        """Say that Slack is away, once."""
        if self._away is None:
            self._away = time.monotonic()
            said = " ".join(str(error).split()) or type(error).__name__
            if isinstance(error, SlackError) and error.lasting:
                _log.error("no command is heard until this is mended, and jobs go on: %s", said)
                return
            _log.warning("Slack is away, and tried again until it is back; jobs go on: %s", said)

    def _back(self) -> None:
        """Say that it is there again."""
        if self._away is not None:
            _log.info("Slack is back after %d s", time.monotonic() - self._away)
            self._away = None
        else:
            _log.debug("connected to Slack")
