"""What one attempt runs, wherever it came from: a task, or the job's command."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from jobman_core.command import Command
from jobman_core.interfaces.environment import Environment
from jobman_core.models.attempt import SCRIPT, Attempt, LaunchPlan
from jobman_core.models.job import CommandMode, JobSpec
from jobman_core.models.slice import Slice
from jobman_core.models.task import Code, Repo, Task, Workers
from jobman_core.run.context import JobContext


@attrs.frozen
class Work:
    """A script, where it runs, with what code, and where its output goes."""

    #: ``JOBMAN_TASK_ID``: the same over all attempts.
    label: str
    script: str
    workers: Workers
    repo: Repo | None
    #: A folder that is shipped; never beside a ``repo``.
    code: Code | None
    #: Below the home folder of the host.
    workdir: str | None
    #: The name of an environment; None is the job's own.
    env: str | None
    #: Where the files of this attempt lie, and how they begin.
    folder: Path
    prefix: str
    #: None where no such file is kept.
    meta: Path | None

    def log(self, worker: int) -> Path:
        """Give the file for one host's output."""
        return self.folder / f"{self.prefix}_worker_{worker}.log"


async def work_of(ctx: JobContext, attempt: Attempt) -> Work:
    """Say what an attempt runs, by what the store and the job's file say now."""
    if attempt.queue is None or attempt.task is None:
        return _command_work(ctx, attempt)
    queue = await ctx.store.queue(attempt.queue)
    task = await ctx.store.task(attempt.queue, attempt.task)
    return _task_work(task, attempt, queue.folder, ctx)


def _command_work(ctx: JobContext, attempt: Attempt) -> Work:
    log = ctx.home.command_log(ctx.job.user, ctx.job.id, attempt.number, 0)
    prefix = log.name.removesuffix("_worker_0.log")
    # A file that was edited since may have no command any more: what runs can still be ended.
    mode = ctx.spec.work if isinstance(ctx.spec.work, CommandMode) else CommandMode("")
    code = ctx.spec.code
    return Work(
        label=ctx.job.name,
        script=mode.script,
        workers=mode.workers,
        repo=None,
        code=code,
        workdir=code.workdir if code else None,
        env=None,
        folder=log.parent,
        prefix=prefix,
        meta=None,
    )


def _task_work(task: Task, attempt: Attempt, folder: str, ctx: JobContext) -> Work:
    spec, home, code = task.spec, ctx.home, task.spec.code
    if code is None and spec.repo is None and spec.workdir is None:
        code = ctx.spec.code
    place = home.task(folder, spec.id, hidden=spec.hide)
    log = home.task_log(place, attempt.number, attempt.job, 0)
    prefix = log.name.removesuffix("_worker_0.log")
    meta = home.task_meta(place, attempt.number, attempt.job)
    return Work(
        label=spec.id,
        script=spec.run,
        workers=spec.workers,
        repo=spec.repo,
        code=code,
        workdir=code.workdir if code else spec.workdir,
        env=spec.env,
        folder=place,
        prefix=prefix,
        meta=meta,
    )


def plan_of(
    work: Work,
    attempt: Attempt,
    spec: JobSpec,
    slice_: Slice,
    environment: Environment | None,
) -> LaunchPlan:
    """Say what is started on each host."""
    shared = {
        **spec.environment,
        "JOBMAN_TASK_ID": work.label,
        "JOBMAN_RUN_ID": attempt.run_id,
        "JOBMAN_ATTEMPT": str(attempt.number),
        **surroundings(attempt.job, slice_, attempt.hosts),
    }
    options = ("-o", "pipefail") if spec.pipefail else ()
    command = Command(("bash", *options, SCRIPT), env=shared, cwd=work.workdir)
    if environment is not None:
        command = environment.wrap(spec, work.env, command)
    of_host = {i: {"JOBMAN_WORKER_ID": str(i)} for i in attempt.hosts}
    return LaunchPlan(work.script, command, of_host)


def surroundings(job: str, slice_: Slice, hosts: Sequence[int]) -> Mapping[str, str]:
    """Give the variables by which a program on some of a slice's hosts knows where it is."""
    infos = [slice_.hosts[i] for i in hosts]
    return {
        "JOBMAN_JOB_ID": job,
        "JOBMAN_NUM_WORKERS": str(len(hosts)),
        "JOBMAN_WORKER_IPS": ",".join(info.internal_ip or info.ip or "" for info in infos),
        "JOBMAN_ACCELERATOR": slice_.request.accelerator,
        "JOBMAN_ZONE": slice_.request.zone,
    }
