"""``jobman logs``: the output of any attempt, as it was written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobman_cli import completion, documents, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from jobman_core.app import App
    from jobman_core.models.view import LogChunk

_EXAMPLES = """
$ jobman logs 000001 -f
$ jobman logs --task baseline --run 2
$ jobman logs 000001 --controller --tail 50
"""
_HOST_COLOURS: Final = ("cyan", "green", "yellow", "magenta", "blue", "red")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("logs", epilog=_EXAMPLES)(logs)


def logs(
    ctx: typer.Context,
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="A job: its present attempt, or its last.",
            show_default=False,
            autocompletion=completion.jobs,
        ),
    ] = None,
    *,
    task: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="A task instead.", autocompletion=completion.tasks),
    ] = None,
    queue: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The tasks file that has the task.")
    ] = None,
    run: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="That attempt instead of the last.")
    ] = None,
    worker: Annotated[int | None, typer.Option(min=0, metavar="N", help="Only that host.")] = None,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Go on as it grows, from attempt to attempt, until the end."
        ),
    ] = False,
    controller: Annotated[
        bool, typer.Option("--controller", help="What the job's controller did, instead.")
    ] = False,
    tail: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only the last lines.")
    ] = None,
) -> None:
    """Show the output of a job or a task.

    With several hosts each line says which one wrote it. Heads between attempts go to standard
    error, so that the output alone can be kept.
    """
    front = front_of(ctx)
    _refuse(front, job, task, queue, controller=controller, follow=follow)
    texts: dict[tuple[str | None, int, int], bytes] = {}

    async def body(app: "App") -> None:
        async def several(chunk: "LogChunk") -> bool:
            return worker is None and await _hosts_of(app, chunk, job, queue) > 1

        chunks = app.logs(
            job=job,
            task=task,
            queue=queue,
            run=run,
            worker=worker,
            follow=follow,
            controller=controller,
            tail=tail,
        )
        if front.json:
            async for chunk in chunks:
                key = (chunk.task, chunk.number, chunk.worker)
                texts[key] = texts.get(key, b"") + chunk.data
        else:
            await _copy(front, chunks, several)

    front.run(body)
    if front.json:
        front.document(documents.log(texts))


def _refuse(
    front: Front,
    job: str | None,
    task: str | None,
    queue: Path | None,
    *,
    controller: bool,
    follow: bool,
) -> None:
    if (job is None) == (task is None):
        msg = (
            "logs of what: give a job's id, or --task"
            if job is None
            else ("a job's id and --task: give one of them")
        )
    elif queue is not None and task is None:
        msg = "--queue says where a task is: give --task as well"
    elif controller and job is None:
        msg = "--controller belongs to a job: give its id instead of --task"
    elif front.json and follow:
        msg = "--json cannot follow, since its document ends with the log: leave out -f"
    else:
        return
    from jobman_core.errors import InvalidInputError

    raise InvalidInputError(msg)


class _Copier:
    """Writes chunks as they come; where several hosts of one attempt speak, line by line."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._attempt: tuple[str | None, int] | None = None
        self._named = False
        #: The line that each host of this attempt has begun.
        self._open: dict[int, bytes] = {}
        self._at_start = True

    def is_new(self, chunk: "LogChunk") -> bool:
        """Tell whether a chunk belongs to another attempt than the last one."""
        return (chunk.task, chunk.number) != self._attempt

    def begin(self, chunk: "LogChunk", *, named: bool) -> None:
        """Begin with the attempt of a chunk, whose lines say which host wrote them or do not."""
        self.close()
        self._attempt, self._named = (chunk.task, chunk.number), named
        if chunk.number:
            self._end_line()
            what = "command" if chunk.task is None else f"task {output.clean(chunk.task)}"
            self._front.note(f"==> {what}, run {chunk.number} <==")

    def write(self, chunk: "LogChunk") -> None:
        """Write a chunk."""
        if not self._named:
            self._put(chunk.data)
            return
        *whole, rest = (self._open.get(chunk.worker, b"") + chunk.data).split(b"\n")
        for line in whole:
            self._put(self._name(chunk.worker) + line + b"\n")
        self._open[chunk.worker] = rest

    def close(self) -> None:
        """Write the lines that no newline ended."""
        for worker, line in self._open.items():
            if line:
                self._put(self._name(worker) + line + b"\n")
        self._open = {}

    def _name(self, worker: int) -> bytes:
        colour = _HOST_COLOURS[worker % len(_HOST_COLOURS)]
        return self._front.paint(f"[{worker}]", colour).encode() + b" "

    def _end_line(self) -> None:
        if not self._at_start:
            self._put(b"\n")

    def _put(self, data: bytes) -> None:
        if data:
            self._front.stdout.buffer.write(data)
            self._front.stdout.buffer.flush()
            self._at_start = data.endswith(b"\n")


async def _copy(
    front: Front,
    chunks: "AsyncIterator[LogChunk]",
    several: "Callable[[LogChunk], Awaitable[bool]]",
) -> None:
    copier = _Copier(front)
    async for chunk in chunks:
        if chunk.notice:
            (front.warn if chunk.urgent else front.note)(chunk.notice)
            continue
        if copier.is_new(chunk):
            copier.begin(chunk, named=await several(chunk))
        copier.write(chunk)
    copier.close()


async def _hosts_of(app: "App", chunk: "LogChunk", job: str | None, queue: Path | None) -> int:
    """Give how many hosts the attempt of a chunk runs on; 0 for a controller's words."""
    if not chunk.number:
        return 0
    if job is not None:
        attempts = (await app.show(job)).attempts
    elif chunk.task is not None:
        attempts = (await app.queue_task(queue, chunk.task)).attempts
    return next(
        (
            len(one.hosts)
            for one in attempts
            if (one.task, one.number) == (chunk.task, chunk.number)
        ),
        0,
    )
