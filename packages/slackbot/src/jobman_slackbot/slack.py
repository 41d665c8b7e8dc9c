"""What goes to Slack: at Slack's pace, again where that can help, and never twice where it counts.

Source of the limits: Slack's "Rate limits" page. A channel takes about one message a second; other
methods take some tens of calls a minute, and say with 429 how long to wait.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import aiohttp
import attrs
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from jobman_slackbot.errors import RATE_LIMITED, SlackError

#: Slack's own form of a message's parts.
Blocks = Sequence[Mapping[str, Any]]
Answer = Mapping[str, Any]

#: Seconds between two messages in a channel.
_PACE: Final = 1.0
#: Seconds before the first and between later new tries.
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
#: Seconds for which a call is tried again before who asked for it is told.
PATIENCE: Final = 60.0
#: Seconds that Slack's answer may take.
ANSWER: Final = aiohttp.ClientTimeout(total=30.0, connect=10.0)
#: Messages of a channel that are looked through at a time.
_PAGE: Final = 200


@attrs.frozen
class Identity:
    """Who the bot is to Slack."""

    #: Names, for people.
    team: str
    name: str
    #: Its ids: as a user, and as a bot.
    user: str
    bot: str
    #: What it may do.
    scopes: frozenset[str]


class Slack:
    """Slack's Web API for the rest of the bot."""

    def __init__(
        self,
        client: AsyncWebClient,
        *,
        patience: float = PATIENCE,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take a client that itself tries nothing again.

        Args:
            client: of the SDK, with a session that is closed by who made it.
            patience: seconds for which a call is tried again.
            now: counts seconds.
            sleep: waits.
        """
        self._client = client
        self._patience = patience
        self._now = now
        self._sleep = sleep
        #: When something is free again, by channel and by method.
        self._free: dict[str, float] = {}
        self._direct: dict[str, str] = {}

    async def identity(self) -> Identity:
        """Ask who the bot is.

        Raises:
            SlackError: the token is refused, or Slack cannot be reached.
        """

        async def ask() -> Answer:
            answer = await self._client.auth_test()
            told = answer.data if isinstance(answer.data, dict) else {}
            return {**told, "scopes": answer.headers.get("x-oauth-scopes", "")}

        found = await self._insist("auth.test", ask)
        scopes = frozenset(filter(None, map(str.strip, found["scopes"].split(","))))
        ids = (found["user_id"], found.get("bot_id", ""))
        return Identity(found["team"], found["user"], *ids, scopes)

    async def post(
        self,
        channel: str,
        text: str,
        blocks: Blocks = (),
        *,
        thread: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Post a message, at most once; gives its time stamp, by which it is known.

        Args:
            channel: its id.
            text: what notifications show, and people whose program shows no blocks.
            blocks: what people see.
            thread: the time stamp of the message that it answers.
            metadata: ``event_type`` and ``event_payload``, for programs.

        Raises:
            SlackError: it was not posted, or (``unsure``) it may have been.
        """
        answer = await self.call(
            "chat.postMessage",
            lane=channel,
            once=True,
            channel=channel,
            text=text,
            blocks=list(blocks) or None,
            thread_ts=thread,
            metadata=metadata,
            unfurl_links=False,
            unfurl_media=False,
        )
        return str(answer["ts"])

    async def update(
        self,
        channel: str,
        stamp: str,
        text: str,
        blocks: Blocks = (),
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Put something else in the place of a message.

        Raises:
            SlackError: it was not done.
        """
        await self.call(
            "chat.update",
            lane=f"update {channel}",
            channel=channel,
            ts=stamp,
            text=text,
            blocks=list(blocks),
            metadata=metadata,
        )

    async def whisper(self, channel: str, person: str, text: str, blocks: Blocks = ()) -> None:
        """Show something to one person in a channel.

        Raises:
            SlackError: it was not shown, or (``unsure``) it may have been.
        """
        await self.call(
            "chat.postEphemeral",
            once=True,
            channel=channel,
            user=person,
            text=text,
            blocks=list(blocks) or None,
        )

    async def direct(self, person: str) -> str:
        """Give the channel of direct messages with somebody.

        Raises:
            SlackError: there can be none.
        """
        if person not in self._direct:
            answer = await self.call("conversations.open", users=person)
            self._direct[person] = str(answer["channel"]["id"])
        return self._direct[person]

    async def seek(
        self, channel: str, oldest: str, fits: Callable[[Answer], bool]
    ) -> Answer | None:
        """Look for a message of a channel, the newest first.

        Args:
            channel: its id.
            oldest: the time stamp that it has to be younger than.
            fits: tells whether it is the one.

        Returns:
            None: there is none.

        Raises:
            SlackError: the channel cannot be read.
        """
        page: dict[str, Any] = {}
        while True:
            answer = await self.call(
                "conversations.history",
                channel=channel,
                oldest=oldest,
                limit=_PAGE,
                include_all_metadata=True,
                **page,
            )
            for message in answer["messages"]:
                if fits(message):
                    return dict(message)
            after = (answer.get("response_metadata") or {}).get("next_cursor")
            if not after:
                return None
            page = {"cursor": after}

    async def upload(
        self,
        channel: str,
        name: str,
        data: bytes,
        *,
        title: str = "",
        comment: str = "",
        thread: str | None = None,
    ) -> None:
        """Share a file in a channel, at most once.

        Raises:
            SlackError: it was not shared, or (``unsure``) it may have been.
        """
        place = await self.call("files.getUploadURLExternal", filename=name, length=len(data))
        await self._insist("the upload of a file", lambda: self._send(place["upload_url"], data))
        await self.call(
            "files.completeUploadExternal",
            lane=channel,
            once=True,
            files=[{"id": place["file_id"], "title": title or name}],
            channel_id=channel,
            initial_comment=comment or None,
            thread_ts=thread,
        )

    async def call(
        self,
        method: str,
        *,
        lane: str = "",
        once: bool = False,
        **arguments: Any,  # noqa: ANN401 - whatever the method takes
    ) -> Answer:
        """Call a method of the Web API, again while that can help.

        Args:
            method: like ``conversations.info``.
            lane: calls with the same one are a second apart.
            once: it must not be done twice: where the answer is lost it is not asked for again.
            arguments: the method's own; those that are None are not sent.

        Raises:
            SlackError: Slack refused, or cannot be reached.
        """
        ask = getattr(self._client, method.replace(".", "_"))
        given = {key: value for key, value in arguments.items() if value is not None}

        async def one() -> Answer:
            return dict((await ask(**given)).data)

        return await self._insist(method, one, lane=lane, once=once)

    async def _insist(
        self,
        method: str,
        ask: Callable[[], Awaitable[Answer]],
        *,
        lane: str = "",
        once: bool = False,
    ) -> Answer:
        deadline = self._now() + self._patience
        pause = _FIRST_PAUSE
        while True:
            left = self._free.get(method, 0.0) - self._now()
            if left > 0 and self._now() + left > deadline:
                # Slack said so before, to another call: to ask again would only make it longer.
                raise SlackError(method, RATE_LIMITED, after=left)
            await self._turn(method)
            if lane:
                await self._turn(lane, _PACE)
            try:
                return await ask()
            except (SlackApiError, aiohttp.ClientError, OSError) as error:
                trouble = SlackError.of(method, error)
            except AttributeError:
                # The SDK stumbles on what is no JSON, like a page of what stands between.
                trouble = SlackError(method, "the answer is none of Slack's", unsure=True)
            wait = trouble.after or pause * random.uniform(0.8, 1.2)  # noqa: S311 - no secret
            over = self._now() + wait > deadline
            if trouble.after:
                # Whoever else wants the same waits as well.
                self._free[method] = self._now() + wait
            if trouble.lasting or over or (once and trouble.unsure):
                raise trouble
            if not trouble.after:
                await self._sleep(wait)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _turn(self, what: str, pace: float = 0.0) -> None:
        """Wait until something is free, and take it for so many seconds."""
        free = max(self._free.get(what, 0.0), self._now())
        if pace:
            self._free[what] = free + pace
        if free > self._now():
            await self._sleep(free - self._now())

    async def _send(self, url: str, data: bytes) -> Answer:
        assert self._client.session is not None  # noqa: S101 - as the constructor asks
        async with self._client.session.post(url, data=data) as answer:
            answer.raise_for_status()
        return {}
