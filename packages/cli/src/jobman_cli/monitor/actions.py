"""What the keys of the live view do with the thing that the cursor stands on."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from jobman_cli import output, queues
from jobman_cli.commands import show
from jobman_cli.monitor.following import Splitter
from jobman_cli.monitor.queues import Entry
from jobman_cli.monitor.screens import Ask, Pager, Prompt
from jobman_core.errors import JobmanError, lines_of
from jobman_core.models.event import Event
from jobman_core.models.listing import JobView
from jobman_core.models.slice import Slice

if TYPE_CHECKING:
    from jobman_cli.monitor.app import Monitor
    from jobman_core.models.view import Done

#: Lines of a log that are shown at first, and about as many bytes of each host at most.
_TAIL: Final = 500
_MOST: Final = 200_000
#: Seconds between two looks of the terminal at what a log has become.
_PACE: Final = 0.25


def _item(monitor: "Monitor") -> Any:  # noqa: ANN401 - of whatever the part has
    return monitor.grid.chosen if monitor.grid else None


def _job(monitor: "Monitor") -> str | None:
    """Give the job that the chosen row is of."""
    match _item(monitor):
        case JobView(id=job) | Slice(job=job) | Event(job=str(job)):
            return job
        case Entry(task=task) if task is not None and task.running:
            return task.running[0].job
    monitor.say("no job is chosen: move to one")
    return None


def _start(monitor: "Monitor", work: Callable[[], Awaitable[None]]) -> None:
    """Do something while the view goes on; what is refused is said."""

    async def guarded() -> None:
        try:
            await work()
        except (JobmanError, OSError) as error:
            monitor.say(lines_of(error)[0], "red")
        except Exception as error:  # noqa: BLE001 - told where everything ends
            monitor.fault = error
            monitor.exit()

    monitor.run_worker(guarded(), exit_on_error=False)


async def _act(monitor: "Monitor", doing: str, action: "Awaitable[Done]") -> None:
    """Do something to a job, and say what became of it."""
    monitor.say(f"{doing} …")
    done = await action
    more = "; ".join(word for word in (done.note, *done.notes) if word)
    monitor.say(f"job {done.id} is {done.status}" + (f": {more}" if more else ""))
    monitor.look_again()


def open_(monitor: "Monitor") -> None:
    """Show all about a job or a task; open a queue, or close it."""
    item = _item(monitor)
    if isinstance(item, Entry):
        task = item.task
        if task is None:
            monitor.narrow(open={*monitor.scope.open} ^ {item.path})
        else:
            _start(monitor, lambda: _show_task(monitor, Path(item.path), task.id))
    elif (job := _job(monitor)) is not None:
        _start(monitor, lambda: _show_job(monitor, job))


async def _show_job(monitor: "Monitor", job: str) -> None:
    lines = show.lines(monitor.front, await monitor.core.show(job))
    monitor.push_screen(Pager(f"job {job}", map(Text.from_ansi, lines)))


async def _show_task(monitor: "Monitor", queue: Path, task: str) -> None:
    lines = queues.task_lines(monitor.front, await monitor.core.queue_task(queue, task))
    monitor.push_screen(Pager(f"task {task}", map(Text.from_ansi, lines)))


def log(monitor: "Monitor") -> None:
    """Follow the log of a task or a job, on the whole terminal."""
    item = _item(monitor)
    if isinstance(item, Entry) and item.task is not None:
        task = item.task.id
        which: dict[str, Any] = {"task": task, "queue": Path(item.path)}
        title = f"log of task {task}"
    elif (job := _job(monitor)) is not None:
        which, title = {"job": job}, f"log of job {job}"
    else:
        return
    pager = Pager(title, follow=True)

    async def body() -> None:
        await monitor.push_screen(pager)
        await _follow(monitor, pager, which)

    _start(monitor, body)


async def _follow(monitor: "Monitor", pager: Pager, which: dict[str, Any]) -> None:
    """Bring what a log says to the terminal, until somebody goes back."""
    splitter = Splitter()
    ready: list[str] = []

    async def read() -> None:
        chunks = monitor.core.logs(follow=True, tail=_TAIL, most=_MOST, **which)
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                ready.extend(splitter.lines(chunk))
        ready.extend([*splitter.close(), "-- the end --"])

    reading = asyncio.create_task(read())
    shown: list[str] = []
    try:
        while pager.is_attached:
            ended = reading.done()
            begun = splitter.begun()
            if ready or begun != shown:
                pager.lines.add(map(Text, ready), [*map(Text, begun)])
                ready.clear()
                shown = begun
            if ended:
                await reading
                return
            await asyncio.sleep(_PACE)
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def stop(monitor: "Monitor") -> None:
    """End what a job runs, after a question."""
    job = _job(monitor)
    if job is None:
        return
    view = next((view for view in monitor.looking.jobs if view.id == job), None)
    known = f" ({view.name}, {view.accelerator}, {view.status})" if view else ""

    def answered(yes: bool | None) -> None:
        if yes:
            _start(monitor, lambda: _act(monitor, f"stopping {job}", monitor.core.stop(job)))
        else:
            monitor.say("nothing was done")

    question = f"stop job {job}{known}? Its slice stays, and costs."
    monitor.push_screen(Ask(question), answered)


def resume(monitor: "Monitor") -> None:
    """Start a job again; where it loses something by that, after a question."""
    job = _job(monitor)
    if job is None:
        return

    def again() -> "Awaitable[Done]":
        return monitor.core.resume(job, reload=False, agreed=True)

    def start() -> None:
        _start(monitor, lambda: _act(monitor, f"resuming {job}", again()))

    async def body() -> None:
        lost = await monitor.core.losses(job)
        if not lost:
            start()
            return

        def answered(yes: bool | None) -> None:
            if yes:
                start()
            else:
                monitor.say("nothing was done")

        losses = "; ".join(f"job {job} {output.clean(loss)}" for loss in lost)
        monitor.push_screen(Ask(f"{losses}: go on?"), answered)

    _start(monitor, body)


def first(monitor: "Monitor") -> None:
    """Put a task first in its queue; on a queue, one that somebody names."""
    item = _item(monitor)
    if not isinstance(item, Entry):
        monitor.say("no queue or task is chosen: move to one in the queues")
        return

    def put(task: str | None) -> None:
        if task:
            _start(monitor, lambda: body(task))

    async def body(task: str) -> None:
        await monitor.core.prioritize(Path(item.path), task)
        monitor.say(f"task {task} is put first")
        monitor.look_again()

    if item.task is not None:
        put(item.task.id)
    else:
        hint = "the id of the task to put first; Esc: none"
        monitor.push_screen(Prompt(hint, "", lambda _text: None), put)
