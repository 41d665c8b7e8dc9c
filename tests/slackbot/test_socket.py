"""The connection to Slack: held, made again, quiet while Slack is away, and nothing taken twice."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from slack_sdk.socket_mode.request import SocketModeRequest
from tests.support.slack import LoopbackSlack
from tests.support.slack.server import APP_TOKEN, BOT_TOKEN

from jobman_slackbot.connection import connection
from jobman_slackbot.slack import Slack
from jobman_slackbot.socket import Seen, Socket
from jobman_slackbot.tokens import Tokens


@pytest.fixture
async def loopback(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as found:
        monkeypatch.setenv("SLACK_API_URL", f"{found.url}/api/")
        yield found


@pytest.fixture
def taken() -> list[SocketModeRequest]:
    return []


@pytest.fixture
async def pauses(
    loopback: LoopbackSlack, taken: list[SocketModeRequest]
) -> AsyncIterator[list[float]]:
    """A socket that is connected; gives what it waited between tries."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)
        await asyncio.sleep(0.01)

    async with connection(Tokens(BOT_TOKEN, APP_TOKEN)) as client:
        assert client.session is not None
        socket = Socket(
            Slack(client, patience=0), client.session, APP_TOKEN, taken.append, sleep=sleep
        )
        task = asyncio.create_task(socket.run())
        await loopback.connected()
        yield found
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def type_(loopback: LoopbackSlack) -> Callable[[], Any]:
    ada = loopback.world.person("ada")
    lab = loopback.world.channel("lab")
    return lambda: loopback.command(ada, lab, "/jobman list")


async def test_a_command_is_acknowledged_before_anything_is_done(
    loopback: LoopbackSlack,
    pauses: list[float],
    taken: list[SocketModeRequest],
    type_: Callable[[], Any],
) -> None:
    envelope = await type_()
    assert envelope.acked_after < 1
    await loopback.wait_for(lambda: taken)
    assert [(one.type, one.payload["text"]) for one in taken] == [("slash_commands", "list")]


async def test_what_is_delivered_twice_is_taken_once(
    loopback: LoopbackSlack,
    pauses: list[float],
    taken: list[SocketModeRequest],
    type_: Callable[[], Any],
) -> None:
    loopback.sockets.twice = True
    await type_()
    await type_()
    await loopback.wait_for(lambda: len(taken) == 2)


async def test_a_dropped_connection_is_made_again_without_a_word(
    loopback: LoopbackSlack,
    pauses: list[float],
    taken: list[SocketModeRequest],
    type_: Callable[[], Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    await loopback.sockets.drop()
    await loopback.wait_for(lambda: loopback.sockets.opened == 2)
    await loopback.connected()
    await type_()
    assert len(taken) == 1
    assert [r for r in caplog.records if r.name.startswith("jobman_slackbot")] == []


async def test_slack_being_away_is_one_line_and_its_return_another(
    loopback: LoopbackSlack, pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await loopback.go_down()
    await loopback.wait_for(lambda: len(pauses) >= 12)
    await loopback.come_back()
    await loopback.connected()
    await loopback.wait_for(lambda: "back" in caplog.text)
    away, back = [r.message for r in caplog.records if r.name == "jobman_slackbot.socket"]
    assert away.startswith("Slack is away, and tried again until it is back; jobs go on: ")
    assert back.startswith("Slack is back after")
    assert pauses[0] < 2 < pauses[2] < 24 <= pauses[8] <= 36


async def test_a_token_that_is_refused_is_not_taken_for_slack_being_away(
    loopback: LoopbackSlack, pauses: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    loopback.app_tokens.clear()
    await loopback.sockets.drop()
    await loopback.wait_for(lambda: len(pauses) >= 3)
    (said,) = [r.message for r in caplog.records if r.name == "jobman_slackbot.socket"]
    assert said.startswith("no command is heard until this is mended, and jobs go on: ")
    assert "SLACK_APP_TOKEN is wrong" in said


async def test_what_comes_again_under_another_envelope_is_known() -> None:
    seen = Seen(size=3)
    first = SocketModeRequest("slash_commands", "e1", {"trigger_id": "t1"})
    again = SocketModeRequest("slash_commands", "e2", {"trigger_id": "t1"})
    assert [seen.again(first), seen.again(again)] == [False, True]
    other = SocketModeRequest("slash_commands", "e3", {"trigger_id": "t3"})
    assert not seen.again(other)
    # Of what is long over nothing is kept.
    assert not seen.again(first)
