"""Homes to use jobman in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cloud import CloudLab, cloud_lab
from tests.support.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Give a home with process sessions; at the end nothing of it may run."""
    root = tmp_path / "lab"
    root.mkdir()
    lab = Lab(root)
    yield lab
    lab.close()


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[CloudLab]:
    """Give a home whose slices come from an emulated cloud; at the end there are none."""
    with cloud_lab(tmp_path) as lab:
        yield lab


@pytest.fixture
def netns_cloud(tmp_path: Path) -> Iterator[CloudLab]:
    """Give the same with hosts that are machines of their own; needs root."""
    with cloud_lab(tmp_path, hosts="netns") as lab:
        yield lab
