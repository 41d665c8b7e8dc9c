"""Pages that are written by a program say what it would write now."""

from pathlib import Path

import pytest
from docs.tools import generate

DOCS = Path(__file__).parents[2] / "docs"


def test_all_keys_and_all_commands_are_told_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name, text in generate.pages().items():
        old = f"docs/{name} is old: `python -m docs.tools.generate` writes it anew"
        assert (DOCS / name).read_text("utf-8") == text, old
