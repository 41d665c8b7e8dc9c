"""What a person sees of a queue, and of one task: how far it is, what runs, why the rest waits."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

from jobman_cli import attempts, durations, output
from jobman_cli.front import Front

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobman_core.models.task import Repo, Task
    from jobman_core.models.view import QueueView, QueueWorkers, TaskDetail

#: Statuses in the order in which they are counted.
_ORDER: Final = ("DONE", "RUNNING", "FAILED", "BLOCKED", "WAITING", "RETRY", "PENDING")
#: Columns of the terminal that a bar takes.
_BAR: Final = 40


def lines(front: Front, view: "QueueView", *, show_all: bool) -> list[str]:
    """Give a queue: how far it is, then its tasks and workers by accelerator."""
    now = front.now()
    shown = [task for task in view.tasks if show_all or not task.spec.hide]
    said = [output.clean(str(view.path)), *_progress(front, view.tasks)]
    accelerators = dict.fromkeys([*(task.spec.accelerator for task in shown), *view.workers])
    for accelerator in accelerators:
        said += ["", front.paint(output.clean(accelerator), "bold")]
        tasks = [task for task in shown if task.spec.accelerator == accelerator]
        said += _tasks(front, tasks, now)
        said += output.facts([("workers:", _workers(view.workers.get(accelerator)))], front.room)
    if len(shown) < len(view.tasks):
        said += ["", f"{len(view.tasks) - len(shown)} hidden: --show-all shows them"]
    return said


def _progress(front: Front, tasks: "Sequence[Task]") -> list[str]:
    """Give how many tasks are done, and what the others are; on a terminal with a bar."""
    counts = dict.fromkeys(_ORDER, 0)
    for task in tasks:
        counts[str(task.status)] += 1
    done, running = counts.pop("DONE"), counts["RUNNING"]
    words = [f"{done} of {output.count(len(tasks), 'task')} done"]
    words += [f"{number} {status.lower()}" for status, number in counts.items() if number]
    text = output.hanging("", ", ".join(words), front.room)
    if not front.terminal or not tasks:
        return text
    # What is done, what runs and what has failed for good shows, however little it is of the whole.
    parts = [("█", "blue", done), ("▒", "green", running), ("x", "red", counts["FAILED"])]
    drawn = [(char, colour, _share(number, len(tasks))) for char, colour, number in parts]
    rest = max(0, _BAR - sum(size for *_, size in drawn))
    bar = "".join(front.paint(char * size, colour) for char, colour, size in drawn)
    return [bar + front.paint("░" * rest, "dim"), *text]


def _share(number: int, whole: int) -> int:
    return max(1, number * _BAR // whole) if number else 0


def _tasks(front: Front, tasks: "Sequence[Task]", now: datetime) -> list[str]:
    if not tasks:
        return []
    table = output.Table(
        *("TASK", "STATUS", "FOR", "RUNS", "FAILS", "ZONE", "WHAT"),
        shrink=("TASK", "ZONE"),
        drop=("FOR", "ZONE"),
        right=("FOR", "RUNS", "FAILS"),
    )
    for task in tasks:
        counters = task.counters
        table.add(
            task.id,
            output.status_cell(str(task.status)),
            durations.since(min((run.started for run in task.running), default=None), now),
            str(counters.run_count),
            f"{counters.fail_count}/{max(1, task.spec.max_retries)}",
            task.spec.zone or output.NOTHING,
            _what(task, now),
        )
    return table.lines(front.room, front.paint, "  ")


def _what(task: "Task", now: datetime) -> str:
    """Say where a task runs, or why it waits and when that is tried again."""
    marks = ["next" if task.counters.priority else "", "hidden" if task.spec.hide else ""]
    jobs = ", ".join(running.job for running in task.running)
    reason = durations.waiting(task.reason or jobs, task.next_try, now)
    return "; ".join(word for word in [*marks, reason] if word)


def _workers(workers: "QueueWorkers | None") -> str:
    groups = {
        "working": workers.working if workers else (),
        "idle": workers.idle if workers else (),
        "waiting for a slice": workers.waiting if workers else (),
        "stopped": workers.stopped if workers else (),
    }
    words = [f"{len(ids)} {name} ({output.joined(ids)})" for name, ids in groups.items() if ids]
    return ", ".join(words) or "none"


def task_lines(front: Front, found: "TaskDetail") -> list[str]:
    """Give one task: what it is, its runs, and where its logs are."""
    task, spec, now = found.task, found.task.spec, front.now()
    status = output.status_cell(str(task.status))
    name = front.paint(output.clean(task.id), "bold")
    said = [f"{name}  {front.paint(status.text, status.colour)}"]
    if reason := durations.waiting(task.reason, task.next_try, now):
        said += output.hanging("  ", output.clean(reason), front.room)
    pairs = [
        ("accelerator", spec.accelerator),
        ("zone", spec.zone or "any"),
        ("code", _code(spec.repo) if spec.repo else ""),
        ("depends on", ", ".join(spec.depends_on)),
        ("jobs at once", str(spec.max_jobs)),
        ("failures", f"{task.counters.fail_count} of {max(1, spec.max_retries)} allowed attempts"),
        ("runs", str(task.counters.run_count)),
    ]
    said += output.facts([pair for pair in pairs if pair[1]], front.room)
    if found.attempts:
        said += ["", front.paint("Runs", "bold"), *attempts.by_job(front, found.attempts, now)]
    if found.logs:
        said += ["", front.paint("Logs", "bold")]
        said += [f"  {output.clean(str(path))}" for path in found.logs]
    return said


def _code(repo: "Repo") -> str:
    from jobman_core.models.address import mask

    return f"{mask(repo.url, repo.url)} at {repo.branch}"
