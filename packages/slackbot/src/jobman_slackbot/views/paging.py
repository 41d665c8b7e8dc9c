"""Long tables: a page at a time, with buttons to the others.

A button's value names the table and the page, so that it works whenever it is pressed: what is
shown is read anew then.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from jobman_slackbot import blocks
from jobman_slackbot.blocks import Block, Column, View
from jobman_slackbot.errors import OldButtonError
from jobman_slackbot.views import words

#: What the ids of its buttons begin with.
ACTION: Final = "page"


@attrs.frozen
class Place:
    """A page of a table."""

    #: The command that shows it.
    word: str
    #: Which of its tables: a word or an id of ours, never a text of others.
    what: str = ""
    #: Counted from 0.
    page: int = 0

    def packed(self) -> str:
        """Give it as the value of a button."""
        return json.dumps([self.word, self.what, self.page], separators=(",", ":"))

    @classmethod
    def unpacked(cls, value: str) -> "Place":
        """Read it.

        Raises:
            OldButtonError: nobody made such a button.
        """
        try:
            word, what, page = json.loads(value)
        except (ValueError, TypeError, RecursionError):
            raise OldButtonError from None
        if not (isinstance(word, str) and isinstance(what, str) and isinstance(page, int)):
            raise OldButtonError
        return cls(word, what, page)


def paged(
    title: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    place: Place,
    *,
    below: Sequence[Block] = (),
) -> View:
    """Give a page of a table; of one that has become shorter, the last.

    Args:
        title: what it is, in markup.
        columns: its columns.
        rows: all of its rows.
        place: which page.
        below: stands under the table.
    """
    tables = blocks.tables(columns, rows)
    page = min(max(place.page, 0), max(len(tables) - 1, 0))
    shown = [blocks.section(title), *tables[page : page + 1], *below]
    if len(tables) > 1:
        before = sum(len(table["rows"]) - 1 for table in tables[:page])
        number = len(tables[page]["rows"]) - 1
        at = f"rows {before + 1:,} to {before + number:,}, page {page + 1:,} of {len(tables):,}"
        shown += [blocks.context(at), blocks.actions(_buttons(place, page, len(tables)))]
    return View(title, tuple(shown))


def _buttons(place: Place, page: int, pages: int) -> list[Block]:
    last = pages - 1
    steps = {
        "First": (0, page > 1),
        "Previous": (page - 1, page > 0),
        "Next": (page + 1, page < last),
        "Last": (last, page < last - 1),
    }
    return [
        blocks.button(label, f"{ACTION}:{label.lower()}", attrs.evolve(place, page=to).packed())
        for label, (to, useful) in steps.items()
        if useful
    ]


def summary(number: int, noun: str, statuses: Iterable[str]) -> str:
    """Say how many rows a table has, and how they stand."""
    told = words.tally(statuses)
    return f"*{words.count(number, noun)}*" + (f": {told}" if told else "")
