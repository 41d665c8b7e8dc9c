"""``jobman logs``: the output of any attempt, as it was written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from jobman_cli import completion, documents, output
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from jobman_core.app import App
    from jobman_core.models.view import LogChunk

_EXAMPLES = """
$ jobman logs 000001 -f
$ jobman logs --task baseline --run 2
$ jobman logs 000001 --controller --tail 50
$ jobman logs 000001 --step venv --worker 0
"""
#: Bytes that a document may be made of.
_MOST: Final = 64 << 20
#: Bytes of a line of one of several hosts that are kept until it ends.
_LONGEST_LINE: Final = 1 << 16
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
    step: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What a step of preparing its hosts said, instead."),
    ] = None,
    tail: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only the last lines.")
    ] = None,
) -> None:
    """Show the output of a job or a task.

    With several hosts each line says which one wrote it. Heads between attempts go to standard
    error, so that the output alone can be kept.
    """
    front = front_of(ctx)
    whose = {"--run": run is not None, "--controller": controller, "--step": step is not None}
    _refuse(front, job, task, queue, whose, follow=follow)

    async def body(app: "App") -> "list[documents.Document]":
        chunks = app.logs(
            job=job,
            task=task,
            queue=queue,
            run=run,
            worker=worker,
            follow=follow,
            controller=controller,
            step=step,
            tail=tail,
            most=_MOST if front.json else None,
        )
        if front.json:
            return documents.log(await _gather(front, chunks))
        await _copy(front, chunks)
        return []

    found = front.run(body)
    if front.json:
        front.document(found)


def _refuse(
    front: Front,
    job: str | None,
    task: str | None,
    queue: Path | None,
    whose: "Mapping[str, bool]",
    *,
    follow: bool,
) -> None:
    """Refuse what does not go together; ``whose`` are options that say which of a job's logs."""
    chosen = [name for name, given in whose.items() if given]
    of_job = [name for name in chosen if name != "--run"]
    if (job is None) == (task is None):
        msg = (
            "logs of what: give a job's id, or --task"
            if job is None
            else ("a job's id and --task: give one of them")
        )
    elif queue is not None and task is None:
        msg = "--queue says where a task is: give --task as well"
    elif of_job and job is None:
        msg = f"{of_job[0]} belongs to a job: give its id instead of --task"
    elif len(chosen) > 1:
        msg = f"{' and '.join(chosen)} at once: give one of them"
    elif front.json and follow:
        msg = "--json cannot follow, since its document ends with the log: leave out -f"
    else:
        return
    from jobman_core.errors import InvalidInputError

    raise InvalidInputError(msg)


async def _gather(
    front: Front, chunks: "AsyncIterator[LogChunk]"
) -> dict[tuple[str | None, int, int], bytes]:
    """Read logs whole, for a document.

    Raises:
        InvalidInputError: they are too long for one.
    """
    parts: dict[tuple[str | None, int, int], list[bytes]] = {}
    size = 0
    async for chunk in chunks:
        if chunk.notice:
            (front.warn if chunk.urgent else front.note)(chunk.notice)
            continue
        size += len(chunk.data)
        if size > _MOST:
            from jobman_core.errors import InvalidInputError

            msg = f"more than {_MOST >> 20} MB of logs do not fit into one document: give --tail"
            raise InvalidInputError(msg)
        parts.setdefault((chunk.task, chunk.number, chunk.worker), []).append(chunk.data)
    return {key: b"".join(data) for key, data in parts.items()}


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

    def begin(self, chunk: "LogChunk") -> None:
        """Begin with the attempt of a chunk; of several hosts each line says which one wrote it."""
        self.close()
        self._attempt, self._named = (chunk.task, chunk.number), chunk.hosts > 1
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
        if len(rest) > _LONGEST_LINE:
            # Progress that no newline ever ends would fill the memory.
            whole, rest = [*whole, rest], b""
        name = self._name(chunk.worker)
        self._put(b"".join(name + line + b"\n" for line in whole))
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


async def _copy(front: Front, chunks: "AsyncIterator[LogChunk]") -> None:
    copier = _Copier(front)
    async for chunk in chunks:
        if chunk.notice:
            (front.warn if chunk.urgent else front.note)(chunk.notice)
            continue
        if copier.is_new(chunk):
            copier.begin(chunk)
        copier.write(chunk)
    copier.close()
