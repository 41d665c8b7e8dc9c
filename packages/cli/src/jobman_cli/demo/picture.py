"""How the demo looks: a frame for a terminal, redrawn in place, or lines for a pipe."""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from jobman_cli import output

if TYPE_CHECKING:
    from jobman_cli.demo.play import Play
    from jobman_cli.front import Front

_EVENTS: Final = 8
_TITLE: Final = "jobman demo: two workers, four tasks, and a slice that vanishes"


def frame(play: "Play", room: int, paint: output.Paint) -> list[str]:
    """Draw the state of the play."""
    clock = f"{play.seconds:.0f} s"
    title = output.cut(_TITLE, room - len(clock) - 2)
    gap = " " * (room - output.width(title) - len(clock))
    lines = [paint(title, "bold") + gap + paint(clock, "dim"), ""]
    for table in (_tasks(play, room), _workers(play, room)):
        lines += [*table.lines(room, paint), ""] if table.rows else []
    lines.append(paint("WHAT HAPPENED", "bold"))
    for said in play.said[-_EVENTS:]:
        text = output.cut(output.clean(said.text), room - 9)
        lines.append(f"{said.at:5.1f} s  {paint(text, said.colour)}")
    return lines


def _tasks(play: "Play", room: int) -> output.Table:
    names = {job.id: job.name for job in play.jobs}
    table = output.Table("TASK", "STATUS", "RUNS", "WORKER", "WHAT")
    for task in play.tasks:
        workers = [names.get(running.job, running.job) for running in task.running]
        what = play.words.get(task.id, "") if task.running else task.reason
        table.add(
            task.id,
            output.status_cell(str(task.status)),
            str(task.counters.run_count),
            ", ".join(workers) or output.NOTHING,
            # A line more or less would make the picture jump.
            output.Cell(output.cut(output.clean(what), room - 40), "dim"),
        )
    return table


def _workers(play: "Play", room: int) -> output.Table:
    table = output.Table("WORKER", "STATUS", "SLICES", "WHAT")
    for job in play.jobs:
        table.add(
            job.name,
            output.status_cell(str(job.status)),
            str(job.recoveries + 1),
            output.Cell(output.cut(output.clean(job.reason), room - 32), "dim"),
        )
    return table


@contextlib.contextmanager
def shown(front: "Front") -> Iterator[Callable[["Play"], None]]:
    """Show a play while it goes on; gives what to call after each change."""
    if not front.terminal:
        yield _Lines(front)
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=front.stdout, no_color=front.paint is output.plain)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:

        def draw(play: "Play") -> None:
            lines = frame(play, min(console.width, 100) - 1, front.paint)
            live.update(Text.from_ansi("\n".join(lines), no_wrap=True), refresh=True)

        yield draw


class _Lines:
    """Prints what happened, a line each, as it becomes known."""

    def __init__(self, front: "Front") -> None:
        self._front = front
        self._printed = 0

    def __call__(self, play: "Play") -> None:
        for said in play.said[self._printed :]:
            line = f"{said.at:5.1f} s  {output.clean(said.text)}"
            if self._front.json:
                self._front.note(line)
            else:
                self._front.say(line)
                self._front.stdout.flush()
        self._printed = len(play.said)
