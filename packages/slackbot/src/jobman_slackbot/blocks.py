"""Blocks of Slack's Block Kit, within Slack's limits by the way that they are made.

Source of the limits: https://docs.slack.dev/reference/block-kit. Texts of others come in through
:mod:`jobman_slackbot.text`; ``markup`` is a text that was made so.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from jobman_slackbot import text

Block = dict[str, Any]

_HEADER: Final = 150
_SECTION: Final = 3000
_BUTTON: Final = 75
_VALUE: Final = 2000
_CONFIRM_TITLE: Final = 100
_CONFIRM_TEXT: Final = 300
_CONFIRM_LABEL: Final = 30
#: Rows of a table, without its head.
_ROWS: Final = 99
#: Of all blocks of a message, as JSON, 13,200 have been refused; the rest of a message needs some.
_TABLE: Final = 9000
#: Bytes of a message's text: of a longer one Slack posts several, and changes none.
TEXT: Final = 3500
#: Of one cell.
CELL: Final = 80
#: What all lines of a message may have together.
LINES: Final = 8000


@attrs.frozen
class View:
    """A message."""

    #: For notifications, and for who sees no blocks; mrkdwn.
    text: str
    blocks: tuple[Block, ...] = ()


@attrs.frozen
class Column:
    """A column of a table."""

    head: str
    #: Characters of a cell.
    most: int = CELL
    right: bool = False
    wrapped: bool = False


def plain(shown: str, limit: int) -> Block:
    """Give a text in which nothing is read as markup."""
    return {"type": "plain_text", "text": text.line(shown, limit), "emoji": False}


def header(shown: str) -> Block:
    """Give a title."""
    return {"type": "header", "text": plain(shown, _HEADER)}


def section(markup: str) -> Block:
    """Give a paragraph of markup, at most 3000 characters."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": markup, "verbatim": True}}


def paragraph(shown: str, limit: int = _SECTION) -> Block:
    """Give a paragraph in which nothing is read as markup."""
    return {"type": "section", "text": plain(shown, limit)}


def fields(pairs: Iterable[tuple[str, str]]) -> Block:
    """Give at most ten labels with their values, which are markup, in two columns."""
    shown = [f"*{label}*\n{value}" for label, value in pairs]
    return {
        "type": "section",
        "fields": [{"type": "mrkdwn", "text": one, "verbatim": True} for one in shown],
    }


def context(markup: str) -> Block:
    """Give a line of small print."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": markup, "verbatim": True}]}


def sections(lines: Iterable[str]) -> list[Block]:
    """Give lines of markup in as few paragraphs as they need; what is too much is counted."""
    packed: list[str] = []
    room = LINES
    given = list(lines)
    for index, line in enumerate(given):
        room -= text.size(line) + 1
        if room < 0:
            packed.append(f"{text.MORE} and {len(given) - index} more")
            break
        longer = f"{packed[-1]}\n{line}" if packed else line
        if packed and text.size(longer) <= _SECTION:
            packed[-1] = longer
        else:
            packed.append(line)
    return [section(lines) for lines in packed]


def said(lines: Sequence[str]) -> View:
    """Give lines of markup as a message: as its text alone where that is short."""
    whole = "\n".join(lines)
    if len(whole.encode()) <= TEXT:
        return View(whole)
    kept, room = 0, TEXT - len(f"\n{text.MORE}".encode())
    while room >= (size := len(f"{lines[kept]}\n".encode())):
        kept, room = kept + 1, room - size
    return View("\n".join([*lines[:kept], text.MORE]), tuple(sections(lines)))


def button(
    label: str, action: str, value: str, *, style: str = "", confirm: Block | None = None
) -> Block:
    """Give a button.

    Args:
        label: what stands on it.
        action: its id, by which its press is known.
        value: what comes with its press.
        style: ``primary`` or ``danger``.
        confirm: what is asked first.
    """
    assert len(value) <= _VALUE  # noqa: S101 - who makes one sees to that, and says so
    made: Block = {
        "type": "button",
        "text": plain(label, _BUTTON),
        "action_id": action,
        "value": value,
    }
    if style:
        made["style"] = style
    if confirm:
        made["confirm"] = confirm
    return made


def fits_button(value: str) -> bool:
    """Tell whether a button can carry a value."""
    return len(value) <= _VALUE


def confirm(title: str, question: str, yes: str, *, danger: bool) -> Block:
    """Give what a button asks before it counts as pressed."""
    made: Block = {
        "title": plain(title, _CONFIRM_TITLE),
        "text": plain(question, _CONFIRM_TEXT),
        "confirm": plain(yes, _CONFIRM_LABEL),
        "deny": plain("Not now", _CONFIRM_LABEL),
    }
    if danger:
        made["style"] = "danger"
    return made


def actions(buttons: Sequence[Block]) -> Block:
    """Give a row of buttons, at most 25."""
    return {"type": "actions", "elements": list(buttons)}


def tables(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> list[Block]:
    """Give rows as tables of which each has room in one message; of no rows there is none."""
    pages: list[list[list[Block]]] = []
    room = 0
    for row in rows:
        cells = [_cell(shown, column.most) for shown, column in zip(row, columns, strict=True)]
        size = len(json.dumps(cells))
        if size > room or len(pages[-1]) >= _ROWS:
            pages.append([])
            room = _TABLE
        pages[-1].append(cells)
        room -= size
    heads = [_cell(column.head, column.most) for column in columns]
    settings = [
        {"align": "right" if column.right else "left", "is_wrapped": column.wrapped}
        for column in columns
    ]
    return [
        {"type": "table", "rows": [heads, *page], "column_settings": settings} for page in pages
    ]


def _cell(shown: str, limit: int) -> Block:
    return {"type": "raw_text", "text": text.line(shown, limit)}
