"""What ``jobman-slackbot`` prints and ends with, and that its tokens stay where they are."""

import asyncio
from pathlib import Path

import pytest
from tests.support.bots import BotLab
from tests.support.slack.server import APP_TOKEN, BOT_TOKEN

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


async def ended(process: asyncio.subprocess.Process) -> int:
    return await asyncio.wait_for(process.wait(), 60)


def environment(pid: str) -> bytes:
    return Path("/proc", pid, "environ").read_bytes()


async def test_it_says_who_it_is_and_that_it_stopped(bots: BotLab) -> None:
    await bots.start()
    await bots.end()
    first, *_, last = bots.words().splitlines()
    assert f"@jobman in Loopback serves {bots.lab.root}: tells in {bots.channel}" in first
    assert "people: 4, viewers: 1, operators: 1, admins: 1; reap: off; day: off" in first
    assert last.endswith("INFO: stopped")


async def test_where_it_was_not_invited_it_says_so_before_there_is_news(bots: BotLab) -> None:
    private = bots.slack.world.channel("private", bot=False)
    bots.configure(channel=private)
    await bots.start()
    told = f"channel {private}: the bot is not in #private: write /invite @jobman there"
    await bots.until(lambda: told in bots.words(), what="it says so")


async def test_tokens_are_in_no_log_even_when_all_is_told(bots: BotLab) -> None:
    bots.process = await bots.spawn("run", "--verbose")
    await bots.until(lambda: bots.slack.sockets.open, what="the bot listens")
    await bots.ask(bots.ada, "help")
    async with bots.slack.down():
        await bots.until(lambda: "Slack is away" in bots.words(), what="it says so")
    await bots.until(lambda: "Slack is back" in bots.words(), what="it says so")
    await bots.end()
    assert await ended(await bots.spawn("check")) == 0
    words = bots.words(10**9)
    for secret in (BOT_TOKEN, APP_TOKEN, "ticket=" + "0", "/hook/"):
        assert secret not in words


async def test_jobs_that_it_starts_have_no_tokens_and_hold_nothing_of_it(bots: BotLab) -> None:
    job = await bots.create("ada", "sleeper", cmd="sleep 600")
    await bots.start()
    question = await bots.ask(bots.ada, f"resume {job}")
    await bots.slack.press(bots.ada, question, "do")
    controller = await bots.until(
        lambda: next((p for p in bots.lab.processes() if "jobman_core" in p), None),
        what="a controller runs",
    )
    environ = environment(controller.split(":")[0])
    assert BOT_TOKEN.encode() not in environ
    assert APP_TOKEN.encode() not in environ
    await bots.kill()
    await bots.start()


async def test_check_ends_with_1_where_anything_is_wrong(bots: BotLab) -> None:
    bots.slack.scopes.discard("commands")
    assert await ended(await bots.spawn("check")) == 1
    lines = bots.words().splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith("ok ")] == [
        "wrong  scope commands"
    ]


async def test_no_home_no_bot(bots: BotLab) -> None:
    bots.configure(home=str(bots.lab.root / "elsewhere"))
    assert await ended(await bots.spawn("run")) == 3
    assert bots.words().startswith("error: no jobman home in ")


async def test_faults_of_the_file_are_told_as_those_of_jobs(bots: BotLab) -> None:
    bots.configure(reap="delte", chanels=[])
    assert await ended(await bots.spawn("run")) == 2
    assert "unknown key 'chanels' (did you mean 'channels'?)" in bots.words()
    assert "bot.yaml:" in bots.words()


async def test_wrong_words_are_told_in_one_line(bots: BotLab) -> None:
    assert await ended(await bots.spawn("strat")) == 2
    assert bots.words() == "error: no such command 'strat': see `jobman-slackbot --help`\n"


async def test_its_version_and_manifest_are_printed(bots: BotLab) -> None:
    assert await ended(await bots.spawn("--version")) == 0
    assert bots.words().startswith("jobman-slackbot ")
    assert await ended(await bots.spawn("manifest")) == 0
    assert "socket_mode_enabled: true" in bots.words()
