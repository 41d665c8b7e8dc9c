"""Time and chance, passed in wherever they are used, so that tests never wait for either."""

import asyncio
import random
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What the core knows of time."""

    def now(self) -> datetime:
        """Give the wall clock's time, in UTC; for people, never to judge a lease by."""

    def monotonic(self) -> float:
        """Give seconds that all processes of this machine count alike, through suspends too."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""

    def jitter(self, seconds: float) -> float:
        """Spread a delay by up to a fifth either way, so that a herd does not stay one."""


class SystemClock:
    """The machine's own."""

    def now(self) -> datetime:
        """Give the wall clock's time, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Give the seconds since this machine's boot (CLOCK_BOOTTIME, else the monotonic clock)."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def jitter(self, seconds: float) -> float:
        """Spread a delay by up to a fifth either way."""
        return seconds * random.uniform(0.8, 1.2)  # noqa: S311 - no secret depends on it


def in_seconds(clock: Clock, seconds: float) -> datetime:
    """Give the moment that comes in so many seconds."""
    return clock.now() + timedelta(seconds=seconds)


def to_text(moment: datetime) -> str:
    """Write a moment the way that all of jobman's files and JSON do: ISO 8601, UTC, ``Z``."""
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """Read a moment; one without a zone is local time, as v3 wrote it.

    Raises:
        ValueError: it is not ISO 8601.
    """
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC)
