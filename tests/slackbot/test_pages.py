"""What ``docs/slack.md`` says is what the bot does."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import attrs
import pytest
from ruamel.yaml import YAML

from jobman_slackbot.config import BotConfig, load_config
from jobman_slackbot.main import execute
from jobman_slackbot.manifest import SCOPES, manifest
from jobman_slackbot.people import Deed, Person, Role

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "slack.md").read_text("utf-8")
UNIT = DOCS / "jobman-slackbot.service"


def blocks(language: str) -> list[str]:
    found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```$", PAGE)
    return [re.sub(rf"(?m)^{indent}", "", text) for indent, text in found]


def rows(title: str) -> list[list[str]]:
    """The rows of the first table below a heading."""
    (text,) = re.findall(rf"(?ms)^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize(
    "command",
    sorted(set(re.findall(r"(?m)^ *\$ jobman-slackbot (.*)$", PAGE))),
)
def test_every_command_of_the_page_is_one_that_there_is(command: str) -> None:
    assert execute([*shlex.split(command), "--help"]) == 0


def test_the_settings_of_the_page_are_ones_that_the_bot_reads(tmp_path: Path) -> None:
    (tmp_path / "bot.yaml").write_text("".join(blocks("yaml")))
    config = load_config(tmp_path / "bot.yaml")
    assert (config.home, config.tokens) == (tmp_path, tmp_path / "slack-tokens.env")


def test_the_page_has_all_keys() -> None:
    told = {key for row in rows("bot.yaml") for key in re.findall(r"`(\w+)`", row[0])}
    assert told == {attribute.name for attribute in attrs.fields(BotConfig)}


@pytest.mark.parametrize("role", Role)
def test_the_page_says_who_may_do_what(role: Role) -> None:
    who = Person("U1", role, None if role is Role.VIEWER else "ada")
    may = (
        who.may(Deed.SEE, "bob"),
        who.may(Deed.DELETE, who.user) and who.may(Deed.STEER),
        who.may(Deed.STEER, "bob"),
        who.may(Deed.DELETE, "bob") and who.may(Deed.REAP),
    )
    name = "people" if role is Role.USER else f"{role}s"
    (told,) = [row for row in rows("Who may do what") if row[0] == f"`{name}`"]
    assert [cell == "yes" for cell in told[1:]] == list(may)


def test_the_manifest_is_what_slack_takes() -> None:
    app = YAML(typ="safe").load(manifest())
    assert app["oauth_config"]["scopes"]["bot"] == list(SCOPES)
    assert app["settings"]["socket_mode_enabled"] is True
    assert app["settings"]["interactivity"]["is_enabled"] is True
    (command,) = app["features"]["slash_commands"]
    assert command["command"] == "/jobman"
    # Slack's own limits.
    assert len(app["display_information"]["name"]) <= 35
    assert len(app["display_information"]["description"]) <= 140


def test_the_unit_is_one_that_systemd_understands_and_lets_jobs_live_on(tmp_path: Path) -> None:
    # systemd lets a key come again, and gives % another meaning.
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(UNIT.read_text("utf-8"))
    assert unit["Service"]["KillMode"] == "process"
    assert unit["Service"]["ExecStart"].split()[1:] == ["run", "--config", "%h/lab/bot.yaml"]
    # A machine without systemd has read it as it reads all such files, which is less.
    if shutil.which("systemd-analyze"):
        copy = tmp_path / UNIT.name
        text = UNIT.read_text("utf-8").replace("%h/.local/bin/jobman-slackbot", "/bin/true")
        copy.write_text(text)
        done = subprocess.run(
            ["systemd-analyze", "verify", "--user", str(copy)],
            env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
