"""``jobman queue``: see and manage a queue of tasks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from jobman_cli import arguments, completion, documents, output, queues
from jobman_cli.front import Front, front_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.app import App
    from jobman_core.models.view import QueueView, TaskDetail

_EXAMPLES = """
$ jobman queue
$ jobman queue tasks.yaml --task baseline
$ jobman queue --reset-failed
$ jobman queue --reset-pattern 'sweep-*' --yes

A tasks file:
  accelerators:
    v4-8:
      tasks:
        - id: baseline
          run: python train.py
        - id: evaluate
          run: python evaluate.py
          depends_on: baseline
"""


class _Reset(NamedTuple):
    """Which tasks to reset."""

    ids: "Sequence[str]"
    pattern: str | None
    everything: bool
    failed: bool

    @property
    def given(self) -> bool:
        """Whether a reset is asked for at all."""
        return bool(self.ids or self.everything or self.failed or self.pattern is not None)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("queue", epilog=_EXAMPLES)(queue)


def queue(
    ctx: typer.Context,
    file: arguments.TasksFile = None,
    *,
    show_all: Annotated[bool, typer.Option("--show-all", help="Hidden tasks as well.")] = False,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Show one task, its runs and logs.", autocompletion=completion.tasks
        ),
    ] = None,
    reset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Make a task as new; may be given again. Logs and history stay.",
            autocompletion=completion.tasks,
        ),
    ] = None,
    reset_pattern: Annotated[
        str | None, typer.Option(metavar="GLOB", help="Reset the tasks whose ids match.")
    ] = None,
    reset_all: Annotated[bool, typer.Option("--reset-all", help="Reset every task.")] = False,
    reset_failed: Annotated[
        bool, typer.Option("--reset-failed", help="Reset the tasks that failed, to try them again.")
    ] = False,
    prioritize: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Take a task before all others.", autocompletion=completion.tasks
        ),
    ] = None,
    done: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Take a task as done, run or not.", autocompletion=completion.tasks
        ),
    ] = None,
    cleanup: Annotated[
        bool,
        typer.Option("--cleanup", help="Release the tasks of workers that are gone."),
    ] = False,
    yes: arguments.Yes = False,
) -> None:
    """See a queue, and manage its tasks.

    A reset of a task that runs ends it first, and asks before it does.
    """
    front = front_of(ctx)
    chosen = _Reset(reset or (), reset_pattern, reset_all, reset_failed)
    _refuse_two({"--reset-all": reset_all, "--reset-failed": reset_failed})
    _refuse_two(
        {
            "--task": task is not None,
            "a reset": chosen.given,
            "--prioritize": prioritize is not None,
            "--done": done is not None,
            "--cleanup": cleanup,
        }
    )
    if task is not None:
        _show_task(front, front.run(lambda app: app.queue_task(file, task)))
        return
    code = 0

    async def body(app: "App") -> "list[str] | QueueView":
        nonlocal code
        if chosen.given:
            said = await _reset(front, app, file, chosen, yes=yes)
        elif prioritize is not None:
            await app.prioritize(file, prioritize)
            said = [f"{prioritize} is taken before all others"]
        elif done is not None:
            await app.mark_done(file, done)
            said = [f"{done} counts as done"]
        elif cleanup:
            said, code = await _clean_up(front, app, file)
        else:
            return await app.queue(file)
        if not front.json:
            return said
        # What a script gets after an action is the queue as it is then.
        front.note(*map(output.clean, said))
        return await app.queue(file)

    _tell(front, front.run(body, make=True), show_all=show_all)
    if code:
        raise typer.Exit(code)


def _tell(front: Front, result: "list[str] | QueueView", *, show_all: bool) -> None:
    """Tell what was done, or show the queue."""
    if isinstance(result, list):
        for line in result:
            front.say(*output.hanging("", output.clean(line), front.room))
        return
    if result.problem:
        front.warn(f"{result.problem}: what follows is its last good version")
    if front.json:
        front.document(documents.queue(result))
    else:
        front.say(*queues.lines(front, result, show_all=show_all))


def _show_task(front: Front, found: "TaskDetail") -> None:
    if front.json:
        front.document(documents.task_detail(found))
    else:
        front.say(*queues.task_lines(front, found))


def _refuse_two(asked: dict[str, bool]) -> None:
    names = [name for name, given in asked.items() if given]
    if len(names) > 1:
        from jobman_core.errors import InvalidInputError

        msg = f"{' and '.join(names)} at once: give one of them"
        raise InvalidInputError(msg)


async def _reset(
    front: Front, app: "App", file: Path | None, chosen: _Reset, *, yes: bool
) -> list[str]:
    tasks = await app.match_tasks(
        file,
        ids=chosen.ids,
        pattern=chosen.pattern,
        all=chosen.everything,
        failed=chosen.failed,
    )
    if not tasks:
        return ["no task has failed" if chosen.failed else "the queue has no tasks"]
    running = await app.queue_running(file, tasks)
    verb = "runs" if len(running) == 1 else "run"
    question = f"{output.joined(running)} {verb} now: end and reset?"
    if running and not yes and not front.ask(question):
        raise typer.Exit(1)
    done = [task for task in (await app.queue(file)).tasks if task.status == "DONE"]
    again = sum(task.id in tasks for task in done)
    await app.reset(file, tasks)
    said = f"reset {output.count(len(tasks), 'task')}: {output.joined(tasks)}"
    return [said + (f"; {again} of them had been done" if again else "")]


async def _clean_up(front: Front, app: "App", file: Path | None) -> tuple[list[str], int]:
    """Tell of each failure; give what was done, and the code to end with."""
    found = await app.cleanup(file)
    codes = [front.fail(done.error, about=f"job {done.id}") for done in found if done.error]
    said = [f"job {done.id}: {done.note}" for done in found if not done.error]
    if not found:
        said = ["nothing was left by workers that are gone"]
    return said, next(iter(codes), 0)
