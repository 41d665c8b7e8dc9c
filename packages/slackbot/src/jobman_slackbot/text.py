"""Texts of others made safe for Slack: names, reasons, logs. The only place that does it.

Whatever goes to Slack and was not written by this package goes through one of these: ``line`` where
Slack reads plain text (``plain_text``, ``raw_text``); ``mrkdwn``, ``prose``, ``code`` and ``block``
where it reads its own markup. None of them gives an empty text, which Slack refuses.

Slack itself knows three escapes, ``&amp;``, ``&lt;`` and ``&gt;``: with them no text can mention
anybody, name a channel or be a link. The marks of bold, italic, struck out and code have none, so
that marks which look alike stand in their place.

Lengths are counted as Slack's own programs count them, in units of UTF-16.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from jobman_core.errors import printable

#: What stands where there is nothing to say.
NOTHING: Final = "-"
#: Stands where something was left out.
MORE: Final = "…"

_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_ALIKE: Final = {"*": "∗", "_": "ˍ", "~": "∼", "`": "ˋ"}  # noqa: RUF001 - that is what they are for
#: An underscore within a word marks nothing, and is in most names.
_MARK: Final = re.compile(r"[*~`]|(?<!\w)_|_(?!\w)|(?<=_)_|_(?=_)")
#: What colours and moves on a terminal (ECMA-48): control sequences, and those with a text.
_STEERING: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_FENCE: Final = "```"


def size(text: str) -> int:
    """Give the length of a text as Slack counts it."""
    return len(text) if text.isascii() else sum(map(_units, text))


def cut(text: str, limit: int) -> str:
    """Shorten a text to a length, by whole characters, with an ellipsis where it was cut."""
    # Most are so, of tables with many thousands.
    return text if text.isascii() and len(text) <= limit else _joined(text, limit, str)


def line(text: str, limit: int) -> str:
    """Give a text as one line for where Slack reads plain text."""
    return cut(_one_line(text, limit), limit)


def mrkdwn(text: str, limit: int) -> str:
    """Give a text as one line for where Slack reads markup, none of which is the text's."""
    shown = _MARK.sub(lambda mark: _ALIKE[mark[0]], _one_line(text, limit))
    return _joined(shown, limit, _escaped)


def prose(text: str, limit: int) -> str:
    """Give a sentence of the core's for where Slack reads markup: what is `code` there stays so."""
    shown = _MARK.sub(lambda mark: _ALIKE[mark[0]], _one_line(text, limit).replace("`", "\0"))
    # Two or more in a row would begin a block.
    shown = re.sub("\0{2,}", lambda marks: _ALIKE["`"] * len(marks[0]), shown).replace("\0", "`")
    return _joined(shown, limit, _escaped)


def code(text: str, limit: int) -> str:
    """Give a text as code within a line of markup; the length is with the marks around it."""
    shown = _one_line(text, limit).replace("`", _ALIKE["`"])
    return f"`{_joined(shown, limit - 2, _escaped)}`"


def block(text: str, limit: int) -> str:
    """Give the end of a text of many lines as a block of code, as a terminal would show it.

    What does not fit is left out in front, by whole lines where there are any.
    """
    room = limit - size(f"{_FENCE}\n{MORE}\n\n{_FENCE}")
    shown = "".join(map(_escaped, lines(text[-room:]).replace("`", _ALIKE["`"])))
    if len(text) > room or size(shown) > room:
        kept = _end(lines(text[-room:]).replace("`", _ALIKE["`"]), room)
        shown = f"{MORE}\n{kept.partition(chr(10))[2] or kept}"
    return f"{_FENCE}\n{shown or NOTHING}\n{_FENCE}"


def lines(text: str) -> str:
    """Give a text of many lines with nothing in it that steers a terminal, or cannot be seen.

    Of a line that was written over and over, like a progress bar, its last state stays.
    """
    kept = _STEERING.sub("", text).replace("\r\n", "\n").expandtabs().split("\n")
    return "\n".join(printable(one.rstrip("\r").rpartition("\r")[2]) for one in kept).strip("\n")


def _one_line(text: str, limit: int) -> str:
    # Cut before anything else looks at it: it may be of any length.
    shown = printable(" ".join(text[: 4 * limit].split()))
    return shown or NOTHING


def _escaped(char: str) -> str:
    return _ESCAPES.get(char, char)


def _units(char: str) -> int:
    return 1 if char <= "\uffff" else 2


def _joined(text: str, limit: int, shown: Callable[[str], str]) -> str:
    """Put characters together as they are shown, up to a length."""
    parts = [shown(char) for char in text[: limit + 1]]
    if len(text) <= limit and sum(map(size, parts)) <= limit:
        return "".join(parts)
    kept, room = 0, limit - size(MORE)
    while kept < len(parts) and room >= size(parts[kept]):
        room -= size(parts[kept])
        kept += 1
    # An accent belongs to the character before it.
    while kept and unicodedata.combining(text[kept : kept + 1] or " "):
        kept -= 1
    return "".join(parts[:kept]).rstrip() + MORE


def _end(text: str, limit: int) -> str:
    """Give so much of the end of a text, escaped, as there is room for."""
    parts: list[str] = []
    for char in reversed(text):
        shown = _escaped(char)
        limit -= size(shown)
        if limit < 0:
            break
        parts.append(shown)
    return "".join(reversed(parts))
