"""``bot.yaml``: what it may say, and what people are told of what it may not."""

from datetime import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from jobman_core.errors import ConfigError, InvalidInputError
from jobman_slackbot.config import BotConfig, ReapMode, load_config

LEAST = "channel: C0123456789\npeople: {U0123456789: ada}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bot.yaml"


def read(path: Path, text: str) -> BotConfig:
    path.write_text(text)
    return load_config(path)


def faults(path: Path, text: str) -> list[str]:
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return [str(fault).removeprefix(f"{path}:") for fault in caught.value.faults]


def test_a_channel_and_people_are_enough(path: Path) -> None:
    config = read(path, LEAST)
    assert config.channel == "C0123456789"
    assert dict(config.people) == {"U0123456789": "ada"}
    assert config.reap is ReapMode.DRY_RUN
    assert config.reap_every + config.settle == 600 + 5
    assert (config.home, config.tokens, config.day) == (None, None, None)


def test_everything_can_be_said(path: Path) -> None:
    config = read(
        path,
        """
home: lab
channel: C0123456789
channels: [C0123456789, G0AB]
tokens: slack-tokens.env
people: {U0123456789: ada, W0000000001: bob}
viewers: [U00000000V1]
operators: [W0000000001]
admins: [U0123456789]
reap: off
reap_every: 10m
day: {at: 09:30, zone: Europe/Paris}
keep_alive:
  - {name: dev, accelerator: v4-8, zone: us-central2-b}
settle: 0
""",
    )
    assert config.home == path.parent / "lab"
    assert config.tokens == path.parent / "slack-tokens.env"
    assert config.reap is ReapMode.OFF
    assert config.day is not None
    assert (config.day.at, config.day.zone) == (time(9, 30), ZoneInfo("Europe/Paris"))
    assert config.keep_alive[0].pricing == "spot"


def test_commands_are_taken_where_it_says_and_in_direct_messages(path: Path) -> None:
    config = read(path, LEAST)
    assert config.hears("C0123456789")
    assert config.hears("D0000000001")
    assert not config.hears("C0000000000")


def test_all_faults_are_told_at_once_with_their_places(path: Path) -> None:
    assert faults(
        path,
        """\
chanel: C0123456789
people: {U0123456789: ada, ada: U0123456789}
reap: delte
reap_every: now
day: {at: 25:00, zone: Paris}
admins: [general]
""",
    ) == [
        "1:1: chanel: unknown key 'chanel' (did you mean 'channel'?)",
        (
            "2:33: people.ada: 'ada' is no id of a person: copy it from their profile in Slack "
            "(⋮, Copy member ID); it begins with U"
        ),
        "3:7: reap: 'delte' is not possible (did you mean 'delete'?)",
        (
            "4:13: reap_every: 'now' is no duration: write seconds, or something like 90s, 10m, "
            "2h, 1d"
        ),
        "5:11: day.at: '25:00' is no time of day: write one like 09:00",
        "5:24: day.zone: no time zone is called 'Paris': write one like Europe/Paris",
        (
            "6:10: admins[0]: 'general' is no id of a person: copy it from their profile in Slack "
            "(⋮, Copy member ID); it begins with U"
        ),
    ]


def test_who_is_named_twice_or_for_nothing_is_told(path: Path) -> None:
    assert faults(
        path,
        """\
channel: C0123456789
channels: [C0000000001]
people: {U01: ada, U02: ada, U03: bob}
viewers: [U03]
operators: [U01]
admins: [U01, U09]
reap_every: 5
keep_alive:
  - {name: dev, accelerator: v4-9, zone: us-central2-b}
  - {name: dev, accelerator: v4-8, zone: us-central2-b}
""",
    ) == [
        "2:11: channels: C0123456789 is the bot's own channel: name it here as well",
        "3:25: people.U02: ada is U01 already: a user is one person, who is told of its jobs",
        "4:11: viewers[0]: U03 is one of `people`, who do more than see: take it out",
        "6:10: admins[0]: U01 is one of operators already: name everybody once",
        "6:15: admins[1]: U09 has no user of jobman: write `U09: user` in `people:`",
        "7:13: reap_every: it must be 60s or more",
        "9:30: keep_alive[0].accelerator: unknown accelerator 'v4-9': v4 comes in multiples of 8",
        "10:12: keep_alive[1].name: there is a 'dev' already: rename one",
    ]


def test_what_no_cloud_can_keep_alive_is_told_at_once(path: Path) -> None:
    text = "keep_alive: [{name: ../a b, accelerator: v4-8, zone: a/b, project: P/x, pricing: free}]"
    named = [fault.partition(" cannot be it")[0] for fault in faults(path, LEAST + text)]
    assert named == [
        "3:21: keep_alive[0].name: '../a b'",
        "3:54: keep_alive[0].zone: 'a/b'",
        "3:68: keep_alive[0].project: 'P/x'",
        "3:82: keep_alive[0].pricing: 'free'",
    ]


def test_a_user_of_this_machine_who_does_not_exist_is_a_name_like_any_other(path: Path) -> None:
    config = read(path, LEAST + "home: ~nobody-here/lab\ntokens: ~nobody-here/tokens\n")
    assert config.home == path.parent / "~nobody-here/lab"
    assert config.tokens == path.parent / "~nobody-here/tokens"


def test_a_token_has_no_place_in_it_and_is_not_repeated(path: Path) -> None:
    (fault,) = faults(path, LEAST + "token: xoxb-1-secret\n")
    assert fault.startswith("3:1: token: unknown key 'token'")
    assert "secret" not in fault


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "[]", "people: [", "\0"])
def test_what_is_no_such_file_is_told_in_one_line(path: Path, text: str) -> None:
    assert len(faults(path, text)) == 1


def test_of_a_file_that_is_not_there_it_is_told_how_to_write_it(path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"write it as docs/slack\.md says, or .* --config"):
        load_config(path)
