"""The pictures of the pages can be drawn anew, are there, and need nothing from elsewhere."""

import re
from pathlib import Path

import pytest
from docs.tools import pictures

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("list.svg", "QUEUEING"),
        ("queue.svg", "long-context"),
        ("show.svg", "slice.preempted"),
        ("usage.svg", "COST"),
        ("monitor.svg", "next&#160;try&#160;in"),
    ],
)
async def test_a_picture_shows_what_people_see(tmp_path: Path, name: str, seen: str) -> None:
    drawn = await pictures.DRAWN[name](tmp_path)
    assert isinstance(drawn, str)
    assert seen in drawn


@pytest.mark.e2e
async def test_the_chart_is_a_picture(tmp_path: Path) -> None:
    drawn = await pictures.DRAWN["usage-plot.png"](tmp_path)
    assert isinstance(drawn, bytes)
    assert drawn.startswith(b"\x89PNG")


def test_every_picture_is_there_and_stands_in_a_page() -> None:
    there = {path.name for path in (DOCS / "pictures").iterdir()}
    assert set(pictures.DRAWN) <= there
    text = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    assert set(re.findall(r"\]\(pictures/([^)]+)\)", text)) == there


def test_a_picture_fetches_nothing() -> None:
    for path in (DOCS / "pictures").glob("*.svg"):
        text = re.sub(r'xmlns(:\w+)?="[^"]*"', "", path.read_text("utf-8"))
        assert not re.search(r"https?:|@import|@font-face|<script|<image", text), path.name
