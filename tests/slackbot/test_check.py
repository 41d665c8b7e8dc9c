"""``jobman-slackbot check``: every wrong state is told, with its remedy, and nothing is posted."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.slack import LoopbackSlack

from jobman_core.app import App
from jobman_core.errors import ConfigError
from jobman_core.home import Home
from jobman_slackbot.check import examine
from jobman_slackbot.manifest import SCOPES


@pytest.fixture
async def slack(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoopbackSlack]:
    async with LoopbackSlack() as found:
        for name, value in found.env.items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def ada(slack: LoopbackSlack) -> str:
    return slack.world.person("ada")


@pytest.fixture
def lab(slack: LoopbackSlack, ada: str) -> str:
    return slack.world.channel("lab")


@pytest.fixture
def bot(tmp_path: Path, ada: str, lab: str) -> Path:
    Home(tmp_path).state.mkdir(parents=True)
    path = tmp_path / "bot.yaml"
    path.write_text(f"home: .\nchannel: {lab}\npeople: {{{ada}: ada}}\nadmins: [{ada}]\n")
    return path


def add(bot: Path, text: str) -> None:
    bot.write_text(bot.read_text() + text)


async def look(path: Path) -> dict[str, str]:
    return {
        found.what: f"{'ok' if found.good else 'wrong'}: {found.said}"
        async for found in examine(path, patience=0)
    }


async def wrong(path: Path) -> dict[str, str]:
    found = await look(path)
    return {what: said[7:] for what, said in found.items() if said.startswith("wrong: ")}


async def test_all_is_well(slack: LoopbackSlack, bot: Path, ada: str, lab: str) -> None:
    assert await look(bot) == {
        "bot.yaml": f"ok: {bot}",
        "home": f"ok: {bot.parent}, the machine's time zone",
        "reap": "ok: dry-run: it only says what it would delete, every 10m 0s; `reap: delete` "
        "lets it",
        "day": 'ok: off: `day: {at: "09:00"}` posts each day\'s usage',
        "tokens": "ok: in the environment",
        "bot token": "ok: @jobman in Loopback",
        "scopes": f"ok: all {len(SCOPES)}",
        "app token": "ok: Socket Mode opens",
        f"channel {lab}": "ok: #lab",
        f"person {ada}": "ok: @ada is ada, admin",
    }
    assert slack.read(lab) == []
    assert slack.sockets.opened == 0


async def test_a_token_that_slack_does_not_know(slack: LoopbackSlack, bot: Path) -> None:
    slack.bot_tokens.clear()
    assert await wrong(bot) == {
        "bot token": "Slack refused auth.test: invalid_auth: SLACK_BOT_TOKEN is wrong: copy the "
        "Bot User OAuth Token again from OAuth & Permissions"
    }


async def test_no_token_at_all(
    slack: LoopbackSlack, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLACK_APP_TOKEN")
    assert (await wrong(bot))["tokens"].startswith("SLACK_APP_TOKEN is not in the environment")


async def test_a_file_of_tokens_that_others_can_read(slack: LoopbackSlack, bot: Path) -> None:
    add(bot, "tokens: tokens.env\n")
    (bot.parent / "tokens.env").write_text("")
    (bot.parent / "tokens.env").chmod(0o644)
    assert "chmod 600" in (await wrong(bot))["tokens"]


async def test_an_app_token_that_opens_nothing(slack: LoopbackSlack, bot: Path) -> None:
    slack.app_tokens.clear()
    said = (await wrong(bot))["app token"]
    assert "SLACK_APP_TOKEN is wrong" in said
    assert "connections:write" in said


async def test_where_people_cannot_be_looked_up_none_of_them_is_called_wrong(
    slack: LoopbackSlack, bot: Path
) -> None:
    slack.scopes.remove("users:read")
    assert list(await wrong(bot)) == ["scope users:read"]


async def test_tokens_of_two_apps(
    slack: LoopbackSlack, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slack.app_tokens.add("xapp-1-A00OTHER0-1-2")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp-1-A00OTHER0-1-2")
    assert await wrong(bot) == {
        "app token": "it is of app A00OTHER0, and the bot token of A00LOOP00: copy both from one "
        "app's page"
    }


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_missing_scope_is_told_with_what_it_is_for(
    slack: LoopbackSlack, bot: Path, scope: str
) -> None:
    slack.scopes.discard(scope)
    said = (await wrong(bot))[f"scope {scope}"]
    assert SCOPES[scope] in said
    assert "Reinstall to Workspace" in said


async def test_a_channel_that_is_not_there(slack: LoopbackSlack, bot: Path, lab: str) -> None:
    add(bot, f"channels: [{lab}, C404]\n")
    assert "invite the bot to it" in (await wrong(bot))["channel C404"]


async def test_a_channel_without_the_bot(slack: LoopbackSlack, bot: Path, lab: str) -> None:
    quiet = slack.world.channel("quiet", bot=False)
    add(bot, f"channels: [{lab}, {quiet}]\n")
    found = await wrong(bot)
    assert found == {f"channel {quiet}": "the bot is not in #quiet: write /invite @jobman there"}


async def test_an_archived_channel(slack: LoopbackSlack, bot: Path, lab: str) -> None:
    slack.world.channels[lab].archived = True
    assert "archived" in (await wrong(bot))[f"channel {lab}"]


async def test_people_who_are_not_there_or_have_left(slack: LoopbackSlack, bot: Path) -> None:
    gone = slack.world.person("zoe", gone=True)
    add(bot, f"viewers: [{gone}, U404]\n")
    assert await wrong(bot) == {
        f"person {gone}": "@zoe has left: take them out of bot.yaml",
        "person U404": "Slack refused users.info: user_not_found: check the person's id in "
        "bot.yaml",
    }


async def test_no_home(slack: LoopbackSlack, bot: Path) -> None:
    shutil.rmtree(bot.parent / "jobs")
    assert await wrong(bot) == {
        "home": f"no jobman home in {bot.parent}: name another (--home, JOBMAN_HOME), or let "
        "`jobman create` make one"
    }


async def test_settings_with_faults(slack: LoopbackSlack, bot: Path) -> None:
    (bot.parent / "jobman.yaml").write_text("sesion: tmux\n")
    assert "did you mean 'session'?" in (await wrong(bot))["home"]


async def test_slack_cannot_be_reached(slack: LoopbackSlack, bot: Path) -> None:
    async with slack.down():
        assert "no answer" in (await wrong(bot))["bot token"]


async def test_faults_of_the_file_come_first(slack: LoopbackSlack, bot: Path) -> None:
    add(bot, "chanels: []\n")
    with pytest.raises(ConfigError):
        await look(bot)


async def test_a_bot_that_runs_is_not_disturbed(slack: LoopbackSlack, bot: Path) -> None:
    async with App.at(bot.parent) as app, app.alone("slackbot", "a Slack bot"):
        assert await wrong(bot) == {}
