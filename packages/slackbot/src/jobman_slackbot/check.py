"""What a bot needs and lacks: one line for each thing, with what to do about it."""

import os
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import attrs

from jobman_core.app import App
from jobman_core.errors import JobmanError, lines_of
from jobman_slackbot.config import BotConfig, ReapMode, load_config
from jobman_slackbot.connection import connection
from jobman_slackbot.errors import CONNECT, SlackError
from jobman_slackbot.manifest import SCOPES
from jobman_slackbot.people import Role, person
from jobman_slackbot.slack import PATIENCE, Identity, Slack
from jobman_slackbot.tokens import Tokens, take_tokens
from jobman_slackbot.views import words


@attrs.frozen
class Finding:
    """What was found of one thing."""

    what: str
    #: How it stands; of what is wrong, with the remedy.
    said: str
    good: bool = True


async def examine(path: Path, *, patience: float = PATIENCE / 6) -> AsyncIterator[Finding]:
    """Look at all that a bot needs.

    Args:
        path: its ``bot.yaml``.
        patience: seconds for which Slack is asked again while it does not answer.

    Raises:
        ConfigError: ``bot.yaml`` has faults: nothing else can be looked at.
    """
    config = load_config(path)
    yield Finding("bot.yaml", str(path))
    async for found in _home(config):
        yield found
    for found in _habits(config):
        yield found
    try:
        tokens = take_tokens(config.tokens, os.environ)
    except JobmanError as error:
        yield Finding("tokens", str(error), good=False)
        return
    yield Finding("tokens", str(config.tokens or "in the environment"))
    async with connection(tokens) as client:
        async for found in _slack(config, tokens, Slack(client, patience=patience)):
            yield found


async def _home(config: BotConfig) -> AsyncIterator[Finding]:
    app = App.at(config.home)
    try:
        async with app:
            await app.recall("slack")
            zone = app.time_zone or "the machine's time zone"
    except (JobmanError, OSError) as error:
        for line in lines_of(error):
            yield Finding("home", line.removeprefix("error: "), good=False)
    else:
        yield Finding("home", f"{app.home}, {zone}")


def _habits(config: BotConfig) -> Iterable[Finding]:
    """Say what the bot does by itself."""
    every = f", every {words.span(config.reap_every)}"
    yield Finding(
        "reap",
        {
            ReapMode.OFF: "off: dead slices hold quota until somebody runs `jobman reap`",
            ReapMode.DRY_RUN: f"dry-run: it only says what it would delete{every}; "
            "`reap: delete` lets it",
            ReapMode.DELETE: f"delete: what is dead and of this home{every}",
            ReapMode.ALL: f"all: what is dead, of whatever home{every}",
        }[config.reap],
    )
    if config.day is None:
        yield Finding("day", 'off: `day: {at: "09:00"}` posts each day\'s usage')
    else:
        zone = config.day.zone or "in the home's time zone"
        yield Finding("day", f"at {config.day.at:%H:%M} {zone}")


async def _slack(config: BotConfig, tokens: Tokens, slack: Slack) -> AsyncIterator[Finding]:
    try:
        who = await slack.identity()
    except SlackError as error:
        # Nothing else can be asked without it.
        yield Finding("bot token", str(error), good=False)
        return
    yield Finding("bot token", f"@{who.name} in {who.team}")
    for scope, why in SCOPES.items():
        if scope not in who.scopes:
            remedy = "add it under OAuth & Permissions, then Reinstall to Workspace"
            said = f"the app lacks it; with it the bot {why}: {remedy}"
            yield Finding(f"scope {scope}", said, good=False)
    if who.scopes.issuperset(SCOPES):
        yield Finding("scopes", f"all {len(SCOPES)}")
    try:
        await slack.call(CONNECT, app_token=tokens.app)
    except SlackError as error:
        yield Finding("app token", str(error), good=False)
    else:
        yield await _app(slack, who, tokens)
    for channel in config.listens:
        yield await channel_found(slack, channel)
    if "users:read" not in who.scopes:
        # It is told of already; of each person the same would be told.
        return
    for one in dict.fromkeys((*config.people, *config.viewers)):
        yield await _person(config, slack, one)


async def _app(slack: Slack, who: Identity, tokens: Tokens) -> Finding:
    """Tell whether both tokens are of one app; one of another hears nothing of this one's."""
    try:
        found = (await slack.call("bots.info", bot=who.bot))["bot"]
    except SlackError:
        # It cannot be known, which is told of as a scope that is missing.
        found = {}
    # xapp-1-<the app>-<numbers>
    parts = tokens.app.split("-")
    own, others = found.get("app_id"), parts[2] if parts[2:] else None
    if own and others and own != others:
        said = f"it is of app {others}, and the bot token of {own}: copy both from one app's page"
        return Finding("app token", said, good=False)
    return Finding("app token", "Socket Mode opens")


async def channel_found(slack: Slack, channel: str) -> Finding:
    """Tell whether the bot can write in a channel."""
    what = f"channel {channel}"
    try:
        found = (await slack.call("conversations.info", channel=channel))["channel"]
    except SlackError as error:
        return Finding(what, str(error), good=False)
    name = f"#{found.get('name', '?')}"
    if found.get("is_archived"):
        return Finding(what, f"{name} is archived: name another in bot.yaml", good=False)
    if not found.get("is_member"):
        said = f"the bot is not in {name}: write /invite @jobman there"
        return Finding(what, said, good=False)
    return Finding(what, name)


async def _person(config: BotConfig, slack: Slack, who: str) -> Finding:
    what = f"person {who}"
    try:
        found = (await slack.call("users.info", user=who))["user"]
    except SlackError as error:
        return Finding(what, str(error), good=False)
    name = f"@{found.get('name', '?')}"
    if found.get("deleted"):
        said = f"{name} has left: take them out of bot.yaml"
        return Finding(what, said, good=False)
    if found.get("is_bot"):
        return Finding(what, f"{name} is a bot: take it out of bot.yaml", good=False)
    known = person(config, who)
    role = known.role if known else Role.VIEWER
    user = f" is {known.user}" if known and known.user else ""
    return Finding(what, f"{name}{user}, {role}")
