"""The course of the demo: start two workers, take a slice away, watch until all is done."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from jobman_cli.demo import files as script
from jobman_cli.demo.interruption import Interruption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.event import Event
    from jobman_core.models.listing import JobView
    from jobman_core.models.task import Task
    from jobman_core.models.view import JobDetail

#: Seconds between two looks.
_LOOK: Final = 0.25
#: The demo promises to end within 45 seconds, with what it has to tidy up.
LIMIT: Final = 36.0
#: The step of the long task after which its slice is taken away.
_STRIKE_AT: Final = 3
_TIDY_LIMIT: Final = 30.0
#: The kinds of events that tell the story, with their colours; the others are steps between them.
_TELLING: Final = {
    "slice.requested": "",
    "slice.ready": "",
    "slice.preempted": "magenta",
    "task.claimed": "",
    "task.succeeded": "blue",
    "task.failed": "red",
    "task.interrupted": "magenta",
}


class Said(NamedTuple):
    """A line of what happened."""

    #: Seconds since the start.
    at: float
    text: str
    colour: str = ""


class Play:
    """What is known of the play while it goes on; the picture and the verdict read it."""

    def __init__(
        self,
        app: "App",
        files: script.Files,
        changed: Callable[["Play"], None],
        left: list[str],
    ) -> None:
        """Take what to play with.

        Args:
            app: the demo's home, open.
            files: what is in it.
            changed: called after each look.
            left: gets what could not be tidied up.
        """
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
        self.ids: list[str] = []
        self.left = left
        self._changed = changed
        self._began = time.monotonic()
        self._began_at = datetime.now(UTC)

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self._began

    @property
    def done(self) -> bool:
        """Whether every task has come to its end."""
        return bool(self.tasks) and all(task.status in ("DONE", "FAILED") for task in self.tasks)

    async def run(self, interruption: Interruption) -> None:
        """Play it until it is over or interrupted, and tidy up whatever happens."""
        try:
            await interruption.ends(self._course(), self._interrupted)
        finally:
            await self._tidy()
            self._changed(self)

    def _interrupted(self) -> None:
        self.tell("interrupted: cleaning up …")
        self._changed(self)

    async def _course(self) -> None:
        self.tell("two workers are created, each with a slice of its own")
        self._changed(self)
        made = await self.app.create(self.files.worker, count=script.WORKERS)
        self.jobs = [one.job for one in made]
        self.ids = [job.id for job in self.jobs]
        heard: object = None
        listener = asyncio.create_task(self._listen())
        try:
            while not self.done and self.seconds < LIMIT:
                await asyncio.sleep(_LOOK)
                await self._look()
                await self._maybe_strike()
            self.details = [await self.app.show(job) for job in self.ids]
            # The last of it has been told by then.
            await asyncio.sleep(_LOOK * 2)
            self.tell("both slices are given back")
            self._changed(self)
        finally:
            listener.cancel()
            (heard,) = await asyncio.gather(listener, return_exceptions=True)
        if isinstance(heard, Exception):
            raise heard

    def tell(self, text: str) -> None:
        """Say something of the demo's own."""
        self.said.append(Said(self.seconds, text, "bold"))

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
                self.struck = job
                self.tell(f"the slice under {script.LONG} is taken away, as spot slices are")
                await self.app.preempt(job.id)

    async def _listen(self) -> None:
        """Keep what jobman tells."""
        async for event in self.app.watch(0):
            if event.kind in _TELLING:
                at = (event.at - self._began_at).total_seconds()
                self.said.append(Said(at, self._story_of(event), _TELLING[event.kind]))

    def _story_of(self, event: "Event") -> str:
        """Give what an event says, with the workers' names, which people can keep apart."""
        text = event.text
        for job in self.jobs:
            text = text.replace(f"job {job.id}", job.name)
            if job.id == event.job and event.task is None:
                text = f"{job.name}: {text}"
        return text

    async def _tidy(self) -> None:
        """Give both slices back, and see that nothing is left."""
        from jobman_core.errors import JobmanError

        for job in [view.id for view in await self.app.list()]:
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
        self.jobs = await self.app.list(deleted=True)
        if self.tasks:
            self.tasks = (await self.app.queue(self.files.tasks)).tasks
