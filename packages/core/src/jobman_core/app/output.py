"""What a facade reads out."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jobman_core.app.opening import Opening
from jobman_core.errors import InvalidInputError
from jobman_core.hub import Hub
from jobman_core.models.attempt import Attempt
from jobman_core.models.event import Event
from jobman_core.models.status import JobStatus
from jobman_core.models.task import TaskStatus

# Start-up is paid by everybody: what only some commands need is imported when they run.
if TYPE_CHECKING:
    from jobman_core.logs import Selection
    from jobman_core.models.view import LogChunk


class OutputPart(Opening):
    """Logs, and events as they come."""

    async def logs(
        self,
        *,
        job: str | None = None,
        task: str | None = None,
        queue: Path | None = None,
        run: int | None = None,
        worker: int | None = None,
        follow: bool = False,
        controller: bool = False,
        step: str | None = None,
        tail: int | None = None,
        most: int | None = None,
    ) -> "AsyncGenerator[LogChunk, None]":
        """Read logs of a job's attempts, its controllers or its steps, or of a task's attempts.

        With ``tail`` their last lines, and of those at most about ``most`` bytes of each host.
        """
        from jobman_core.log_files import Tail
        from jobman_core.logs import Logs, Selection

        end = None if tail is None else Tail(tail, most)
        hub = await self._ready()
        logs = Logs(hub)
        if task is not None:
            queues = await self._queues(queue)
            found = await queues.find(queue)
            await queues.named(found, task)
            chosen = self._of_task(hub, found.path, task)
            chunks = logs.read(chosen, run=run, worker=worker, follow=follow, tail=end)
        elif job is None:
            msg = "whose logs? name a job, or --task"
            raise InvalidInputError(msg)
        elif controller:
            chunks = logs.controller(job, follow=follow, tail=end)
        elif step is not None:
            chunks = logs.step(job, step, worker=worker, follow=follow, tail=end)
        else:
            full = await hub.resolve(job)

            async def attempts() -> Sequence[Attempt]:
                return await hub.store.attempts(job=full)

            async def over() -> bool:
                return await logs.job_is_over(full)

            async def state() -> tuple[str, str]:
                view = await self._view(full)
                why = f": {view.reason}" if view.reason else ""
                if view.status is JobStatus.PREPARING:
                    why += f" (`jobman logs {full} --step NAME` shows what a step says)"
                return view.status, f"job {full} is {view.status}{why}"

            chosen = Selection(attempts, over, state)
            chunks = logs.read(chosen, run=run, worker=worker, follow=follow, tail=end)
        async for chunk in chunks:
            yield chunk

    def _of_task(self, hub: Hub, queue: str, task: str) -> "Selection":
        from jobman_core.logs import Selection

        async def attempts() -> Sequence[Attempt]:
            return await hub.store.attempts(queue=queue, task=task)

        async def over() -> bool:
            found = await hub.store.task(queue, task)
            return not found.running and found.status in (TaskStatus.DONE, TaskStatus.FAILED)

        async def state() -> tuple[str, str]:
            found = await hub.store.task(queue, task)
            why = f": {found.reason}" if found.reason else ""
            return found.status, f"task {task} is {found.status}{why}"

        return Selection(attempts, over, state)

    async def watch(self, after: int) -> AsyncGenerator[Event, None]:
        """Yield events with higher ids as they come, without end."""
        from jobman_core.logs import LOOK_EVERY

        hub = await self._ready()
        while True:
            events = await hub.store.events(after=after)
            for event in events:
                after = event.id
                yield event
            if not events:
                await hub.clock.sleep(LOOK_EVERY)
