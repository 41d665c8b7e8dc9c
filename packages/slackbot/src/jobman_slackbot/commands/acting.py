"""What changes jobs and tasks; all of it is asked first."""

import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol

import attrs

from jobman_core.app import App
from jobman_core.errors import JobmanError
from jobman_core.models.view import Done, JobDetail
from jobman_slackbot import actions
from jobman_slackbot.actions import Change, Thing
from jobman_slackbot.commands.call import Call, queue_key
from jobman_slackbot.errors import OldButtonError
from jobman_slackbot.grammar import Arguments
from jobman_slackbot.people import Deed

Run = Callable[[Call, Arguments], Awaitable[None]]


class _JobAct(Protocol):
    async def __call__(self, app: App, job: str) -> Done: ...


def of_jobs(change: Change) -> Run:
    """Give the command that asks for a change of jobs."""

    async def run(call: Call, given: Arguments) -> None:
        await actions.ask(call, change, given.all("ID"))

    return run


def of_task(change: Change) -> Run:
    """Give the command that asks for a change of a task."""

    async def run(call: Call, given: Arguments) -> None:
        task = given.one("TASK") or ""
        _, path = await call.queue_of_task(task, given.one("queue"))
        await actions.ask(call, change, [task], queue_key(path))

    return run


# -- jobs ----------------------------------------------------------------------------------


def _job_mark(detail: JobDetail) -> str:
    """Give what differs once it has another slice, or somebody has done something with it."""
    generation = detail.slice.generation if detail.slice else 0
    steered = [event.id for event in detail.events if event.kind.startswith("job.")]
    return f"{generation}.{max(steered, default=0)}"


async def _job(call: Call, name: str, _where: str) -> Thing:
    detail = await call.app.show(name)
    view = detail.job
    shown = f"{view.id} {view.name} ({view.accelerator}, {view.user}'s, {view.status})"
    return Thing(view.id, view.name, shown, _job_mark(detail), view.user)


async def _job_to_start(call: Call, name: str, where: str) -> Thing:
    """Look at a job that is to be started, and at what it loses by its edited file."""
    thing = await _job(call, name, where)
    losses = await call.app_for(Deed.STEER).losses(thing.id)
    if not losses:
        return thing
    lost = "; it ".join(losses)
    mark = f"{thing.mark}.{zlib.crc32(lost.encode()):x}"
    return attrs.evolve(thing, shown=f"{thing.shown}: it {lost}", mark=mark)


def _act_on_job(do: _JobAct) -> Callable[[App, Thing, str], Awaitable[str]]:
    async def act(app: App, thing: Thing, _where: str) -> str:
        done = await do(app, thing.id)
        if isinstance(done.error, JobmanError):
            raise done.error
        told = [f"{done.status}", done.note, *done.notes]
        return "; ".join(part for part in told if part)

    return act


async def _stop(app: App, job: str) -> Done:
    return await app.stop(job)


async def _resume(app: App, job: str) -> Done:
    return await app.resume(job, agreed=True)


async def _reboot(app: App, job: str) -> Done:
    return await app.reboot(job, agreed=True)


async def _requeue(app: App, job: str) -> Done:
    return await app.requeue(job)


async def _delete(app: App, job: str) -> Done:
    return await app.delete(job)


STOP: Final = Change(
    word="stop",
    deed=Deed.STEER,
    title="Stop {}",
    doing="stopping {}",
    done="stopped {}",
    means="ends what runs, on every host, and keeps the slice, which costs on",
    noun="job",
    look=_job,
    act=_act_on_job(_stop),
    danger=True,
)
RESUME: Final = Change(
    word="resume",
    deed=Deed.STEER,
    title="Resume {}",
    doing="resuming {}",
    done="resumed {}",
    means="starts again, or is taken up again where it still runs",
    noun="job",
    look=_job_to_start,
    act=_act_on_job(_resume),
)
REBOOT: Final = Change(
    word="reboot",
    deed=Deed.STEER,
    title="Reboot {}",
    doing="rebooting {}",
    done="rebooted {}",
    means="ends what runs, and starts afresh on the slice that it has",
    noun="job",
    look=_job_to_start,
    act=_act_on_job(_reboot),
    danger=True,
)
REQUEUE: Final = Change(
    word="requeue",
    deed=Deed.STEER,
    title="Requeue {}",
    doing="requeueing {}",
    done="requeued {}",
    means="gives its task back, which counts as no failure, and takes another",
    noun="job",
    look=_job,
    act=_act_on_job(_requeue),
)
DELETE: Final = Change(
    word="delete",
    deed=Deed.DELETE,
    title="Delete {}",
    doing="deleting {}",
    done="deleted {}",
    means="ends what runs, gives the slice back, and takes the job off the list",
    noun="job",
    look=_job,
    act=_act_on_job(_delete),
    danger=True,
)


# -- tasks ---------------------------------------------------------------------------------


async def _path(call: Call, where: str) -> Path:
    """Give the queue that a button names, among those that the home knows.

    Raises:
        OldButtonError: it does not know it any more.
    """
    for path in await call.app.queues():
        if queue_key(path) == where:
            return path
    raise OldButtonError


async def _task(call: Call, name: str, where: str) -> Thing:
    path = await _path(call, where)
    task = (await call.app.queue_task(path, name)).task
    counters = task.counters
    runs = f" in job {', '.join(run.job for run in task.running)}" if task.running else ""
    parts = (counters.run_count, counters.fail_count, int(counters.done), task.run_id[:8])
    return Thing(task.id, "", f"{task.id} ({task.status}{runs})", ".".join(map(str, parts)))


def _act_on_task(
    do: Callable[[App, Path, str], Awaitable[None]],
) -> Callable[[App, Thing, str], Awaitable[str]]:
    async def act(app: App, thing: Thing, where: str) -> str:
        path = next((p for p in await app.queues() if queue_key(p) == where), None)
        if path is None:
            raise OldButtonError
        await do(app, path, thing.id)
        return ""

    return act


async def _prioritize(app: App, queue: Path, task: str) -> None:
    await app.prioritize(queue, task)


async def _reset(app: App, queue: Path, task: str) -> None:
    await app.reset(queue, [task])


async def _mark_done(app: App, queue: Path, task: str) -> None:
    await app.mark_done(queue, task)


PRIORITIZE: Final = Change(
    word="prioritize",
    deed=Deed.STEER,
    title="Put {} first",
    doing="putting task {} first",
    done="put task {} first",
    means="is taken before all others, once",
    noun="task",
    look=_task,
    act=_act_on_task(_prioritize),
)
RESET: Final = Change(
    word="reset",
    deed=Deed.STEER,
    title="Reset {}",
    doing="resetting task {}",
    done="reset task {}",
    means="runs from the start again; what runs of it is ended first",
    noun="task",
    look=_task,
    act=_act_on_task(_reset),
    danger=True,
)
DONE: Final = Change(
    word="done",
    deed=Deed.STEER,
    title="Call {} done",
    doing="calling task {} done",
    done="called task {} done",
    means="counts as done; what runs of it goes on to its end",
    noun="task",
    look=_task,
    act=_act_on_task(_mark_done),
)
