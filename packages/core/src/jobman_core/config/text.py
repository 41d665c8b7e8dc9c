"""The bytes of an input file, and the text in them: nothing here can block, or fill the memory."""

import os
import re
import stat
from pathlib import Path
from typing import Final

from jobman_core.errors import ConfigError, Fault

#: Bytes that a job file or a settings file may have.
SMALL: Final = 4 << 20
#: Bytes that a tasks file may have: some hundred thousand tasks.
LARGE: Final = 64 << 20

#: What YAML does not allow in a file.
_ODD: Final = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
_BOM: Final = "\ufeff"


def whole(path: Path | str, message: str) -> ConfigError:
    """Give the error of a file that is wrong as a whole."""
    return ConfigError([Fault(str(path), 0, 0, "", message)])


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a regular file.

    Raises:
        ConfigError: there is no such file, it cannot be read, it is a folder or a device, or it
            has more bytes than the limit.
    """
    try:
        _refuse_odd(path, path.stat())
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags), "rb") as file:
            _refuse_odd(path, os.fstat(file.fileno()))
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise whole(path, "there is no such file: check the path") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise whole(path, f"it cannot be read ({reason}): check the path and its mode") from error
    except ValueError as error:
        raise whole(path, f"that is no path ({error}): check it") from error
    if len(data) > limit:
        raise whole(path, f"it is larger than {limit >> 20} MiB: split it")
    return data


def decode(data: bytes, path: Path | str) -> str:
    """Give the text of a file's bytes.

    Raises:
        ConfigError: it is not UTF-8, or holds characters that no text file has.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = _place(data[: error.start].decode("utf-8"))
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text: save the file as UTF-8"
        raise ConfigError([Fault(str(path), line, column, "", message)]) from error
    text = text.removeprefix(_BOM)
    odd = re.search(_ODD, text)
    if odd is not None:
        line, column = _place(text[: odd.start()])
        message = f"character U+{ord(odd[0]):04X} has no place in a text file: take it out"
        raise ConfigError([Fault(str(path), line, column, "", message)])
    return text


def _refuse_odd(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise whole(path, "it is a folder: name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise whole(path, "it is not a regular file: save it as one")


def _place(before: str) -> tuple[int, int]:
    """Give line and column of what comes after some text."""
    before = before.removeprefix(_BOM)
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
