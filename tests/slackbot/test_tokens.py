"""Tokens come from a file of their owner's or the environment, and go nowhere else."""

import logging
from pathlib import Path

import pytest

from jobman_core.errors import InvalidInputError
from jobman_slackbot.tokens import Redacting, Tokens, redact, take_tokens

BOT, APP = "xoxb-12-34-secret", "xapp-1-A1-99-secret"
ENV = {"SLACK_BOT_TOKEN": BOT, "SLACK_APP_TOKEN": APP, "HOME": "/home/ada"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "slack-tokens.env"
    path.write_text(f"# of the app\nexport SLACK_BOT_TOKEN='{BOT}'\nSLACK_APP_TOKEN = {APP}\n")
    path.chmod(0o600)
    return path


def refused(file: Path | None, env: dict[str, str]) -> str:
    with pytest.raises(InvalidInputError) as caught:
        take_tokens(file, env)
    assert "secret" not in str(caught.value)
    return str(caught.value)


def test_the_environment_gives_them_and_jobs_never_get_them() -> None:
    env = dict(ENV)
    assert take_tokens(None, env) == Tokens(BOT, APP)
    assert env == {"HOME": "/home/ada"}


def test_a_file_gives_them_and_beats_the_environment(file: Path) -> None:
    env = {"SLACK_BOT_TOKEN": "xoxb-other"}
    assert take_tokens(file, env) == Tokens(BOT, APP)
    assert env == {}


def test_a_file_that_others_can_read_is_refused(file: Path) -> None:
    file.chmod(0o640)
    assert refused(file, {}) == f"{file} can be read by others: chmod 600 {file}"


def test_a_missing_token_is_told_with_where_to_find_it() -> None:
    assert refused(None, {"SLACK_APP_TOKEN": APP}) == (
        "SLACK_BOT_TOKEN is not in the environment: copy the Bot User OAuth Token from OAuth & "
        "Permissions on https://api.slack.com/apps"
    )


def test_tokens_that_were_swapped_or_cut_are_told() -> None:
    swapped = {"SLACK_BOT_TOKEN": APP, "SLACK_APP_TOKEN": BOT}
    assert "does not begin with xoxb-, or was cut" in refused(None, swapped)
    assert "SLACK_APP_TOKEN" in refused(None, {**ENV, "SLACK_APP_TOKEN": "xapp-"})


@pytest.mark.parametrize("content", [b"", b"SLACK_BOT_TOKEN\n", b"\xff\xfe"])
def test_a_file_of_something_else_is_told(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert str(file) in refused(file, {})


def test_a_device_that_never_ends_is_told() -> None:
    with pytest.raises(InvalidInputError, match="SLACK_BOT_TOKEN is not in /dev/zero"):
        take_tokens(Path("/dev/zero"), {})


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert "no such file" in refused(tmp_path / "none.env", {})


def test_nothing_prints_them() -> None:
    assert "secret" not in repr(Tokens(BOT, APP))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"Bearer {BOT}!", "Bearer xoxb…!"),
        (f"({APP})", "(xapp…)"),
        (
            "wss://wss.slack.com/link/?ticket=abc-1&app_id=2",
            "wss://wss.slack.com/link/?ticket=…&app_id=2",
        ),
        ("at https://hooks.slack.com/commands/T1/2/x done", "at https://hooks.slack.com/… done"),
        ("nothing to hide", "nothing to hide"),
    ],
)
def test_what_nobody_may_see_is_taken_out_of_texts(text: str, shown: str) -> None:
    assert redact(text) == shown


def test_a_log_has_none_in_words_arguments_and_tracebacks(tmp_path: Path) -> None:
    log = tmp_path / "log"
    handler = logging.FileHandler(log)
    handler.setFormatter(Redacting("%(message)s"))
    logger = logging.getLogger("test_tokens")
    logger.addHandler(handler)
    logger.propagate = False
    logger.error("%s and %r", BOT, [APP], exc_info=ValueError(BOT))
    handler.close()
    assert "secret" not in log.read_text()
    assert "xoxb… and ['xapp…']" in log.read_text()
