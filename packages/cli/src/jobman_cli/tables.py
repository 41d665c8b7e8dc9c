"""Tables for spreadsheets: CSV in which no text is taken for a formula."""

from collections.abc import Mapping, Sequence
from typing import Final, TextIO

#: A text that begins so is computed by spreadsheets.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\n")


def write(stream: TextIO, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows that have the same columns, with a line of their names; None is left empty."""
    import csv

    if not rows:
        return
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})


def _cell(value: object) -> object:
    if isinstance(value, str):
        # Some readers take a lone carriage return for the end of a row.
        text = value.replace("\0", "").replace("\r", "\n")
        return f"'{text}" if text.startswith(_FORMULA) else text
    return value
