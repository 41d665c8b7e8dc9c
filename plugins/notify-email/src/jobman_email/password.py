"""The password of the mail server: from a file that is its owner's alone, or the environment."""

import os
import stat
from pathlib import Path
from typing import Final

from jobman_core.errors import InvalidInputError

#: Holds the password where no file does.
VARIABLE: Final = "JOBMAN_SMTP_PASSWORD"
_KEY: Final = "notifiers.email.password_file"
#: Of a folder that is its group's: what is made in it is so too.
_SHARED: Final = stat.S_ISGID | stat.S_IWGRP


def read_password(file: str, home: Path) -> str:
    """Give the password; it is read anew each time, so that a change counts at once.

    Args:
        file: as the settings name it, relative to the home; empty: the environment has it.
        home: the home folder.

    Raises:
        InvalidInputError: there is none, or others may read it.
    """
    if not file:
        if password := os.environ.get(VARIABLE):
            return password
        msg = f"{_KEY}: no password: write it into a file that is named there, or into ${VARIABLE}"
        raise InvalidInputError(msg)
    path = home / os.path.expanduser(file)  # noqa: PTH111 - Path's own raises
    try:
        with path.open(encoding="utf-8") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            password = opened.read().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        msg = f"{_KEY}: cannot read {path}: {why}: write the password into it, and nothing else"
        raise InvalidInputError(msg) from error
    # In a home that a group shares, whoever of it delivers reads the password.
    shared = home.stat().st_mode & _SHARED == _SHARED
    group, keeps = (stat.S_IWGRP, "640") if shared else (stat.S_IRWXG, "600")
    if mode & (group | stat.S_IRWXO):
        how = f"`chmod {keeps} {path}`, and better change the password"
        msg = f"{_KEY}: others may read {path}: {how}"
        raise InvalidInputError(msg)
    if not password or "\n" in password:
        msg = f"{_KEY}: {path} must hold the password on one line, and nothing else"
        raise InvalidInputError(msg)
    return password
