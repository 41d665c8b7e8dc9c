"""The bot as a process: one for a home, that comes back from everything."""

import os
import signal

import pytest
from tests.support.bots import BotLab

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(150)]


async def test_it_ends_when_somebody_interrupts_it(bots: BotLab) -> None:
    await bots.start()
    assert await bots.end(signal.SIGINT, limit=30) in (0, 130)


async def test_it_ends_when_it_is_told_to_while_slack_is_away(bots: BotLab) -> None:
    await bots.start()
    async with bots.slack.down():
        assert await bots.end(signal.SIGTERM, limit=30) == 0


@pytest.mark.parametrize("cut", ["drop", "refresh"])
async def test_it_comes_back_when_the_connection_is_lost(bots: BotLab, cut: str) -> None:
    await bots.start()
    await getattr(bots.slack.sockets, cut)()
    await bots.until(lambda: bots.slack.sockets.opened >= 2 and bots.slack.sockets.open)
    assert "help" in (await bots.ask(bots.ada, "help")).plain


async def test_commands_are_acknowledged_within_a_second(bots: BotLab) -> None:
    await bots.start()
    envelope = await bots.slack.command(bots.ada, bots.channel, "/jobman list")
    assert envelope.acked_after is not None
    # Of which a busy machine takes its part.
    assert envelope.acked_after < 1 + os.getloadavg()[0] / 10
