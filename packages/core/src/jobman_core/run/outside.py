"""What an attempt has on its hosts outside its own processes: the environment ends that."""

from collections.abc import Mapping, Sequence

import attrs

from jobman_core.errors import JobmanError
from jobman_core.interfaces.host import EndReport, Host
from jobman_core.models.attempt import Attempt
from jobman_core.run.context import ACTION_LIMIT, JobContext
from jobman_core.run.hosts import on_each, run_checked


async def end_outside(
    ctx: JobContext, hosts: Sequence[Host], attempt: Attempt, ends: Mapping[int, EndReport]
) -> Mapping[int, EndReport]:
    """End what is left of an attempt where its processes have been ended; give what stands then.

    Where the environment cannot say that nothing is left, an end is not confirmed. A host that
    never heard of the attempt started nothing.

    Args:
        ctx: the job's.
        hosts: of the slice, by index.
        attempt: the attempt.
        ends: what became of its processes.

    Raises:
        StaleLeaseError: someone else acts for the job now.
    """
    environment = ctx.environment
    command = environment.end(ctx.spec, attempt.token) if environment is not None else None
    if environment is None or command is None:
        return ends
    await ctx.guard()
    what = f"the end of environment {environment.name}"
    results = await on_each(
        [hosts[end.host] for end in ends.values() if end.confirmed and end.known],
        lambda host: run_checked(host, command, limit=ACTION_LIMIT, what=what),
    )
    open_ = {index: error for index, error in results.items() if isinstance(error, JobmanError)}
    return {
        index: attrs.evolve(end, confirmed=False, detail=str(open_[index]))
        if index in open_
        else end
        for index, end in ends.items()
    }
