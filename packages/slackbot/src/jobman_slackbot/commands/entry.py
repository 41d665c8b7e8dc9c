"""Where commands and presses of buttons come in: who it is, whether they may, and what went wrong.

Slack has its acknowledgement before anything here begins.
"""

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import aiohttp
import attrs
from slack_bolt.async_app import AsyncAck, AsyncApp, AsyncRespond

from jobman_core.errors import JobmanError
from jobman_slackbot import actions, grammar, people
from jobman_slackbot.actions import Asked, Once
from jobman_slackbot.blocks import View
from jobman_slackbot.commands.call import Bot, Call, one_line
from jobman_slackbot.commands.table import CHANGES, PAGES, TABLE
from jobman_slackbot.errors import OldButtonError, SlackError
from jobman_slackbot.views import paging
from jobman_slackbot.views.paging import Place

_log = logging.getLogger(__name__)

#: What people write; the manifest of the app says so as well.
COMMAND: Final = "/jobman"
_OK: Final = 200
_Work = Callable[[Call], Awaitable[None]]
_Body = Mapping[str, Any]


def _now() -> datetime:
    return datetime.now(UTC)


def register(bolt: AsyncApp, bot: Bot, *, now: Callable[[], datetime] = _now) -> None:
    """Let the bot hear commands and presses.

    Args:
        bolt: hears them.
        bot: what they are carried out with.
        now: gives the time.
    """
    once = Once(bot.app)

    async def command(ack: AsyncAck, body: _Body, respond: AsyncRespond) -> None:
        await ack()
        place = _Place(bot, body["user_id"], body["channel_id"], respond)
        text = str(body.get("text") or "")
        await _serve(place, now, lambda call: _command(call, text))

    async def press(ack: AsyncAck, body: _Body, respond: AsyncRespond) -> None:
        await ack()
        place = _Place(bot, body["user"]["id"], body["container"]["channel_id"], respond)
        action = body["actions"][0]
        work = _pressed(str(action["action_id"]), str(action.get("value") or ""), once)
        await _serve(place, now, work, pressed=True)

    bolt.command(COMMAND)(command)
    for pattern in (rf"{paging.ACTION}:\w+", actions.DO, actions.DROP):
        bolt.action(re.compile(rf"^{pattern}$"))(press)


@attrs.frozen
class _Place:
    """Who did something, where, and the address that came with it for answers."""

    bot: Bot
    who: str
    channel: str
    respond: AsyncRespond

    async def answer(self, view: View, replace: bool) -> None:
        """Answer, at that address, else by a whisper.

        Nobody can be told that they cannot be told something: that is for the log.
        """
        shown: dict[str, Any] = {"text": view.text, "replace_original": replace}
        if view.blocks:
            shown["blocks"] = list(view.blocks)
        try:
            taken = await self.respond(**shown, response_type="ephemeral")
        except (aiohttp.ClientError, OSError) as error:
            why = f"{type(error).__name__}: {error}"
        else:
            if taken.status_code == _OK:
                return
            why = f"HTTP {taken.status_code} {taken.body}"
        _log.info("an answer to %s is whispered, since its address takes none: %s", self.who, why)
        try:
            await self.bot.slack.whisper(self.channel, self.who, view.text, view.blocks)
        except SlackError as error:
            _log.warning("%s could not be answered: %s", self.who, error)


async def _serve(
    place: _Place, now: Callable[[], datetime], work: _Work, *, pressed: bool = False
) -> None:
    """Do what somebody asked for, if they are known and it is the place for it."""
    config = place.bot.config
    person = people.person(config, place.who)
    if person is None:
        await place.answer(View(people.to_stranger(config, place.who)), False)
        return
    if not config.hears(place.channel):
        await place.answer(View(people.wrong_place(config)), False)
        return
    call = Call(place.bot, person, place.channel, place.answer, now, pressed)
    try:
        await work(call)
    except SlackError as error:
        _log.warning("%s was not told all: %s", call.user, error)
        await call.beside(one_line(error))
    except (JobmanError, OSError) as error:
        await call.beside(one_line(error))


async def _command(call: Call, text: str) -> None:
    words = grammar.words_of(text) or ["help"]
    row = TABLE[grammar.find(words[0], TABLE)]
    call.check(row.deed)
    _log.info("%s (%s): %s", call.user, call.person.id, row.word)
    await row.run(call, grammar.arguments(row, words[1:]))


def _pressed(action: str, value: str, once: Once) -> _Work:
    """Give what a button does."""

    async def work(call: Call) -> None:
        if action == actions.DROP:
            await call.say("nothing was done")
        elif action == actions.DO:
            asked = Asked.unpacked(value)
            change = CHANGES.get(asked.word)
            if change is None:
                raise OldButtonError
            _log.info("%s (%s) pressed: %s", call.user, call.person.id, asked.word)
            await actions.press(call, change, asked, once)
        else:
            place = Place.unpacked(value)
            page = PAGES.get(place.word)
            if page is None:
                raise OldButtonError
            await call.answer(await page(call, place))

    return work
