"""Homes to use jobman in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Give a home with process sessions; at the end nothing of it may run."""
    root = tmp_path / "lab"
    root.mkdir()
    lab = Lab(root)
    yield lab
    lab.close()
