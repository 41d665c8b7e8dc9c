"""The two tokens: where they come from, and that they go nowhere else."""

import logging
import re
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

import attrs

from jobman_core.errors import InvalidInputError

#: By the names that Slack's own programs know: how each begins, and where to copy it.
_KINDS: Final = {
    "SLACK_BOT_TOKEN": ("xoxb-", "copy the Bot User OAuth Token from OAuth & Permissions"),
    "SLACK_APP_TOKEN": ("xapp-", "copy the App-Level Token from Basic Information"),
}
#: What nobody else may see: tokens, and addresses that are as good as one.
_SECRET: Final = re.compile(
    r"\b(xox[a-z]|xapp|xwfp)-[A-Za-z0-9-]+"
    r"|(?<=ticket=)[^&\s'\"]+"
    r"|(?<=hooks\.slack\.com/)[^\s'\"]+"
)
#: Characters that are read of a file of tokens: a device may go on for ever.
_LONGEST: Final = 65_536


@attrs.frozen
class Tokens:
    """What the bot proves itself with."""

    #: For the Web API.
    bot: str = attrs.field(repr=False)
    #: For Socket Mode.
    app: str = attrs.field(repr=False)


def take_tokens(file: Path | None, environ: MutableMapping[str, str]) -> Tokens:
    """Give the tokens, of a file or of the environment, and take them out of the environment.

    Programs that are started from here, and run jobs, would have them otherwise.

    Args:
        file: ``NAME=value`` lines, readable by its owner alone; None: the environment has them.
        environ: is changed.

    Raises:
        InvalidInputError: one is missing or of another kind, or others can read the file.
    """
    found = {name: environ.pop(name, "") for name in _KINDS}
    if file is not None:
        found = _read(file)
    where = str(file) if file is not None else "the environment"
    for name, (start, how) in _KINDS.items():
        value = found.get(name, "")
        if not value:
            msg = f"{name} is not in {where}: {how} on https://api.slack.com/apps"
            raise InvalidInputError(msg)
        if not re.fullmatch(rf"{start}[A-Za-z0-9-]+", value):
            msg = f"{name} in {where} does not begin with {start}, or was cut: {how}"
            raise InvalidInputError(msg)
    return Tokens(found["SLACK_BOT_TOKEN"], found["SLACK_APP_TOKEN"])


def _read(file: Path) -> dict[str, str]:
    """Read a file of tokens; nothing of its content is ever part of an error."""
    try:
        mode = file.stat().st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            msg = f"{file} can be read by others: chmod 600 {file}"
            raise InvalidInputError(msg)
        with file.open(encoding="utf-8") as opened:
            lines = opened.read(_LONGEST).splitlines()
    except UnicodeDecodeError:
        msg = f"{file} is no text: write a line NAME=value for each token"
        raise InvalidInputError(msg) from None
    except OSError as error:
        said = (error.strerror or "it cannot be read").lower()
        msg = f"{file} ({said}): put the tokens there, or take `tokens:` out of bot.yaml"
        raise InvalidInputError(msg) from error
    pairs = (line.removeprefix("export ").partition("=") for line in map(str.strip, lines))
    return {name.strip(): value.strip().strip("'\"") for name, sign, value in pairs if sign}


def redact(text: str) -> str:
    """Take out of a text what nobody else may see."""
    return _SECRET.sub(lambda found: f"{found[1] or ''}…", text)


class Redacting(logging.Formatter):
    """Writes what is logged, tracebacks too, without tokens."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the text of a record."""
        return redact(super().format(record))
