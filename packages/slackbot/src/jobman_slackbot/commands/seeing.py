"""What only looks: ``list``, ``queue``, ``show``, ``logs``."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from jobman_core.errors import NotFoundError
from jobman_core.models.view import LogChunk
from jobman_slackbot import blocks, text
from jobman_slackbot.blocks import View
from jobman_slackbot.commands.call import Call, queue_key
from jobman_slackbot.errors import OldButtonError
from jobman_slackbot.grammar import Arguments
from jobman_slackbot.views import jobs, queues, words
from jobman_slackbot.views.paging import Place

#: Lines of a log that are shown where nobody says how many.
_LINES: Final = 20
#: What of a log has room in a message; more is a file.
_ROOM: Final = 2800
#: More of a log than this nobody reads in Slack: its end is kept.
_MOST: Final = 1_000_000


async def list_jobs(call: Call, given: Arguments) -> None:
    """Show jobs."""
    scope = given.one("which") or ""
    await call.answer(await list_page(call, Place("list", scope)))


async def list_page(call: Call, place: Place) -> View:
    """Give a page of the list."""
    mine = place.what == "mine"
    views = await call.app.list(mine=mine, deleted=place.what == "all")
    if views:
        # Of many thousands a page takes a second, in which others want their acknowledgements.
        return await asyncio.to_thread(jobs.jobs, views, place)
    return jobs.no_jobs(place.what, deleted=bool(await call.app.list(mine=mine, deleted=True)))


async def queue(call: Call, given: Arguments) -> None:
    """Show a queue; where there are several and none is named, which there are."""
    known = await call.queue_names()
    name = given.one("name")
    if name is None and len(known) != 1:
        await call.answer(queues.which(list(known)))
        return
    name, path = await call.queue(name)
    await call.answer(await queue_page(call, Place("queue", queue_key(path))))


async def queue_page(call: Call, place: Place) -> View:
    """Give a page of a queue.

    Raises:
        OldButtonError: the home does not know that queue any more.
    """
    for name, path in (await call.queue_names()).items():
        if queue_key(path) == place.what:
            view = await call.app.queue(path)
            return await asyncio.to_thread(queues.queue, view, name, place)
    raise OldButtonError


async def show(call: Call, given: Arguments) -> None:
    """Show all about a job."""
    detail = await call.app.show(given.one("ID") or "")
    paths = {str(path): name for name, path in (await call.queue_names()).items()}
    queue = paths.get(str(detail.settings.get("queue")))
    await call.answer(jobs.job(detail, call.now(), queue))


async def logs(call: Call, given: Arguments) -> None:
    """Show the end of a log, or hand it over as a file where it is long."""
    which = given.one("ID|TASK") or ""
    number = int(given.one("lines") or _LINES)
    title, data = await _log(call, which, number)
    # What is all escapes takes seconds, for which nobody else is to wait.
    shown = await asyncio.to_thread(text.lines, data.decode("utf-8", "replace"))
    if not shown:
        await call.say(f"{text.code(title, 80)} has written nothing yet")
    elif len(shown) <= _ROOM and text.size(shown) <= _ROOM:
        head = blocks.section(f"The end of the log of {text.code(title, 80)}")
        log = blocks.section(text.block(shown, _ROOM + 200))
        await call.answer(View(title, (head, log)))
    else:
        await call.hand(f"{_file_name(title)}.log", shown.encode(), title)
        lines = words.count(shown.count("\n") + 1, "line")
        where = "in our direct messages"
        await call.say(f"The log of {text.code(title, 80)} is long: its last {lines} are {where}.")


async def _log(call: Call, which: str, number: int) -> tuple[str, bytes]:
    """Give what a log is called, and its last lines: a job's, else a task's of that name."""
    job = None
    if which.isascii() and which.isdigit():
        try:
            (job,) = await call.app.resolve([which])
        except NotFoundError as error:
            # Tasks may be called by numbers as well.
            if not await _is_task(call, which):
                raise error from None
    if job is not None:
        chunks = call.app.logs(job=job, tail=number, most=_MOST)
        return f"job {job}", await _end(chunks)
    _, path = await call.queue_of_task(which, None)
    chunks = call.app.logs(task=which, queue=path, tail=number, most=_MOST)
    return f"task {which}", await _end(chunks)


async def _is_task(call: Call, name: str) -> bool:
    try:
        await call.queue_of_task(name, None)
    except NotFoundError:
        return False
    return True


async def _end(chunks: AsyncIterator[LogChunk]) -> bytes:
    """Put what several hosts wrote together, each below a title where there are several."""
    hosts: dict[tuple[int, int], bytes] = {}
    async for chunk in chunks:
        if not chunk.notice:
            key = (chunk.number, chunk.worker)
            hosts[key] = (hosts.get(key, b"") + chunk.data)[-_MOST:]
    if len(hosts) == 1:
        return next(iter(hosts.values()))
    return b"\n".join(
        f"== run {run}, host {worker}\n".encode() + data for (run, worker), data in hosts.items()
    )[-_MOST:]


def _file_name(title: str) -> str:
    """Give a name for a file, made of what all file systems take."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in title)
    return kept[:80]
