"""Commands on several jobs: all that can be done is done, and each failure is told."""

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import typer

from jobman_cli import documents, output

if TYPE_CHECKING:
    from jobman_cli.front import Front
    from jobman_core.app import App
    from jobman_core.models.view import Done

    Act = Callable[[App, str], Awaitable[Done]]
    Losses = Callable[[App, str], Awaitable[Sequence[str]]]

_T = TypeVar("_T")

#: So many at a time: a slow cloud must not make the last of many wait for all others.
_AT_ONCE: Final = 16
#: Seconds after which a person is told what takes so long.
_PATIENCE: Final = 3.0


def on_each(
    front: "Front",
    jobs: Sequence[str],
    act: "Act",
    doing: str,
    *,
    question: Callable[[str], str] | None = None,
    losses: "Losses | None" = None,
    report: bool | None = None,
) -> None:
    """Do something with each job, tell how it went, and end with the code of the first failure.

    Args:
        front: where the words go.
        jobs: ids, or the last digits of them.
        act: what to do with one, by its full id.
        doing: what to call that while it takes time, like ``deleting``.
        question: makes the question that must be answered with yes first, of what the jobs are.
        losses: gives what is lost with that of one job, by its full id; there is a question only
            if anything is. Where nobody can be asked, ``act`` has to refuse.
        report: whether ``--json`` prints its document even if nothing could be done; by
            default when there are several jobs.

    Raises:
        typer.Exit: something went wrong, or the answer was no.
    """

    async def body(app: "App") -> "list[Done] | None":
        work = await _resolve(app, jobs)
        if question is not None:
            real = [name for name, fault in work.items() if fault is None]
            if real and not front.ask(question(await _describe(app, real))):
                return None
        if losses is not None and front.stdin.isatty():
            lost = await _lost(app, [job for job, fault in work.items() if fault is None], losses)
            if lost and not front.ask(f"{'; '.join(lost)}: go on?"):
                return None
        return await _work(front, app, work, act, doing)

    found = front.run(body)
    if found is None:
        raise typer.Exit(1)
    bad = [done for done in found if done.error is not None]
    if front.json and (report or len(jobs) > 1 or any(done.status for done in found) or not found):
        front.document([documents.done(done) for done in found])
    if bad:
        from jobman_cli import faults

        raise typer.Exit(faults.exit_code(bad[0].error or KeyError()))


async def _resolve(app: "App", jobs: Sequence[str]) -> dict[str, Exception | None]:
    """Give each job's full id, or the name that was given with what is wrong with it."""
    from jobman_core.errors import JobmanError

    found: dict[str, Exception | None] = {}
    for name in jobs:
        try:
            for job in await app.resolve([name]):
                found[job] = None
        except JobmanError as error:
            found[name] = error
    return found


async def _lost(app: "App", jobs: Sequence[str], losses: "Losses") -> list[str]:
    """Say what is lost; what is wrong with a job is told when it is acted on."""
    from jobman_core.errors import JobmanError

    lost: list[str] = []
    for job in jobs:
        with contextlib.suppress(JobmanError):
            lost += [f"job {job} {output.clean(loss)}" for loss in await losses(app, job)]
    return lost


async def _describe(app: "App", jobs: Sequence[str]) -> str:
    views = {view.id: view for view in await app.list()}
    words = [
        f"{job} ({views[job].name}, {views[job].accelerator}, {views[job].status})"
        if job in views
        else job
        for job in jobs
    ]
    return output.joined(words)


async def _work(
    front: "Front", app: "App", work: dict[str, Exception | None], act: "Act", doing: str
) -> "list[Done]":
    import asyncio

    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(name: str, fault: Exception | None) -> "Done":
        from jobman_core.models.view import Done

        if fault is not None:
            done = Done(name, None, error=fault)
        else:
            async with gate:
                try:
                    done = await patiently(front, act(app, name), f"{doing} {name}")
                except Exception as error:  # noqa: BLE001 - told below; the others go on
                    done = Done(name, None, error=error)
        _tell(front, done)
        return done

    return await asyncio.gather(*(one(name, fault) for name, fault in work.items()))


async def patiently(front: "Front", action: Awaitable[_T], what: str) -> _T:
    """Wait for something, and say what it is if that takes long."""
    import asyncio

    future = asyncio.ensure_future(action)
    done, _ = await asyncio.wait([future], timeout=_PATIENCE)
    if not done:
        front.note(f"{what} …")
    return await future


def _tell(front: "Front", done: "Done") -> None:
    for note in done.notes:
        front.note(f"note: job {done.id}: {output.clean(note)}")
    if done.error is not None:
        front.fail(done.error, about=done.id)
    elif not front.json:
        status = output.status_cell(str(done.status or ""))
        start = f"{done.id}  {status.text}  "
        shown = start.replace(status.text, front.paint(status.text, status.colour))
        front.say(*output.hanging(start, output.clean(done.note), front.room, shown))
