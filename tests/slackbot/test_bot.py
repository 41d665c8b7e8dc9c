"""The wiring: what fails is begun again, what comes from Slack is worked on beside the rest."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from slack_bolt.context.async_context import AsyncBoltContext
from tests.support.slack import LoopbackSlack
from tests.support.slack.server import APP_TOKEN, BOT_TOKEN

from jobman_core.app import App
from jobman_core.errors import StoreError
from jobman_core.home import Home
from jobman_slackbot.bot import Bot, keep_up
from jobman_slackbot.config import load_config
from jobman_slackbot.connection import connection
from jobman_slackbot.slack import Slack
from jobman_slackbot.socket import Socket
from jobman_slackbot.tokens import Tokens


@pytest.fixture
async def loopback(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as found:
        monkeypatch.setenv("SLACK_API_URL", f"{found.url}/api/")
        yield found


@pytest.fixture
def ada(loopback: LoopbackSlack) -> str:
    return loopback.world.person("ada")


@pytest.fixture
def lab(loopback: LoopbackSlack, ada: str) -> str:
    return loopback.world.channel("lab")


@pytest.fixture
async def bot(loopback: LoopbackSlack, ada: str, lab: str, tmp_path: Path) -> AsyncIterator[Bot]:
    """A bot without any part, that hears what people do."""
    Home(tmp_path).state.mkdir(parents=True)
    path = tmp_path / "bot.yaml"
    path.write_text(f"home: .\nchannel: {lab}\npeople: {{{ada}: ada}}\n")
    config = load_config(path)
    async with App.at(config.home) as app, connection(Tokens(BOT_TOKEN, APP_TOKEN)) as client:
        found = Bot(config, app, client)
        assert client.session is not None
        socket = Socket(Slack(client, patience=0), client.session, APP_TOKEN, found.take)
        task = asyncio.create_task(found.serve(socket))
        await loopback.connected()
        yield found
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await found.settle()


async def test_work_that_takes_long_delays_no_acknowledgement(
    bot: Bot, loopback: LoopbackSlack, ada: str, lab: str
) -> None:
    gate = asyncio.Event()

    @bot.bolt.command("/jobman")
    async def work(context: AsyncBoltContext) -> None:
        await context.ack()
        await gate.wait()
        assert context.respond is not None
        await context.respond(text="done")

    envelope = await loopback.command(ada, lab, "/jobman stop 1")
    assert envelope.acked_after is not None
    assert envelope.acked_after < 1
    assert loopback.read(lab, ada) == []
    gate.set()
    await loopback.wait_for(lambda: loopback.read(lab, ada))
    assert [message.plain for message in loopback.read(lab, ada)] == ["done"]


async def test_an_error_that_nobody_expected_is_logged_and_said(
    bot: Bot, loopback: LoopbackSlack, ada: str, lab: str, caplog: pytest.LogCaptureFixture
) -> None:
    @bot.bolt.command("/jobman")
    async def work(context: AsyncBoltContext) -> None:
        await context.ack()
        raise KeyError("surprise")

    await loopback.command(ada, lab, "/jobman list")
    await loopback.wait_for(lambda: loopback.read(lab, ada))
    (said,) = loopback.read(lab, ada)
    assert said.plain == "Something went wrong, and nobody expected it: the bot's log has it."
    assert "surprise" in caplog.text


async def test_a_command_is_taken_though_slack_answers_nothing(
    bot: Bot, loopback: LoopbackSlack, ada: str, lab: str
) -> None:
    taken = asyncio.Event()

    @bot.bolt.command("/jobman")
    async def work(context: AsyncBoltContext) -> None:
        await context.ack()
        taken.set()

    loopback.trouble("*", status=503, times=99)
    await loopback.command(ada, lab, "/jobman stop 1")
    await asyncio.wait_for(taken.wait(), 10)


async def test_what_people_asked_for_comes_to_its_end_when_the_bot_stops(
    bot: Bot, loopback: LoopbackSlack, ada: str, lab: str
) -> None:
    gate, done = asyncio.Event(), asyncio.Event()

    @bot.bolt.command("/jobman")
    async def work(context: AsyncBoltContext) -> None:
        await gate.wait()
        done.set()

    await loopback.command(ada, lab, "/jobman stop 1")
    asyncio.get_running_loop().call_later(0.05, gate.set)
    await bot.settle()
    assert done.is_set()


async def test_one_thing_that_fails_begins_again_later_each_time_and_stops_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slept: list[float] = []
    begun = 0

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def body() -> None:
        nonlocal begun
        begun += 1
        if begun == 1:
            raise StoreError("the disk is full: make room")
        if begun < 5:
            raise ZeroDivisionError

    caplog.set_level(logging.INFO)
    await keep_up("telling of notices", body, now=lambda: 0.0, sleep=sleep)
    assert begun == 5
    assert [0.8 * 2**n <= slept[n] <= 1.2 * 2**n for n in range(4)] == [True] * 4
    first, second, *_ = caplog.records
    assert first.message == (
        "telling of notices stopped, and begins again in 1 s: the disk is full: make room"
    )
    assert first.exc_info is None
    assert second.exc_info is not None
    assert second.exc_info[0] is ZeroDivisionError
