"""Figures as rows, rows as tables, and tables in ``README.md``."""

import os
import platform
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import attrs

README = Path(__file__).with_name("README.md")
#: From here on whole numbers are told.
_LONG = 1000
HEAD = ["| figure | measured | promised | kept | remarks |", "|---|---|---|---|---|"]


@attrs.frozen
class Row:
    """One figure; without a promise it is only told."""

    what: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Tell whether the promise holds."""
        low = self.at_least is None or self.value >= self.at_least
        return low and (self.at_most is None or self.value <= self.at_most)

    def cells(self) -> list[str]:
        """Give the row as a table has it."""
        promises = (("at most", self.at_most), ("at least", self.at_least))
        promised = [f"{how} {limit:g} {self.unit}" for how, limit in promises if limit is not None]
        verdict = ("yes" if self.kept else "**no**") if promised else ""
        value = f"{self.value:,.0f}" if self.value >= _LONG else f"{self.value:.3g}"
        return [self.what, f"{value} {self.unit}", ", ".join(promised), verdict, self.detail]


def machine() -> str:
    """Name this machine and what runs on it."""
    return (
        f"{_processor()}, {os.cpu_count()} cores, Linux {platform.release()}, Python "
        f"{platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def section(title: str, rows: Iterable[Row], seconds: float) -> str:
    """Give a part's rows as a section in Markdown, which tells how long the measuring took."""
    lines = ["| " + " | ".join(cell.strip() for cell in row.cells()) + " |" for row in rows]
    when = f"Measured {datetime.now(UTC):%Y-%m-%d}, in {seconds:.0f} s, on {machine()}."
    return "\n".join([f"## {title}", "", when, "", *HEAD, *lines, ""])


def write(name: str, text: str, order: Iterable[str]) -> None:
    """Put a part's section into ``README.md``, in place of the one that is there.

    Args:
        name: the part.
        text: its section.
        order: all parts, as they are to stand there.
    """
    head, *rest = README.read_text("utf-8").split("<!-- part ")
    found = dict(part.split(" -->\n", 1) for part in rest)
    found[name] = f"{text}\n"
    parts = [f"<!-- part {part} -->\n{found[part]}" for part in order if part in found]
    text = "".join([head.rstrip("\n"), "\n\n", *parts]).rstrip("\n")
    README.write_text(f"{text}\n", encoding="utf-8")
