"""The course of the demo: start two workers, take a slice away, watch until all is done."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from jobman_cli.demo import files as script

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.event import Event
    from jobman_core.models.task import Task
    from jobman_core.models.view import JobDetail, JobView

#: Seconds between two looks.
_LOOK: Final = 0.25
#: The demo promises to end within 45 seconds, with what it has to tidy up.
LIMIT: Final = 36.0
#: The step of the long task after which its slice is taken away.
_STRIKE_AT: Final = 3
_TIDY_LIMIT: Final = 30.0


class Said(NamedTuple):
    """A line of what happened."""

    #: Seconds since the start.
    at: float
    text: str
    #: Told by the demo itself, not by jobman.
    aside: bool = False


class Play:
    """What is known of the play while it goes on; the picture and the verdict read it."""

    def __init__(self, app: "App", files: script.Files, changed: Callable[["Play"], None]) -> None:
        """Take what to play with, and what to call after each look."""
        self.app = app
        self.files = files
        self.jobs: Sequence[JobView] = ()
        self.tasks: Sequence[Task] = ()
        #: The newest line of output of each task that runs.
        self.words: dict[str, str] = {}
        self.said: list[Said] = []
        #: What the workers went through, and the attempts, as they were before the tidying up.
        self.details: list[JobDetail] = []
        self.struck: JobView | None = None
        self.struck_at = 0.0
        self.ids: list[str] = []
        #: What could not be tidied up, and what still runs or stands afterwards.
        self.left: list[str] = []
        self._changed = changed
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._began

    @property
    def done(self) -> bool:
        """Whether every task has come to its end."""
        return bool(self.tasks) and all(task.status in ("DONE", "FAILED") for task in self.tasks)

    async def run(self) -> None:
        """Play it, and tidy up whatever happens."""
        try:
            self.tell("two workers are created; each asks for a slice")
            self._changed(self)
            made = await self.app.create(self.files.worker, count=script.WORKERS)
            self.ids = [one.job.id for one in made]
            async with self._listening():
                while not self.done and self.seconds < LIMIT:
                    await self._look()
                    await self._maybe_strike()
                    await asyncio.sleep(_LOOK)
            self.details = [await self.app.show(job) for job in self.ids]
        finally:
            await self._tidy()

    def tell(self, text: str) -> None:
        """Say something of the demo's own."""
        self.said.append(Said(self.seconds, text, aside=True))

    async def _look(self) -> None:
        self.jobs = await self.app.list()
        self.tasks = (await self.app.queue(self.files.tasks)).tasks
        for task in self.tasks:
            if task.running:
                self.words[task.id] = await self._last_words(task.id)
        self._changed(self)

    async def _last_words(self, task: str) -> str:
        from jobman_core.errors import NotFoundError

        text = b""
        # What was just claimed has no output yet.
        with contextlib.suppress(NotFoundError):
            chunks = self.app.logs(
                job=None,
                task=task,
                queue=self.files.tasks,
                run=None,
                worker=None,
                follow=False,
                controller=False,
                tail=1,
            )
            async for chunk in chunks:
                text += chunk.data
        return text.decode("utf-8", "replace").strip().rpartition("\n")[2]

    async def _maybe_strike(self) -> None:
        """Take the slice of the long task away, once, when it has something to lose."""
        if self.struck or f"step {_STRIKE_AT} " not in self.words.get(script.LONG, ""):
            return
        for job in self.jobs:
            if job.running == script.LONG:
                self.struck, self.struck_at = job, self.seconds
                self.tell(f"the slice under {script.LONG} is taken away, as spot slices are")
                await self.app.preempt(job.id)

    @contextlib.asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        """Keep what jobman tells, for the length of a block."""

        async def listen() -> None:
            async for event in self.app.watch(0):
                self._hear(event)

        listener = asyncio.create_task(listen())
        try:
            yield
        finally:
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener

    def _hear(self, event: "Event") -> None:
        what = event.task or event.job or ""
        self.said.append(Said(self.seconds, f"{what}: {event.text}" if what else event.text))

    async def _tidy(self) -> None:
        """Give both slices back, and see that nothing is left."""
        from jobman_core.errors import JobmanError

        known = {view.id for view in await self.app.list()}
        for job in sorted(known):
            try:
                async with asyncio.timeout(_TIDY_LIMIT):
                    await self.app.delete(job)
            except (JobmanError, TimeoutError) as error:
                self.left.append(f"{job} could not be deleted: {str(error) or 'it took too long'}")
                continue
            detail = await self.app.show(job)
            if detail.slice is not None and detail.slice.held:
                self.left.append(f"slice {detail.slice.identity.name} still stands")
            self.left += [
                f"a run of {one.task} was not ended" for one in detail.attempts if one.live
            ]
