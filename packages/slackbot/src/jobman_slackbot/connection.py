"""The SDK's client of Slack's Web API, and where Slack is."""

import contextlib
import os
from collections.abc import AsyncIterator

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from jobman_slackbot.slack import ANSWER
from jobman_slackbot.tokens import Tokens


@contextlib.asynccontextmanager
async def connection(tokens: Tokens) -> AsyncIterator[AsyncWebClient]:
    """Give the SDK's client for the length of a block; ``SLACK_API_URL`` may say where Slack is."""
    base = os.environ.get("SLACK_API_URL", AsyncWebClient.BASE_URL)
    async with aiohttp.ClientSession(timeout=ANSWER, trust_env=True) as session:
        # What is asked again, and when, is decided in one place: Slack.
        yield AsyncWebClient(tokens.bot, base_url=base, session=session, retry_handlers=[])
