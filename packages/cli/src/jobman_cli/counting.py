"""Shows people how far a count of objects has come, on a terminal's standard error."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from jobman_cli import output
from jobman_cli.front import Front

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from jobman_core.app import App
    from jobman_core.models.storage import BucketSize

_Key = tuple[str, str]


class Counter:
    """Hears of buckets while they are counted, and remembers what it heard last of each."""

    def __init__(self, front: Front) -> None:
        """Show nothing yet."""
        self._front = front
        self._heard: dict[_Key, BucketSize] = {}
        self._shows = front.stderr.isatty() and not front.quiet
        self._progress: Progress | None = None
        self._bars: dict[_Key, TaskID] = {}
        #: So many objects each bucket had when it was measured.
        self._expected: dict[_Key, int] = {}
        self._stack = ExitStack()

    @property
    def sizes(self) -> "Sequence[BucketSize]":
        """What is known so far."""
        return [*self._heard.values()]

    @asynccontextmanager
    async def counting(self, app: "App", buckets: Sequence[str]) -> AsyncIterator[None]:
        """Show what is heard for the length of a block, as parts of what was measured last."""
        measuring = asyncio.create_task(self._learn(app, buckets)) if self._shows else None
        try:
            yield
        finally:
            self._stack.close()
            if measuring is not None:
                measuring.cancel()
                # What kept it from being measured keeps nobody from counting.
                await asyncio.gather(measuring, return_exceptions=True)

    def hear(self, size: "BucketSize") -> None:
        """Take in what is known of a bucket by now."""
        key = (size.storage, size.bucket)
        self._heard[key] = size
        if not self._shows:
            return
        progress = self._shown()
        if key not in self._bars:
            name = output.clean(size.bucket)
            self._bars[key] = progress.add_task(name, total=None, objects="", size="")
        count = sum(amount.objects for amount in size.amounts)
        held = output.size(sum(amount.bytes for amount in size.amounts))
        # Where nobody knows how many there are, the bar fills when all have been seen.
        expected = self._expected.get(key) if size.partial else count
        total = None if expected is None else max(expected, count, 1)
        done = count if size.partial else total
        objects = f"{count:,} objects"
        progress.update(self._bars[key], total=total, completed=done, objects=objects, size=held)

    async def _learn(self, app: "App", buckets: Sequence[str]) -> None:
        for size in await app.storage(buckets):
            if size.as_of is not None:
                count = sum(amount.objects for amount in size.amounts)
                self._expected[size.storage, size.bucket] = count

    def _shown(self) -> "Progress":
        """Give what draws; it is made when there is something to draw."""
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            console = Console(file=self._front.stderr, no_color=self._front.no_color)
            columns = ("{task.description}", "{task.fields[objects]}", "{task.fields[size]}")
            first, *rest = (TextColumn(column, markup=False) for column in columns)
            bar = BarColumn(bar_width=20)
            progress = Progress(first, bar, *rest, console=console, transient=True)
            self._progress = self._stack.enter_context(progress)
        return self._progress
