"""Homes with a Slack bot, beside a loopback Slack."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.bots import BotLab, bot_lab
from tests.support.lab import Lab


@pytest.fixture
async def bots(tmp_path: Path) -> AsyncIterator[BotLab]:
    """Give a home whose slices are of this machine, and its bot, which does not run yet."""
    async with bot_lab(Lab(tmp_path / "lab")) as found:
        # A home is one from its first job on.
        await found.create("ada", "first")
        yield found
        await found.stop()
        await found.close()
